-- What PostgreSQL counts of a database.

-- count_statements --
create extension if not exists pg_stat_statements

-- statements --
-- Not by user: workers and replicas use the same one here.
select s.query, s.calls, s.total_exec_time as ms
from pg_stat_statements as s
inner join pg_database as d on d.oid = s.dbid
where d.datname = current_database()

-- transactions --
select xact_commit + xact_rollback as transactions
from pg_stat_database
where datname = current_database()

-- live_parts --
select count(*) from live_parts

-- connections --
select
    count(*) as open,
    count(*) filter (where state <> 'idle') as busy
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
