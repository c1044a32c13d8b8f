-- How often settings have changed, and since when an organisation's settings forbid something
-- depends: 0003-models

-- migrate: apply

-- One row, or none before the first change. Every change of what processes keep in memory counts it, in its own statement.
create table settings_generation (
    id boolean primary key default true,
    n bigint not null,
    constraint one_row check (id)
) with (fillfactor = 10);

-- A hard stop: no attempt of the organisation begins in a process that knows less than this.
create table settings_fences (
    org_id uuid primary key references organisations (id),
    generation bigint not null
);

-- migrate: rollback

drop table settings_fences;
drop table settings_generation;
