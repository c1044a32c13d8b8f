-- Accounts, sign-ins, API keys, OIDC, shares, the audit log, and what lists of chats need
-- depends: 0002-live-parts

-- migrate: apply

alter table users
    add column email text,
    add column role text not null default 'member',
    add column password_hash text,
    add column disabled_at timestamptz,
    add constraint role_known check (role in ('member', 'admin'));

-- E-mail first: whoever signs in need not name an organisation.
create unique index users_email on users (lower(email), org_id);

create index users_by_name on users (org_id, name, id);

create index users_admins on users (org_id, id) where role = 'admin' and disabled_at is null;

-- At most one row, ever: of two that set up an empty server at once, one wins (the primary key).
create table founding (
    only_one boolean primary key default true,
    founded_at timestamptz not null default clock_timestamp(),
    constraint only_one_founding check (only_one)
);

-- A browser's. Secrets are kept as SHA-256 here and below: 256 random bits need no slow hash.
create table sign_ins (
    id uuid primary key,
    user_id uuid not null references users (id),
    token_hash bytea not null unique,
    method text not null,
    address text,
    agent text,
    created_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    constraint method_known check (method in ('password', 'oidc')),
    constraint token_hashed check (length(token_hash) = 32)
) with (fillfactor = 80);

create index sign_ins_of_user on sign_ins (user_id);

create index sign_ins_expiring on sign_ins (expires_at);

create table api_keys (
    id uuid primary key,
    org_id uuid not null,
    user_id uuid not null,
    name text not null,
    prefix text not null,
    secret_hash bytea not null unique,
    scopes text[] not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    foreign key (org_id, user_id) references users (org_id, id),
    constraint secret_hashed check (length(secret_hash) = 32),
    constraint scopes_known check (
        scopes <@ array['read', 'write', 'admin'] and cardinality(scopes) > 0
    )
) with (fillfactor = 80);

create index api_keys_of_user on api_keys (org_id, user_id);

-- Attempts to sign in, by a hash of the account's e-mail or of the address, known or not.
create table login_throttles (
    key bytea primary key,
    attempts integer not null,
    since timestamptz not null
) with (fillfactor = 50);

create index login_throttles_old on login_throttles (since);

create table oidc_identities (
    issuer text not null,
    subject text not null,
    org_id uuid not null,
    user_id uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (issuer, subject),
    foreign key (org_id, user_id) references users (org_id, id)
);

create index oidc_identities_of_user on oidc_identities (user_id);

-- A login that has gone to the provider and not come back. Nonce and PKCE verifier are derived from
-- the browser's cookie, so that nothing in here helps whoever reads it.
create table oidc_states (
    state_hash bytea primary key,
    cookie_hash bytea not null,
    link_user_id uuid references users (id),
    return_to text not null,
    expires_at timestamptz not null
);

create index oidc_states_expiring on oidc_states (expires_at);

-- Who but the owner may read a chat.
create table chat_shares (
    chat_id uuid not null references chats (id) on delete cascade,
    user_id uuid not null,
    org_id uuid not null,
    shared_by uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, user_id),
    foreign key (org_id, user_id) references users (org_id, id)
);

create index chat_shares_with_user on chat_shares (user_id, chat_id);

-- How far each reader has read: one row per reader, so that nobody moves another's (L129).
create table read_cursors (
    chat_id uuid not null references chats (id) on delete cascade,
    user_id uuid not null references users (id),
    seq integer not null,
    primary key (chat_id, user_id),
    constraint seq_not_negative check (seq >= 0)
) with (fillfactor = 80);

-- touched_at: when the last message of a person was accepted. The old rows share one instant (a
-- default that is the same for all needs no rewrite of the table) and lie by their ids, which are
-- by time.
alter table chats
    add column title text,
    add column title_source text,
    add column pinned_at timestamptz,
    add column labels text[] not null default '{}',
    add column touched_at timestamptz not null default now(),
    add constraint title_has_source check ((title is null) = (title_source is null)),
    add constraint title_source_known check (title_source in ('user', 'model'));

alter table chats alter column touched_at set default clock_timestamp();

-- Written once per turn, not once per commit: the other commits stay within their page.
create index chats_of_owner on chats (owner_id, touched_at desc, id desc);

create index chats_pinned on chats (owner_id) where pinned_at is not null;

-- One chain of hashes per organisation, and its end.
create table audit_heads (
    org_id uuid primary key references organisations (id),
    seq bigint not null,
    hash bytea not null
) with (fillfactor = 50);

create table audit_log (
    org_id uuid not null references organisations (id),
    seq bigint not null,
    at timestamptz not null,
    actor_id uuid,
    action text not null,
    entry text not null,
    hash bytea not null,
    primary key (org_id, seq),
    constraint hash_whole check (length(hash) = 32)
);

create function audit_log_only_grows() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log only grows';
end;
$$;

create trigger audit_log_only_grows before update or delete or truncate on audit_log
for each statement execute function audit_log_only_grows();

-- migrate: rollback

drop table audit_log;

drop function audit_log_only_grows();

drop table audit_heads;

drop index chats_pinned;

drop index chats_of_owner;

alter table chats
    drop column title,
    drop column title_source,
    drop column pinned_at,
    drop column labels,
    drop column touched_at;

drop table read_cursors;

drop table chat_shares;

drop table oidc_states;

drop table oidc_identities;

drop table login_throttles;

drop table api_keys;

drop table sign_ins;

drop table founding;

drop index users_admins;

drop index users_by_name;

alter table users
    drop column email,
    drop column role,
    drop column password_hash,
    drop column disabled_at;
