-- What admins set while the server runs, what tells two writers apart, and receipts of accounts
-- depends: 0004-tools-and-watching

-- migrate: apply

-- No row: everything as the server's own settings say. `said` is JSON text, as parts are.
create table org_settings (
    org_id uuid primary key references organisations (id),
    version bigint not null,
    said json not null,
    changed_at timestamptz not null default clock_timestamp(),
    constraint version_positive check (version > 0)
);

-- How often an admin has changed an account.
alter table users add column version integer not null default 1;

-- How often title, pin or labels of a chat have changed: none of that is in its version.
alter table chats add column listed integer not null default 0;

-- What a keyed request has made, so that its repeat makes nothing.
create table account_receipts (
    actor_id uuid not null references users (id),
    client_key text not null,
    digest bytea not null,
    made_id uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (actor_id, client_key)
);

create index account_receipts_old on account_receipts (created_at);

-- migrate: rollback

drop table account_receipts;

alter table chats drop column listed;

alter table users drop column version;

drop table org_settings;
