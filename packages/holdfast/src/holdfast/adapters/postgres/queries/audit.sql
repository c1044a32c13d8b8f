-- The audit log. A change is `with changed as (…)`, then these two: entry and change are one.

-- audit_append --
-- The head's row is locked by its update, so that entries follow one another; in an upsert, because
-- an organisation's first entry makes it.
, head as (
    insert into audit_heads as h (org_id, seq, hash)
    select
        :audit_org, 1,
        sha256(decode(repeat('00', 32), 'hex') || convert_to('1' || :audit_entry::text, 'UTF8'))
    where exists (select from changed)
    on conflict (org_id) do update set
        seq = h.seq + 1,
        hash = sha256(h.hash || convert_to((h.seq + 1)::text || :audit_entry::text, 'UTF8'))
    returning seq, hash
), logged as (
    insert into audit_log (org_id, seq, at, actor_id, action, entry, hash)
    select :audit_org, head.seq, :audit_at, :audit_actor, :audit_action, :audit_entry::text, head.hash
    from head
)

-- audit_select --
select * from changed

-- audit_alone_begin --
with changed as (select 1)

-- audit_rows --
select seq, at, actor_id, action, entry, hash from audit_log
where org_id = :org_id and seq > :after_seq
order by seq
limit :limit

-- audit_newest_begin --
select seq, at, actor_id, action, entry, hash from audit_log
where org_id = :org_id and seq < :before_seq and seq >= :from_seq
    and (:by::uuid is null or actor_id = :by)
    and (:done::text is null or action = :done or starts_with(action, :done || '.'))
    and (:target::text is null or entry::json ->> 'target_id' = :target)
    and (:since::timestamptz is null or at >= :since)
    and (:until::timestamptz is null or at < :until)

-- audit_newest_end --
order by seq desc
limit :limit

-- audit_head_of --
select seq, hash from audit_heads where org_id = :org_id

-- audit_organisations --
select id as org_id from organisations
union
select org_id from audit_heads
