-- Places with files and processes that chats work in
-- depends: 0005-edge

-- migrate: apply

-- changed_at: when whoever starts, stops or removes it last said so; after a while of silence others
-- take over. removed_at: when nothing of a deleted one was left.
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

-- Of however many that create one at once, one does.
create unique index workspaces_of_chat on workspaces (chat_id) where status <> 'deleted';

create index workspaces_expiring on workspaces (stops_at) where stops_at is not null;

create index workspaces_busy on workspaces (changed_at) where status in ('starting', 'stopping');

create index workspaces_remains on workspaces (changed_at)
where status = 'deleted' and removed_at is null;

-- migrate: rollback

drop table workspaces;
