-- Every row that breaks an invariant: must return nothing. Only of some chats, or (null) of all.

-- verify --
with watched as (
    select * from chats where :chat_ids::uuid[] is null or id = any(:chat_ids)
), history as (
    select m.* from messages as m inner join watched as c on c.id = m.chat_id
), active as (
    select * from history where removed_revision is null
), calls as (
    select a.chat_id, a.seq, a.role, p.part ->> 'kind' as kind, p.part ->> 'call_id' as call_id
    from active as a
    cross join lateral json_array_elements(a.parts) as p (part)
    where p.part ->> 'kind' in ('tool_call', 'tool_result')
        and coalesce(p.part ->> 'runs_at', 'here') <> 'provider'
), answers as (
    select
        asked.chat_id, asked.call_id, asked.seq, count(result.seq) as results,
        min(result.seq) as answered_seq
    from calls as asked
    left join calls as result
        on result.chat_id = asked.chat_id and result.call_id = asked.call_id
            and result.kind = 'tool_result' and result.seq > asked.seq
    where asked.kind = 'tool_call'
    group by asked.chat_id, asked.call_id, asked.seq
), waiting as (
    select q.*
    from queued_messages as q
    inner join watched as c on c.id = q.chat_id
    where q.removed_revision is null
), numbered as (
    select
        chat_id, seq, revision, epoch,
        row_number() over chat_order as number,
        lag(revision) over chat_order as last_revision,
        lag(epoch) over chat_order as last_epoch
    from history
    window chat_order as (partition by chat_id order by seq)
), turns as (
    select
        chat_id, seq, turn_seq,
        max(seq) filter (where role = 'user') over (partition by chat_id order by seq) as began_seq
    from active
)
select id as chat_id, 'S3: last_seq is not the last message' as rule, last_seq::text as detail
from watched as c
where last_seq <> (select coalesce(max(seq), 0) from history as h where h.chat_id = c.id)
union all
select id, 'S3: turn_seq is not the last user message', coalesce(turn_seq::text, 'none')
from watched as c
where turn_seq is distinct from (
    select max(a.seq) from active as a where a.chat_id = c.id and a.role = 'user'
)
union all
select chat_id, 'S3: a message names another turn than its own', seq::text from turns
where turn_seq is distinct from began_seq
union all
select chat_id, 'M2: a gap in seq', seq::text from numbered where number <> seq
union all
select chat_id, 'S2: revision falls along seq', seq::text from numbered
where revision < last_revision
union all
select chat_id, 'S6: epoch falls along seq', seq::text from numbered where epoch < last_epoch
union all
select h.chat_id, 'S2: a message is newer than its chat', h.seq::text
from history as h
inner join watched as c on c.id = h.chat_id
where h.revision > c.history_version or coalesce(h.removed_revision, 0) > c.history_version
    or h.epoch > c.epoch
union all
select id, 'S3: history_version is not the last change of history', history_version::text
from watched as c
where last_seq > 0 and history_version <> (
    select greatest(max(h.revision), max(h.removed_revision))
    from history as h
    where h.chat_id = c.id
)
union all
select id, 'S8: idle with work left', status
from watched
where status = 'idle' and (
    worker_id is not null or (queue_length > 0 and not queue_paused) or open_calls <> '[]' or owes_reply
)
union all
select id, 'S3: a worker owns a chat that needs none', status from watched
where worker_id is not null and status not in ('running', 'interrupting')
union all
select id, 'S12: archived, but neither idle nor failed', status from watched
where archived_at is not null and status not in ('idle', 'failed')
union all
select id, 'S3: queue_length is not the length of the queue', queue_length::text
from watched as c
where queue_length <> (select count(*) from waiting as q where q.chat_id = c.id)
union all
select chat_id, 'S10: two queued messages at one position', position::text
from waiting
group by chat_id, position
having count(*) > 1
union all
select q.chat_id, 'S10: promoted, but not to a user message of that version', q.id::text
from queued_messages as q
inner join watched as c on c.id = q.chat_id
left join history as h on h.chat_id = q.chat_id and h.seq = q.promoted_seq
where q.fate = 'promoted'
    and (
        h.role is distinct from 'user' or h.revision is distinct from q.removed_revision
        or h.queued_id is distinct from q.id or h.client_key is distinct from q.client_key
    )
union all
select chat_id, 'M3: a call with more than one result', call_id from answers where results > 1
union all
select a.chat_id, 'M3: an unanswered call that the chat does not know', a.call_id
from answers as a
inner join watched as c on c.id = a.chat_id
where a.results = 0
    and not exists (
        select from jsonb_array_elements(c.open_calls) as o (call)
        where o.call ->> 'call_id' = a.call_id
    )
union all
select c.id, 'M3: an open call that is answered or not in history', o.call ->> 'call_id'
from watched as c
cross join lateral jsonb_array_elements(c.open_calls) as o (call)
where not exists (
    select from answers as a
    where a.chat_id = c.id and a.call_id = o.call ->> 'call_id' and a.results = 0
)
union all
select c.id, 'L113: an open call of the advisor that is not counted', c.advised::text
from watched as c
where c.advised < (
    select count(*) from jsonb_array_elements(c.open_calls) as o (call)
    where o.call ->> 'tool' = 'advisor'
)
union all
select r.chat_id, 'M3: a result without a call', r.call_id
from calls as r
where r.kind = 'tool_result' and not exists (
    select from answers as a
    where a.chat_id = r.chat_id and a.call_id = r.call_id and a.seq < r.seq
)
union all
select u.chat_id, 'M3: a user message before the results of earlier calls', u.seq::text
from active as u
inner join answers as a on a.chat_id = u.chat_id and a.seq < u.seq
where u.role = 'user' and coalesce(a.answered_seq, u.seq) >= u.seq
union all
select r.chat_id, 'M1: a receipt from the future', r.client_key
from receipts as r
inner join watched as c on c.id = r.chat_id
where r.version > c.version

-- verify_prefixes --
-- The prefixes that messages name, by digest, each with its content (null: there is none).
with named as (
    select m.prefix as digest, min(m.chat_id::text)::uuid as chat_id
    from messages as m
    where m.prefix > :after and (:chat_ids::uuid[] is null or m.chat_id = any(:chat_ids))
    group by m.prefix
    order by m.prefix
    limit :limit
)
select named.digest, named.chat_id, p.content
from named
left join prompt_prefixes as p on p.digest = named.digest
order by named.digest
