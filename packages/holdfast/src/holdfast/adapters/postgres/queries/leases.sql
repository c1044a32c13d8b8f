-- Leases: who drives what, on the database's clock. Every block is one statement.

-- join_worker --
insert into workers (id, name, lease_until)
values (:worker_id, :name, clock_timestamp() + :ttl::interval)

-- heartbeat --
-- A lapsed lease is not renewed: its chats may be driven by others, and the worker must begin anew.
update workers
set lease_until = clock_timestamp() + :ttl::interval
where id = :worker_id and lease_until > clock_timestamp()
returning lease_until, clock_timestamp() as at, coalesce((select n from settings_generation), 0) as generation

-- leave_worker --
-- Chats are locked in the order of their ids, here and below: see store.py.
with owned as materialized (
    select id from chats where worker_id = :worker_id order by id for no key update
), released as (
    update chats set worker_id = null
    where id = any(array(select id from owned)) and worker_id = :worker_id
    returning id
), left_ as (
    update workers set lease_until = least(lease_until, clock_timestamp()) where id = :worker_id
)
select id from released

-- release_chats --
-- Of :undriven ones no attempt was made: the one that acquiring has begun is forgiven. It keeps its
-- number, which is part of an episode's name.
with owned as materialized (
    select id from chats
    where worker_id = :worker_id and id = any(:chat_ids::uuid[])
    order by id for no key update
)
update chats set
    worker_id = null,
    attempts_forgiven = attempts_forgiven + case
        when id = any(:undriven::uuid[]) and status = 'running' and backoff is null
            and attempts_forgiven < attempt then 1
        else 0
    end
where id = any(array(select id from owned)) and worker_id = :worker_id
returning id

-- release_all_but --
-- What is not in :kept was never driven by this worker: see release_chats.
with owned as materialized (
    select id from chats
    where worker_id = :worker_id and id <> all(:kept::uuid[])
    order by id for no key update
)
update chats set
    worker_id = null,
    attempts_forgiven = attempts_forgiven + case
        when status = 'running' and backoff is null and attempts_forgiven < attempt then 1
        else 0
    end
where id = any(array(select id from owned)) and worker_id = :worker_id
returning id

-- set_aside_chats --
-- Chats that a reader of level :reads cannot read, which no other worker drives. They are skipped by
-- such readers until a commit clears `set_aside_by`, a newer version comes, or :aside_for has passed:
-- a release that mends the reader need not have another level. An attempt that acquiring has begun is
-- forgiven, as in release_chats.
with named as (
    select n.chat_id, n.why from unnest(:chat_ids::uuid[], :whys::text[]) as n (chat_id, why)
), held as materialized (
    select id from chats
    where id = any(:chat_ids::uuid[]) and (worker_id is null or worker_id = :worker_id)
    order by id for no key update
)
update chats as c set
    worker_id = null,
    set_aside_by = :reads,
    set_aside_at = clock_timestamp(),
    set_aside_why = named.why,
    attempts_forgiven = c.attempts_forgiven + case
        when c.worker_id is not null and c.status = 'running' and c.backoff is null
            and c.attempts_forgiven < c.attempt then 1
        else 0
    end
from named
where c.id = named.chat_id and c.id = any(array(select id from held))
    and (c.worker_id is null or c.worker_id = :worker_id)
returning c.id

-- forget_workers --
-- Workers whose lease lapsed long ago and whose chats have all been taken over.
delete from workers as w
where w.lease_until < clock_timestamp() - :lapsed_for::interval
    and not exists (select from chats as c where c.worker_id = w.id)
returning w.id

-- expired_awaits --
select c.id from chats as c
where c.awaiting_until <= (select clock_timestamp())
    and c.reads <= :reads and (
        coalesce(c.set_aside_by, 0) < :reads
        or c.set_aside_at < clock_timestamp() - :aside_for::interval
    )
order by c.awaiting_until
limit :limit

-- stopping_chats --
-- Chats of disabled users that would go on: a turn that runs or waits, or a queue behind an interrupt.
-- A minute without any, and the user's are stopped: a request that was under way when the user was
-- disabled has ended by then.
with users_asked as materialized (
    select u.id, u.stopping_since from users as u
    where u.stopping_since is not null
    order by u.stopping_since
    limit 100
), found as materialized (
    select c.id, c.org_id, c.owner_id
    from users_asked
    cross join lateral (
        select c.id, c.org_id, c.owner_id from chats as c
        where c.owner_id = users_asked.id and (
            c.status in ('running', 'awaiting')
            or (c.status = 'interrupting' and c.queue_length > 0 and not c.queue_paused)
        )
        limit :limit
    ) as c
), stopped as (
    update users as u set stopping_since = null
    from users_asked
    where u.id = users_asked.id and u.stopping_since = users_asked.stopping_since
        and u.stopping_since < clock_timestamp() - interval '1 minute'
        and not exists (select from found where found.owner_id = u.id)
)
select found.id, found.org_id, clock_timestamp() as seen_at from found
limit :limit

-- acquire_chats --
-- At most :limit runnable chats that no live worker drives, for a worker whose own lease is alive.
-- Interrupts come on top: to stop must not wait for room to start (L80).
-- Fair between owners: the chats of the dead first, then who has fewest driven, then who waits
-- longest. Waiting owners are visited in a ring that begins at :ring_start, at most :owners_max on either side of it:
-- the cost does not grow with the queue, and another :ring_start each time gives every owner a turn.
-- A row that was written to after this statement's snapshot is left for the next time: its queue is
-- read by the snapshot, and a runner that does not know of a queued message would lose it (M1).
-- Left out: chats that need a newer reader, and those that a reader of this level has set aside.
-- Suspects are named, not acquired: running chats of the dead for which this would be takeover
-- :alone_from in a row, or a later one. An interrupt asks no model and runs no tool: it is acquired.
-- With :only nothing else is acquired than those of these chats whose worker is dead.
-- At least one row, with the suspects; without an id if nothing was acquired.
with recursive me as (
    select id from workers where id = :worker_id and lease_until > clock_timestamp()
), ring as (
    select seed.owner_id, seed.last_id, 0 as visited
    from me, (
        values
        (:ring_start::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid),
        ('00000000-0000-0000-0000-000000000000'::uuid, :ring_start::uuid)
    ) as seed (owner_id, last_id)
    where :only::uuid[] is null
    union all
    select following.owner_id, ring.last_id, ring.visited + 1
    from ring
    cross join lateral (
        select c.owner_id
        from chats as c
        where c.worker_id is null and c.runnable_since is not null
            and c.owner_id > ring.owner_id and c.owner_id <= ring.last_id
            and c.reads <= :reads and (
                coalesce(c.set_aside_by, 0) < :reads
                or c.set_aside_at < clock_timestamp() - :aside_for::interval
            )
        order by c.owner_id
        limit 1
    ) as following
    where ring.visited < :owners_max
), waiting as (
    select
        c.id, c.version, c.runnable_since,
        driven.chats + row_number() over (
            partition by ring.owner_id order by c.runnable_since
        ) as rank
    from ring
    cross join lateral (
        select count(*) as chats
        from (
            select from chats as d
            where d.owner_id = ring.owner_id and d.worker_id is not null
            limit 1000
        ) as seen
    ) as driven
    cross join lateral (
        select c.id, c.version, c.runnable_since
        from chats as c
        where c.owner_id = ring.owner_id and c.worker_id is null and c.runnable_since is not null
            and c.reads <= :reads and (
                coalesce(c.set_aside_by, 0) < :reads
                or c.set_aside_at < clock_timestamp() - :aside_for::interval
            )
        order by c.runnable_since
        limit :limit
    ) as c
    where ring.visited > 0
), abandoned as (
    select c.id, c.version, c.runnable_since, 0 as rank
    from me, workers as w
    inner join chats as c on c.worker_id = w.id
    where w.lease_until <= clock_timestamp()
        and (:only::uuid[] is null or c.id = any(:only::uuid[]))
        and (c.takeovers + 1 >= :alone_from::integer and c.status = 'running') is not true
        and c.reads <= :reads and (
            coalesce(c.set_aside_by, 0) < :reads
            or c.set_aside_at < clock_timestamp() - :aside_for::interval
        )
    limit :limit
), suspects as (
    select c.id, c.takeovers + 1 as takeovers
    from me, workers as w
    inner join chats as c on c.worker_id = w.id
    where :alone_from::integer is not null and w.lease_until <= clock_timestamp()
        and c.takeovers + 1 >= :alone_from::integer and c.status = 'running'
        and c.reads <= :reads and (
            coalesce(c.set_aside_by, 0) < :reads
            or c.set_aside_at < clock_timestamp() - :aside_for::interval
        )
    limit :suspects_max
), picked as (
    select c.id
    from (select * from abandoned union all select * from waiting) as candidate
    inner join chats as c on c.id = candidate.id
    where c.runnable_since is not null and c.version = candidate.version and (
        c.worker_id is null
        or exists (
            select from workers as w
            where w.id = c.worker_id and w.lease_until <= clock_timestamp()
        )
    )
    order by candidate.rank, candidate.runnable_since
    limit :limit
    for update of c skip locked
), interrupts as (
    (
        select c.id, c.version from me, chats as c
        where :only::uuid[] is null and c.worker_id is null and c.status = 'interrupting'
            and c.reads <= :reads and (
                coalesce(c.set_aside_by, 0) < :reads
                or c.set_aside_at < clock_timestamp() - :aside_for::interval
            )
        order by c.runnable_since
        limit :interrupts_max
    )
    union all
    (
        select c.id, c.version from me, workers as w
        inner join chats as c on c.worker_id = w.id
        where :only::uuid[] is null
            and w.lease_until <= clock_timestamp() and c.status = 'interrupting'
            and c.reads <= :reads and (
                coalesce(c.set_aside_by, 0) < :reads
                or c.set_aside_at < clock_timestamp() - :aside_for::interval
            )
        limit :interrupts_max
    )
), picked_interrupts as (
    select c.id
    from interrupts
    inner join chats as c on c.id = interrupts.id
    where c.status = 'interrupting' and c.version = interrupts.version and (
        c.worker_id is null
        or exists (
            select from workers as w
            where w.id = c.worker_id and w.lease_until <= clock_timestamp()
        )
    )
    limit :interrupts_max
    for update of c skip locked
), acquired as (
    update chats as c set
        worker_id = :worker_id,
        epoch = c.epoch + 1,
        takeovers = case when c.worker_id is null then 0 else least(c.takeovers + 1, 32000) end,
        -- A chat that has an owner is acquired from a worker whose lease has lapsed. What is known of
        -- another history was left there by a version that does not know this column.
        lost = coalesce((
            select jsonb_build_object(
                'history_version', c.history_version,
                'workers', coalesce((known.lost ->> 'workers')::integer, 0) + 1,
                'since', coalesce((known.lost ->> 'since')::timestamptz, w.lease_until),
                'until', clock_timestamp()
            )
            from workers as w
            cross join lateral (
                select case
                    when (c.lost ->> 'history_version')::bigint = c.history_version then c.lost
                end as lost
            ) as known
            where w.id = c.worker_id
        ), c.lost),
        -- What `BeginAttempt` does, without a statement of its own: see driving.begun_by_acquiring.
        attempt = c.attempt + case when c.status = 'running' and c.backoff is null then 1 else 0 end,
        version = c.version + case when c.status = 'running' and c.backoff is null then 1 else 0 end
    from (select id from picked union select id from picked_interrupts) as taken
    where c.id = taken.id
    returning {{chat_columns}}
)
select
    acquired.*, named.suspect_ids, named.suspect_takeovers,
    coalesce((select n from settings_generation), 0) as generation
from (
    select array_agg(s.id) as suspect_ids, array_agg(s.takeovers) as suspect_takeovers
    from suspects as s
) as named
left join acquired on true
