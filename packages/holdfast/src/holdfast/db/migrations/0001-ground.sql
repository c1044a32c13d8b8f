-- Organisations, users, workers, chats, messages, queue, receipts
-- depends:

-- migrate: apply

create table organisations (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null default clock_timestamp()
);

create table users (
    id uuid primary key,
    org_id uuid not null references organisations (id),
    name text not null,
    created_at timestamptz not null default clock_timestamp(),
    unique (org_id, id)
);

-- One row per worker process, not one per chat: a heartbeat is one small update. Logged, because an
-- unlogged table is empty after a database crash and every chat would look abandoned at once.
create table workers (
    id uuid primary key,
    name text not null,
    lease_until timestamptz not null,
    started_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table chats (
    id uuid primary key,
    org_id uuid not null,
    owner_id uuid not null,
    status text not null,
    archived_at timestamptz,
    version bigint not null,
    history_version bigint not null,
    queue_version bigint not null,
    last_seq integer not null,
    last_queued_id bigint not null,
    queue_length integer not null,
    owes_reply boolean not null,
    compactable boolean not null,
    compaction_requested boolean not null,
    open_calls jsonb not null,
    worker_id uuid references workers (id),
    epoch bigint not null,
    attempt integer not null,
    attempts_forgiven integer not null,
    model text,
    effort text,
    error jsonb,
    backoff jsonb,
    awaiting jsonb,
    awaiting_until timestamptz,
    runnable_since timestamptz,
    client_key text,
    client_digest bytea,
    created_at timestamptz not null default clock_timestamp(),
    foreign key (org_id, owner_id) references users (org_id, id),
    unique (owner_id, client_key),
    constraint status_known
        check (status in ('idle', 'running', 'interrupting', 'awaiting', 'failed')),
    constraint version_counts check (version >= 1),
    constraint versions_lag check (
        history_version between 0 and version and queue_version between 0 and version
    ),
    constraint counters_grow check (
        last_seq >= 0 and last_queued_id >= 0 and epoch >= 0 and queue_length >= 0
    ),
    constraint attempts_add_up check (attempts_forgiven between 0 and attempt),
    constraint open_calls_listed check (jsonb_typeof(open_calls) = 'array'),
    constraint idle_means_idle check (
        status <> 'idle'
        or (worker_id is null and queue_length = 0 and open_calls = '[]' and not owes_reply
            and not compaction_requested)
    ),
    constraint failed_has_error check ((status = 'failed') = (error is not null)),
    constraint awaiting_says_what check (
        (status = 'awaiting') = (awaiting is not null)
        and (awaiting is not null or awaiting_until is null)
    ),
    constraint owner_only_while_driven
        check (worker_id is null or status in ('running', 'interrupting')),
    constraint backoff_only_while_running check (backoff is null or status = 'running'),
    constraint runnable_has_since
        check ((runnable_since is not null) = (status in ('running', 'interrupting'))),
    constraint archived_at_rest check (archived_at is null or status in ('idle', 'failed')),
    constraint key_has_digest check ((client_key is null) = (client_digest is null))
) with (fillfactor = 80);

-- What an acquirer looks for: chats that nobody drives, by owner and age; chats by who drives them;
-- and how many of an owner's chats are driven now. Small: only runnable chats are in them.
create index chats_unowned on chats (owner_id, runnable_since)
where worker_id is null and runnable_since is not null;

create index chats_owned on chats (worker_id) where worker_id is not null;

create index chats_driven on chats (owner_id) where worker_id is not null;

create index chats_interrupting on chats (runnable_since)
where worker_id is null and status = 'interrupting';

create index chats_deadlines on chats (awaiting_until) where awaiting_until is not null;

-- parts is json, not jsonb: a provider's own parts are replayed byte for byte, keys in their order.
create table messages (
    chat_id uuid not null references chats (id) on delete cascade,
    seq integer not null,
    revision bigint not null,
    removed_revision bigint,
    epoch bigint not null,
    role text not null,
    ending text not null,
    visibility text not null,
    format smallint not null,
    parts json not null,
    model text,
    effort text,
    author_id uuid,
    usage json,
    cost_micros bigint,
    copied_from integer,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, seq),
    constraint seq_counts check (seq >= 1),
    constraint removed_after_written check (removed_revision > revision),
    constraint role_known check (role in ('system', 'user', 'assistant', 'tool', 'boundary')),
    constraint ending_known check (ending in ('complete', 'interrupted', 'cut', 'paused')),
    constraint visibility_known check (visibility in ('both', 'user', 'model')),
    constraint format_counts check (format >= 1),
    constraint cost_not_negative check (cost_micros >= 0),
    constraint copied_from_earlier check (copied_from < seq),
    constraint copy_costs_nothing check (copied_from is null or cost_micros is null)
);

create index messages_removed on messages (chat_id, removed_revision)
where removed_revision is not null;

create table queued_messages (
    chat_id uuid not null references chats (id) on delete cascade,
    id bigint not null,
    position integer not null,
    urgent boolean not null,
    revision bigint not null,
    removed_revision bigint,
    fate text,
    promoted_seq integer,
    format smallint not null,
    parts json not null,
    model text,
    effort text,
    author_id uuid,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, id),
    constraint fate_known check (fate in ('promoted', 'taken', 'deleted', 'cleared')),
    constraint left_with_a_fate check ((removed_revision is null) = (fate is null)),
    constraint promoted_to_a_message check ((promoted_seq is not null) = (fate is not distinct from 'promoted')),
    constraint left_after_queued check (removed_revision > revision)
);

create unique index queued_messages_promoted on queued_messages (chat_id, promoted_seq)
where promoted_seq is not null;

create index queued_messages_waiting on queued_messages (chat_id, position)
where removed_revision is null;

-- What the caller of a mutation was told, by the key that the caller chose.
create table receipts (
    chat_id uuid not null references chats (id) on delete cascade,
    client_key text not null,
    digest bytea not null,
    version bigint not null,
    seq integer,
    queued_id bigint,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, client_key)
);

-- migrate: rollback

drop table receipts;

drop table queued_messages;

drop table messages;

drop table chats;

drop table workers;

drop table users;

drop table organisations;
