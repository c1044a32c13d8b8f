-- Models that admins add, and how often the providers and models of an organisation have changed
-- depends: 0002-secrets

-- migrate: apply

create table catalogues (
    org_id uuid primary key references organisations (id),
    version bigint not null,
    constraint version_positive check (version > 0)
);

-- A name leads to one model in the whole deployment, as the names of the models file do.
create table models (
    id uuid primary key,
    org_id uuid not null references organisations (id),
    provider_id uuid not null,
    name text not null unique,
    version bigint not null default 1,
    is_enabled boolean not null default true,
    is_default boolean not null default false,
    record json not null,
    created_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    foreign key (org_id, provider_id) references providers (org_id, id),
    constraint version_positive check (version > 0)
);

create unique index models_default on models (org_id) where is_default;

create index models_of_provider on models (org_id, provider_id);

-- migrate: rollback

drop table models;
drop table catalogues;
