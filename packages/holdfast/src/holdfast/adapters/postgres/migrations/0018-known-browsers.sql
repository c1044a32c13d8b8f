-- Browsers that an account knows, and the key by which replicas know what they tell each other
-- depends: 0015-user-keys

-- migrate: apply

-- Browsers in which a user has signed in: their guesses are counted apart from those of strangers.
create table known_browsers (
    token_hash bytea not null,
    user_id uuid not null references users (id) on delete cascade,
    expires_at timestamptz not null,
    primary key (token_hash, user_id)
);

create index known_browsers_of_user on known_browsers (user_id);

create index known_browsers_old on known_browsers (expires_at);

-- One row: 32 bytes, of which 244 bits are random. All replicas of the deployment read it; an account
-- that can only write to the bus cannot.
create table bus_key (
    only_one boolean primary key default true check (only_one),
    key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);

insert into bus_key default values;

-- migrate: rollback

drop table bus_key;
drop table known_browsers;
