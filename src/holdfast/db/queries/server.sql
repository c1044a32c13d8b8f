-- Questions about the server itself.

-- durability --
select name, setting
from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit')

-- The migrations that this database has seen; the table is the migration tool's own.
-- applied_migrations --
select migration_id
from public._pogo_migration
where schema_name = 'public'

-- is_writable --
select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable

-- The sessions that a session waits for, and how long their transactions have been open.
-- blocking_sessions --
select
    pid,
    application_name,
    query,
    coalesce(extract(epoch from clock_timestamp() - xact_start), 0)::float8 as age_s
from pg_stat_activity
where pid = any(pg_blocking_pids($1::integer))
order by xact_start
