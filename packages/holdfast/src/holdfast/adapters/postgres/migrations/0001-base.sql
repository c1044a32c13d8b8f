-- The tables of Holdfast
-- depends:

-- migrate: apply

-- Organisations and people ------------------------------------------------------------------------

create table organisations (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null default clock_timestamp()
);

-- version: how often an admin has changed the account.
create table users (
    id uuid primary key,
    org_id uuid not null references organisations (id),
    name text not null,
    created_at timestamptz not null default clock_timestamp(),
    email text,
    role text not null default 'member',
    password_hash text,
    disabled_at timestamptz,
    version integer not null default 1,
    unique (org_id, id),
    constraint role_known check (role in ('member', 'admin'))
);

-- E-mail first: a sign-in names no organisation.
create unique index users_email on users (lower(email), org_id);

create index users_by_name on users (org_id, name, id);

create index users_admins on users (org_id, id) where role = 'admin' and disabled_at is null;

-- At most one row, ever: of two setups of an empty server at once, one wins (the primary key).
create table founding (
    only_one boolean primary key default true,
    founded_at timestamptz not null default clock_timestamp(),
    constraint only_one_founding check (only_one)
);

-- What admins set while the server runs. No row: everything as the server's own settings say. `said`
-- is JSON text, as parts are.
create table org_settings (
    org_id uuid primary key references organisations (id),
    version bigint not null,
    said json not null,
    changed_at timestamptz not null default clock_timestamp(),
    constraint version_positive check (version > 0)
);

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
    constraint method_known check (method in ('password', 'oidc', 'link')),
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
        scopes <@ array['read', 'write', 'approve', 'admin'] and cardinality(scopes) > 0
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
-- the browser's cookie: the row alone is of no use to a thief.
create table oidc_states (
    state_hash bytea primary key,
    cookie_hash bytea not null,
    link_user_id uuid references users (id),
    return_to text not null,
    expires_at timestamptz not null
);

create index oidc_states_expiring on oidc_states (expires_at);

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

-- Chats -------------------------------------------------------------------------------------------

-- One row per worker process, not one per chat: a heartbeat is one small update. Logged, because an
-- unlogged table is empty after a database crash and every chat would look abandoned at once.
create table workers (
    id uuid primary key,
    name text not null,
    lease_until timestamptz not null,
    started_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- stamp: a random number of the commit that made `version`: versions that come again after lost
-- commits are not the same history. history_stamp: of the commit that made `history_version`.
-- takeovers: in a row, from workers whose lease had lapsed; 0 if no worker had the chat. From the third
-- on the chat is driven by a process of its own.
-- lost: workers that were lost since the last message; null for nearly all.
-- reads: the lowest reader level that knows every word of the chat (domain/format.py, READS).
-- set_aside_by: the reader level of the version that could not read the chat, and when and why.
-- tools is json, like parts: a schema goes to the model as its author wrote it.
-- bytes: of the parts of all messages. The sum over an owner's chats is what the quota compares
-- (docs/architecture/limits.md).
-- touched_at: when the last message of a person was accepted.
-- listed: how often title, pin, labels or metadata have changed: none of that is in `version`.
-- metadata: what programs note about the chat, text by text. No index: a filter looks only at the chats
-- of one owner, by chats_of_owner.
-- changed_in: the transaction in which what a list shows of the chat last changed. Written with a
-- status, which is indexed already, so that it makes no further commit leave its page.
create table chats (
    id uuid primary key,
    org_id uuid not null,
    owner_id uuid not null,
    status text not null,
    archived_at timestamptz,
    version bigint not null,
    history_version bigint not null,
    queue_version bigint not null,
    stamp bigint not null default 0,
    history_stamp bigint not null default 0,
    last_seq integer not null,
    turn_seq integer,
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
    takeovers smallint not null default 0,
    lost jsonb,
    model text,
    effort text,
    web boolean,
    error jsonb,
    backoff jsonb,
    awaiting jsonb,
    awaiting_until timestamptz,
    runnable_since timestamptz,
    reads smallint not null default 1,
    set_aside_by smallint,
    set_aside_at timestamptz,
    set_aside_why text,
    tools json not null default '[]',
    bytes bigint not null default 0,
    client_key text,
    client_digest bytea,
    title text,
    title_source text,
    pinned_at timestamptz,
    labels text[] not null default '{}',
    metadata jsonb not null default '{}',
    listed integer not null default 0,
    touched_at timestamptz not null default clock_timestamp(),
    changed_in bigint not null default (pg_current_xact_id()::text::bigint),
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
    constraint key_has_digest check ((client_key is null) = (client_digest is null)),
    constraint title_has_source check ((title is null) = (title_source is null)),
    constraint title_source_known check (title_source in ('user', 'model'))
) with (
    fillfactor = 80,
    -- Every commit updates one row here. The default lets a fifth of the table die: 4 million rows of
    -- 20 million chats, while the small partial indexes below collect dead entries of every turn.
    autovacuum_vacuum_scale_factor = 0.05
);

-- What an acquirer looks for: chats without a worker, by owner and age; chats of a worker; and how
-- many of an owner's chats are driven now. Small: only runnable chats are in them.
create index chats_unowned on chats (owner_id, runnable_since)
where worker_id is null and runnable_since is not null;

create index chats_owned on chats (worker_id) where worker_id is not null;

create index chats_driven on chats (owner_id) where worker_id is not null;

create index chats_interrupting on chats (runnable_since)
where worker_id is null and status = 'interrupting';

create index chats_deadlines on chats (awaiting_until) where awaiting_until is not null;

-- Written once per turn, not once per commit: the other commits stay within their page.
create index chats_of_owner on chats (owner_id, touched_at desc, id desc);

create index chats_pinned on chats (owner_id) where pinned_at is not null;

create index chats_changed on chats (owner_id, changed_in);

-- Readers of a chat besides its owner.
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

-- How far each reader has read: one row per reader, so that no reader moves another's (L129).
create table read_cursors (
    chat_id uuid not null references chats (id) on delete cascade,
    user_id uuid not null references users (id),
    seq integer not null,
    primary key (chat_id, user_id),
    constraint seq_not_negative check (seq >= 0)
) with (fillfactor = 80);

-- What changed in one user's list and is no fact of the chat: a share given or taken back, a read
-- mark moved. The row stays when the share goes: a user who was away hears of it from this row.
create table list_changes (
    user_id uuid not null references users (id),
    chat_id uuid not null references chats (id) on delete cascade,
    changed_in bigint not null default (pg_current_xact_id()::text::bigint),
    primary key (user_id, chat_id)
) with (fillfactor = 80);

create index list_changes_since on list_changes (user_id, changed_in);

create index list_changes_of_chat on list_changes (chat_id);

-- What grows with every turn ----------------------------------------------------------------------

-- Hash-partitioned by chat, since every statement names the chat (ADR 0049).
-- parts is json, not jsonb: a provider's own parts are replayed byte for byte, keys in their order.
-- bytes: the size of `parts`, so that a page can be bounded without reading what it leaves out.
-- stamp: of the commit that wrote the message. removed_stamp: of the commit that hid it. Together
-- they tell which history a version had. 0 or null: not known.
-- takeover: what the successor of a lost worker found out; null for nearly all.
-- prefix: names the system prompt and tools that a reply was made with (prompt_prefixes). Null: those of
-- the replies before it, or not known.
-- turn_seq: the user message that began the turn. attempt: which attempt at its step made the message.
-- queued_id: where it waited. client_key: the idempotency key of the request that sent it.
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
    bytes integer,
    model text,
    effort text,
    web boolean,
    author_id uuid,
    usage json,
    cost_micros bigint,
    copied_from integer,
    takeover json,
    stamp bigint not null default 0,
    removed_stamp bigint,
    turn_seq integer,
    attempt integer,
    queued_id bigint,
    client_key text,
    prefix text,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, seq),
    constraint seq_counts check (seq >= 1),
    constraint removed_after_written check (removed_revision > revision),
    constraint role_known check (role in ('system', 'user', 'assistant', 'tool', 'boundary')),
    constraint ending_known check (ending in ('complete', 'interrupted', 'cut', 'length', 'paused')),
    constraint visibility_known check (visibility in ('both', 'user', 'model')),
    constraint format_counts check (format >= 1),
    constraint cost_not_negative check (cost_micros >= 0),
    constraint copied_from_earlier check (copied_from < seq),
    constraint copy_costs_nothing check (copied_from is null or cost_micros is null)
) partition by hash (chat_id);

create index messages_removed on messages (chat_id, removed_revision)
where removed_revision is not null;

-- Which chats name a prefix: only for the deletion of prefixes that no message names.
create index messages_prefix on messages (prefix) where prefix is not null;

-- What stands before the messages of prompts: system prompt and tools, under their digest (ADR 0051).
-- Chats that were told the same share a row. unnamed_since: when it was first seen that no message names
-- the row; null for nearly all.
create table prompt_prefixes (
    digest text primary key,
    content text not null,
    unnamed_since timestamptz,
    created_at timestamptz not null default clock_timestamp()
);

-- head: the beginning of `parts`, null if they are short (domain/heads.py). The facts of a chat hold
-- this, not the whole.
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
    bytes integer,
    head json,
    model text,
    effort text,
    web boolean,
    author_id uuid,
    client_key text,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, id),
    constraint fate_known check (fate in ('promoted', 'taken', 'deleted', 'cleared')),
    constraint left_with_a_fate check ((removed_revision is null) = (fate is null)),
    constraint promoted_to_a_message check (
        (promoted_seq is not null) = (fate is not distinct from 'promoted')
    ),
    constraint left_after_queued check (removed_revision > revision)
) partition by hash (chat_id);

create unique index queued_messages_promoted on queued_messages (chat_id, promoted_seq)
where promoted_seq is not null;

create index queued_messages_waiting on queued_messages (chat_id, position)
where removed_revision is null;

-- The queue of a chat. A function, so that a statement which reads the facts of chats opens the partitions
-- of queued_messages only if one of them has a queue. In plpgsql, which keeps the plan; an SQL function
-- would become a part of the statement. Stable: it sees what the statement sees.
create function waiting_messages(of_chat uuid) returns setof queued_messages
language plpgsql stable as $$
begin
    return query
    select * from queued_messages where chat_id = of_chat and removed_revision is null;
end;
$$;

-- What the caller of a mutation was told, by the key that the caller chose.
create table receipts (
    chat_id uuid not null references chats (id) on delete cascade,
    client_key text not null,
    digest bytea not null,
    version bigint not null,
    turn_seq integer,
    seq integer,
    queued_id bigint,
    created_at timestamptz not null default clock_timestamp(),
    primary key (chat_id, client_key)
) partition by hash (chat_id);

-- The partitions: messages_00 to messages_07, and so on. The number is for ever: another one means to
-- copy all rows. Rows of messages and receipts are inserted and hardly ever change. A vacuum of the
-- newest fiftieth (the default is a fifth) freezes them at once (the default waits for 50 million
-- transactions), so that each page is written once for it and skipped by every later vacuum, also by
-- the one against wraparound. TOAST tables follow. queued_messages is small and keeps the defaults.
do $$
declare
    grows constant text :=
        'with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 0)';
    partitions constant integer := 8;
begin
    for n in 0 .. partitions - 1 loop
        execute format(
            'create table messages_%1$s partition of messages'
            ' for values with (modulus %2$s, remainder %3$s) %4$s',
            to_char(n, 'FM00'), partitions, n, grows
        );
        execute format(
            'create table receipts_%1$s partition of receipts'
            ' for values with (modulus %2$s, remainder %3$s) %4$s',
            to_char(n, 'FM00'), partitions, n, grows
        );
        execute format(
            'create table queued_messages_%1$s partition of queued_messages'
            ' for values with (modulus %2$s, remainder %3$s)',
            to_char(n, 'FM00'), partitions, n
        );
    end loop;
end;
$$;

-- What models are saying right now, on the bus ----------------------------------------------------

-- Three slots of time, written in turn: the slot after the current one is emptied whole, so that
-- expiry costs no delete, no dead row and no vacuum. See ADR 0012.
-- history_stamp: of the history that the parts go on from (chats.history_stamp). Numbers come again
-- after lost commits; with the stamp in the key the parts of a lost history are never read for the
-- one in its place.
create table live_parts (
    slot smallint not null,
    chat_id uuid not null,
    history_version bigint not null,
    attempt integer not null,
    seq integer not null,
    payload bytea not null,
    history_stamp bigint not null default 0,
    turn_seq integer,
    primary key (chat_id, history_version, attempt, history_stamp, seq, slot)
) partition by list (slot);

-- Read as often as written; compressing would only cost.
alter table live_parts alter column payload set storage external;

-- Unlogged: worthless after a minute, and gone after a crash of the database. No foreign key to
-- chats for the same reason. Rows are never updated or deleted, so there is nothing to vacuum.
create unlogged table live_parts_0 partition of live_parts for values in (0)
with (autovacuum_enabled = false);

create unlogged table live_parts_1 partition of live_parts for values in (1)
with (autovacuum_enabled = false);

create unlogged table live_parts_2 partition of live_parts for values in (2)
with (autovacuum_enabled = false);

-- Workspaces --------------------------------------------------------------------------------------

-- Places with files and processes that chats work in.
-- changed_at: the last sign of the process that starts, stops or removes it; after a while of silence
-- another process takes over. removed_at: when nothing of a deleted one was left.
create table workspaces (
    id uuid primary key,
    org_id uuid not null,
    owner_id uuid not null,
    chat_id uuid not null references chats (id),
    template text not null,
    status text not null,
    version integer not null default 1,
    address text,
    ttl_s integer not null default 0,
    stops_at timestamptz,
    error text,
    created_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    removed_at timestamptz,
    foreign key (org_id, owner_id) references users (org_id, id),
    constraint status_known check (
        status in ('starting', 'running', 'stopping', 'stopped', 'failed', 'deleted')
    ),
    constraint ttl_not_negative check (ttl_s >= 0),
    constraint running_has_address check (status <> 'running' or address is not null),
    constraint only_running_stops check (stops_at is null or status = 'running'),
    constraint only_deleted_removed check (removed_at is null or status = 'deleted')
) with (fillfactor = 80);

-- Of several requests that create one at once, one does.
create unique index workspaces_of_chat on workspaces (chat_id) where status <> 'deleted';

-- A create counts the owner's.
create index workspaces_of_owner on workspaces (owner_id) where status <> 'deleted';

create index workspaces_expiring on workspaces (stops_at) where stops_at is not null;

create index workspaces_busy on workspaces (changed_at) where status in ('starting', 'stopping');

create index workspaces_remains on workspaces (changed_at)
where status = 'deleted' and removed_at is null;

-- migrate: rollback

drop function waiting_messages(uuid);

drop table workspaces, prompt_prefixes, live_parts, receipts, queued_messages, messages, list_changes, read_cursors,
chat_shares, chats, workers, audit_log, audit_heads, oidc_states, oidc_identities, login_throttles,
api_keys, sign_ins, account_receipts, org_settings, founding, users, organisations;

drop function audit_log_only_grows();
