-- The live log: three slots of time, written in turn.

-- flush --
-- One statement and so one transaction per tick: no note names a part that cannot be read yet (R4).
with kept as (
    insert into live_parts (
        slot, chat_id, history_version, attempt, history_stamp, seq, payload, turn_seq
    )
    select
        (floor(extract(epoch from clock_timestamp())::float8 / :window_s::float8)::bigint % 3)::smallint,
        part.*
    from unnest(
        :chat_ids::uuid[], :history_versions::bigint[], :attempts::integer[],
        :history_stamps::bigint[], :seqs::integer[], :payloads::bytea[], :turn_seqs::integer[]
    ) as part
    on conflict do nothing
)
select count(pg_notify(told.channel, told.note))
from unnest(:channels::text[], :notes::text[]) as told (channel, note)

-- read_live --
select distinct on (seq) seq, payload, turn_seq
from live_parts
where chat_id = :chat_id and history_version = :history_version and attempt = :attempt
    and history_stamp = :history_stamp and seq > :after_seq and seq <= :upto_seq
order by seq

-- slot_to_empty --
-- The slot that comes next, if anything of its last time is still in it.
select due.slot
from (
    select
        ((floor(extract(epoch from clock_timestamp())::float8 / :window_s::float8)::bigint + 1) % 3)::smallint
            as slot
) as due
where exists (select from live_parts where live_parts.slot = due.slot)

-- may_empty --
-- Whether our role may empty the slots, and its name. Their owner may; any other role needs a grant.
select
    current_user::text as role,
    has_table_privilege('live_parts_0', 'truncate')
    and has_table_privilege('live_parts_1', 'truncate')
    and has_table_privilege('live_parts_2', 'truncate') as may_empty

-- empty_slot_0 --
truncate live_parts_0

-- empty_slot_1 --
truncate live_parts_1

-- empty_slot_2 --
truncate live_parts_2

-- still_there --
select 1
