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
