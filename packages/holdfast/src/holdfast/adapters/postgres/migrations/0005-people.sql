-- Links by which a user sets a password, and when a user was last seen
-- depends: 0004-settings-generation

-- migrate: apply

-- For an invitation, and after a password was lost. A user has one at most; using it deletes the row.
create table account_links (
    user_id uuid primary key references users (id),
    token_hash bytea not null unique,
    created_by uuid not null references users (id),
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    constraint token_hashed check (length(token_hash) = 32)
);

-- What is left of sign-ins that were deleted; those that are there know it better.
alter table users add column last_seen_at timestamptz;

-- migrate: rollback

alter table users drop column last_seen_at;
drop table account_links;
