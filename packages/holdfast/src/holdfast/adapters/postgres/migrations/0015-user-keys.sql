-- Keys of users for the providers that admins added, where an admin allows them
-- depends: 0014-disabled-users

-- migrate: apply

alter table providers add column user_keys boolean not null default false;

-- id: follows from the provider and the user, so that a ciphertext cannot be opened for another user.
create table user_keys (
    id uuid primary key,
    org_id uuid not null,
    user_id uuid not null,
    provider_id uuid not null,
    credential sealed not null,
    credential_key_id uuid not null,
    set_at timestamptz not null default clock_timestamp(),
    unique (provider_id, user_id),
    foreign key (org_id, user_id) references users (org_id, id) on delete cascade,
    foreign key (org_id, provider_id) references providers (org_id, id) on delete cascade,
    foreign key (org_id, credential_key_id) references secret_keys (org_id, id),
    constraint credential_sealed_with_its_key check (
        substring(credential::bytea from 2 for 16) = uuid_send(credential_key_id)
    )
);

create index user_keys_credential_key on user_keys (org_id, credential_key_id);

create index user_keys_of_provider on user_keys (org_id, provider_id);

create index user_keys_of_user on user_keys (org_id, user_id);

-- migrate: rollback

drop table user_keys;
alter table providers drop column user_keys;
