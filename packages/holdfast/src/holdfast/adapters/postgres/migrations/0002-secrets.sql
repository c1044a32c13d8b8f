-- Secrets at rest, and the providers that admins add
-- depends: 0001-base

-- migrate: apply

-- Master keys are outside of the database; here are their ids (a keyed hash of each). The current one
-- wraps new data keys. A server whose master key is another one does not start.
create table master_keys (
    id bytea primary key,
    is_current boolean not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint id_hashed check (length(id) = 16)
);

create unique index master_keys_current on master_keys (is_current) where is_current;

-- A ciphertext: version (1 byte), id of its key (16), nonce (12), AES-256-GCM with its tag (16).
create domain sealed as bytea
constraint sealed_in_form check (length(value) >= 45 and get_byte(value, 0) = 1);

-- Data keys of organisations, wrapped by a master key. sealed: how many ciphertexts were made with it.
create table secret_keys (
    id uuid primary key,
    org_id uuid not null references organisations (id),
    master_id bytea not null references master_keys (id),
    wrapped bytea not null,
    is_current boolean not null default true,
    sealed bigint not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    unique (org_id, id),
    constraint wrapped_by_its_master check (substring(wrapped from 2 for 16) = master_id)
);

create unique index secret_keys_current on secret_keys (org_id) where is_current;

create index secret_keys_of_master on secret_keys (master_id);

-- A column of type `sealed` has a column NAME_key_id beside it, with this foreign key, this check and
-- an index, and a `SecretColumn` in `holdfast.domain.secrets`.
--
-- record: JSON text, without secrets. credential: JSON of all its secrets. credential_about: what may
-- be shown of them.
create table providers (
    id uuid primary key,
    org_id uuid not null references organisations (id),
    name text not null,
    version bigint not null default 1,
    is_enabled boolean not null default true,
    record json not null,
    credential sealed,
    credential_key_id uuid,
    credential_about json,
    created_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    unique (org_id, name),
    unique (org_id, id),
    foreign key (org_id, credential_key_id) references secret_keys (org_id, id),
    constraint version_positive check (version > 0),
    constraint credential_whole check (
        (credential is null) = (credential_key_id is null)
        and (credential is null) = (credential_about is null)
    ),
    constraint credential_sealed_with_its_key check (
        substring(credential::bytea from 2 for 16) = uuid_send(credential_key_id)
    )
);

create index providers_credential_key on providers (org_id, credential_key_id);

-- migrate: rollback

drop table providers;
drop table secret_keys;
drop domain sealed;
drop table master_keys;
