-- Workspaces. A change names the version of the workspace that it saw; times are ours.

-- workspace_of_chat --
select
    id, org_id, owner_id, chat_id, template, status, version, address, ttl_s, stops_at, error,
    created_at, changed_at
from workspaces
where chat_id = :chat_id and status <> 'deleted'

-- find_workspace --
select
    id, org_id, owner_id, chat_id, template, status, version, address, ttl_s, stops_at, error,
    created_at, changed_at
from workspaces
where id = :workspace_id

-- add_workspace --
-- No id comes back if the chat has one: the index decides, not a look before. Nor if its owner has
-- as many as they may: as this statement sees them, so that those who come in the same instant may
-- go over the limit.
with held as (
    select count(*)::integer as held from workspaces
    where owner_id = :owner_id and status <> 'deleted'
), added as (
    insert into workspaces (id, org_id, owner_id, chat_id, template, status, ttl_s)
    select :workspace_id, :org_id, :owner_id, :chat_id, :template, 'starting', :ttl_s
    from held where held.held < :limit
    on conflict (chat_id) where status <> 'deleted' do nothing
    returning
        id, org_id, owner_id, chat_id, template, status, version, address, ttl_s, stops_at, error,
        created_at, changed_at
)
select
    a.id, a.org_id, a.owner_id, a.chat_id, a.template, a.status, a.version, a.address, a.ttl_s,
    a.stops_at, a.error, a.created_at, a.changed_at, h.held
from held as h
left join added as a on true

-- claim_workspace --
-- One that a replica starts or stops just now is its own until it has been silent for too long.
update workspaces as w
set
    status = :status,
    version = w.version + 1,
    address = null,
    stops_at = null,
    error = null,
    changed_at = clock_timestamp()
where w.id = :workspace_id and w.version = :version and w.status <> 'deleted'
    and (
        w.status not in ('starting', 'stopping')
        or w.changed_at < clock_timestamp() - :lapse::interval
    )
returning
    w.id, w.org_id, w.owner_id, w.chat_id, w.template, w.status, w.version, w.address, w.ttl_s,
    w.stops_at, w.error, w.created_at, w.changed_at

-- renew_workspace --
update workspaces as w
set changed_at = clock_timestamp()
where w.id = :workspace_id and w.version = :version
    and w.status in ('starting', 'stopping', 'deleted')
returning w.id

-- settle_workspace --
update workspaces as w
set
    status = :status,
    version = w.version + 1,
    address = :address,
    stops_at = clock_timestamp() + :stops_in::interval,
    error = :error,
    changed_at = clock_timestamp()
where w.id = :workspace_id and w.version = :version and w.status <> 'deleted'
returning
    w.id, w.org_id, w.owner_id, w.chat_id, w.template, w.status, w.version, w.address, w.ttl_s,
    w.stops_at, w.error, w.created_at, w.changed_at

-- touch_workspace --
-- No new version: what happens in the chat does not disturb a replica that stops it.
update workspaces as w
set stops_at = clock_timestamp() + :stops_in::interval
where w.id = :workspace_id and w.status = 'running' and w.stops_at is not null
returning w.id

-- claim_expired_workspaces --
-- Those that were idle for too long, and those of disabled users.
-- Looked at and claimed as one: a touch in between finds it locked, or is found by us. An array, here
-- and below: how few the limit leaves is not known to the planner, who would else read all rows.
update workspaces as w
set
    status = 'stopping',
    version = w.version + 1,
    address = null,
    stops_at = null,
    changed_at = clock_timestamp()
where w.id = any(array(
    select e.id from workspaces as e
    where e.stops_at < clock_timestamp() and e.template = any(:templates::text[])
    order by e.stops_at
    limit :limit
    for update skip locked
) || array(
    select e.id from workspaces as e
    where e.owner_id = any(array(select u.id from users as u where u.stopping_since is not null))
        and e.status = 'running' and e.template = any(:templates::text[])
    limit :limit
    for update skip locked
))
returning
    w.id, w.org_id, w.owner_id, w.chat_id, w.template, w.status, w.version, w.address, w.ttl_s,
    w.stops_at, w.error, w.created_at, w.changed_at

-- claim_abandoned_workspaces --
-- The replicas that started or stopped them are gone, and no request waits for them.
update workspaces as w
set status = 'stopping', version = w.version + 1, changed_at = clock_timestamp()
where w.id = any(array(
    select e.id from workspaces as e
    where e.status in ('starting', 'stopping')
        and e.changed_at < clock_timestamp() - :lapse::interval
        and e.template = any(:templates::text[])
    order by e.changed_at
    limit :limit
    for update skip locked
))
returning
    w.id, w.org_id, w.owner_id, w.chat_id, w.template, w.status, w.version, w.address, w.ttl_s,
    w.stops_at, w.error, w.created_at, w.changed_at

-- claim_remains_of_workspaces --
update workspaces as w
set changed_at = clock_timestamp()
where w.id = any(array(
    select e.id from workspaces as e
    where e.status = 'deleted' and e.removed_at is null
        and e.changed_at < clock_timestamp() - :lapse::interval
        and e.template = any(:templates::text[])
    order by e.changed_at
    limit :limit
    for update skip locked
))
returning
    w.id, w.org_id, w.owner_id, w.chat_id, w.template, w.status, w.version, w.address, w.ttl_s,
    w.stops_at, w.error, w.created_at, w.changed_at

-- removed_workspace --
update workspaces as w
set removed_at = clock_timestamp()
where w.id = :workspace_id and w.status = 'deleted'
returning w.id
