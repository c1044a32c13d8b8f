-- Questions about the server itself.

-- durability --
select name, setting
from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')

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

-- For the session, not for the transaction.
-- set_session --
select set_config(wanted.name, wanted.setting, false)
from unnest(:names::text [], :settings::text []) as wanted (name, setting)

-- What the session has, and the statement that gives all sessions of the role what is wanted.
-- session_settings --
select
    pg_settings.name,
    pg_settings.setting,
    format(
        'alter role %I in database %I set %s = %L;',
        current_user, current_database(), wanted.name, wanted.setting
    ) as remedy
from unnest(:names::text [], :settings::text []) as wanted (name, setting)
inner join pg_settings on pg_settings.name = wanted.name

-- The tables that the role of this session may not read and write.
-- table_rights --
select
    current_user as role,
    count(*) filter (
        where not (
            has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
            and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')
        )
    ) as missing,
    count(*) as tables
from pg_class as c
inner join pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname = current_schema()

-- database_clock --
select clock_timestamp() as now

-- bus_key --
select key from bus_key

-- new_bus_key --
-- Of two that make one at once, the second waits and makes none.
insert into bus_key default values on conflict do nothing
