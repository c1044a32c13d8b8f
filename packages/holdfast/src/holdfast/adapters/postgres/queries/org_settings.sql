-- What admins set while the server runs.

-- newer_settings --
select s.org_id, s.version, s.said
from org_settings as s
left join unnest(:orgs::uuid[], :versions::bigint[]) as k (org_id, version) on k.org_id = s.org_id
where k.version is distinct from s.version

-- find_settings_begin --
select o.version, o.said from org_settings as o
where o.org_id = :org_id

-- put_settings_begin --
-- Compared where it is written. Nothing expected: whatever is there; 0: nothing yet.
with changed as (
    insert into org_settings as s (org_id, version, said)
    select o.id, 1, :said::json
    from organisations as o
    where o.id = :org_id
        and (
            :expected::bigint[] is null or 0 = any(:expected)
            or exists (select from org_settings as there where there.org_id = o.id)
        )

-- put_settings_end --
    on conflict (org_id) do update
    set version = s.version + 1, said = excluded.said, changed_at = clock_timestamp()
    where :expected is null or s.version = any(:expected)
    returning version
)

-- newest_generation --
select coalesce((select n from settings_generation), 0) as n

-- count_generation --
-- Behind `changed` and `audit_append`. All such statements lock in this order: the rows, the head of the
-- audit log, the generation, the fence. A generation that is visible has all its changes visible.
, generation as (
    insert into settings_generation as g (n) select 1 where exists (select from head)
    on conflict (id) do update set n = g.n + 1
    returning n
), fenced as (
    insert into settings_fences (org_id, generation)
    select :audit_org, generation.n from generation where :stops::boolean
    on conflict (org_id) do update set generation = excluded.generation
)
