-- Facts of one chat, and its change. Every block is one statement.

-- load_chat --
-- The facts, the message that an edit names ($2), and the receipt of a repeated request ($3).
select
    c.id, c.org_id, c.owner_id, c.status, c.archived_at is not null as archived, c.version,
    c.history_version, c.queue_version, c.last_seq, c.last_queued_id, c.owes_reply, c.compactable,
    c.compaction_requested, c.open_calls, c.worker_id, c.epoch, c.attempt, c.attempts_forgiven,
    c.model, c.effort, c.error, c.backoff, c.awaiting, c.awaiting_until,
    case when c.queue_length > 0 then (
        select json_agg(
            json_build_object(
                'queued_id', q.id, 'position', q.position, 'urgent', q.urgent,
                'format', q.format, 'parts', q.parts, 'model', q.model, 'effort', q.effort,
                'author_id', q.author_id
            ) order by q.position
        )
        from queued_messages as q
        where q.chat_id = c.id and q.removed_revision is null
    ) end as queue,
    t.role as target_role, t.removed_revision is not null as target_removed,
    r.digest as receipt_digest, r.version as receipt_version, r.seq as receipt_seq,
    r.queued_id as receipt_queued_id
from chats as c
left join messages as t on t.chat_id = c.id and t.seq = $2
left join receipts as r on r.chat_id = c.id and r.client_key = $3
where c.id = $1

-- load_past --
-- What a restore must know of the history as of version $2 (see domain/chat.py, Past).
with shared as (
    select coalesce(max(seq), 0) as seq
    from messages
    where chat_id = $1 and revision <= $2 and removed_revision is null
), reply as (
    select coalesce(max(seq), 0) as seq
    from messages
    where chat_id = $1 and role = 'assistant' and revision <= $2
        and (removed_revision is null or removed_revision > $2)
)
select
    shared.seq as shared_seq,
    (
        select count(*)::integer
        from messages
        where chat_id = $1 and seq > shared.seq and revision <= $2 and removed_revision > $2
    ) as copied,
    (
        select count(*)::integer
        from messages
        where chat_id = $1 and seq > shared.seq and removed_revision is null
    ) as hidden,
    (
        select json_agg(
            json_build_object('role', m.role, 'format', m.format, 'parts', m.parts) order by m.seq
        )
        from messages as m
        where m.chat_id = $1 and m.seq >= reply.seq and m.revision <= $2
            and (m.removed_revision is null or m.removed_revision > $2)
    ) as tail
from chats, shared, reply
where chats.id = $1 and $2 between 1 and chats.version

-- create_chat --
-- A repeat of the same key inserts nothing: the first chat is the answer (find_created).
with created as (
    insert into chats (
        id, org_id, owner_id, status, version, history_version, queue_version, last_seq,
        last_queued_id, queue_length, owes_reply, compactable, compaction_requested, open_calls,
        epoch, attempt, attempts_forgiven, model, effort, runnable_since, client_key, client_digest
    )
    values (
        $1, $2, $3, $4, 1, $5, 0, $6, 0, 0, $7, $8, false, '[]', 0, 0, 0, $9, $10,
        case when $4 = 'running' then clock_timestamp() end, $11, $12
    )
    on conflict (owner_id, client_key) do nothing
    returning id, epoch, version
), appended as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, model, effort,
        author_id, usage, cost_micros
    )
    select
        created.id, m.seq, created.version, created.epoch, m.role, m.ending, m.visibility, $13,
        m.parts, m.model, m.effort, m.author_id, m.usage, m.cost_micros
    from created, unnest(
        $14::integer[], $15::text[], $16::text[], $17::text[], $18::json[], $19::text[],
        $20::text[], $21::uuid[], $22::json[], $23::bigint[]
    ) as m (seq, role, ending, visibility, parts, model, effort, author_id, usage, cost_micros)
)
select epoch, clock_timestamp() as at from created

-- find_created --
select id, client_digest as digest from chats where owner_id = $1 and client_key = $2

-- commit_begin --
-- Compare and set. No row back: somebody was faster ($2), or the fence is stale ($3, $4).
-- $5 releases the owner; it is never set from the snapshot, which may be older than an acquisition.
with moved as (
    update chats set
        version = version + 1,
        status = $6,
        archived_at = case when $7 then coalesce(archived_at, clock_timestamp()) end,
        history_version = $8,
        queue_version = $9,
        last_seq = $10,
        last_queued_id = $11,
        queue_length = $12,
        owes_reply = $13,
        compactable = $14,
        compaction_requested = $15,
        open_calls = $16,
        worker_id = case when not $5 then worker_id end,
        attempt = $17,
        attempts_forgiven = $18,
        model = $19,
        effort = $20,
        error = $21,
        backoff = $22,
        awaiting = $23,
        awaiting_until = $24,
        runnable_since = case
            when $6 in ('running', 'interrupting') then coalesce(runnable_since, clock_timestamp())
        end
    where id = $1 and version = $2
        and ($3::uuid is null or (worker_id = $3 and epoch = $4::bigint))
    returning id, epoch, version
), receipt as (
    insert into receipts (chat_id, client_key, digest, version, seq, queued_id)
    select moved.id, $25, $26, moved.version, $27, $28
    from moved
    where $25::text is not null
), appended as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, model, effort,
        author_id, usage, cost_micros
    )
    select
        moved.id, m.seq, moved.version, moved.epoch, m.role, m.ending, m.visibility, $29,
        m.parts, m.model, m.effort, m.author_id, m.usage, m.cost_micros
    from moved, unnest(
        $30::integer[], $31::text[], $32::text[], $33::text[], $34::json[], $35::text[],
        $36::text[], $37::uuid[], $38::json[], $39::bigint[]
    ) as m (seq, role, ending, visibility, parts, model, effort, author_id, usage, cost_micros)
)

-- commit_rest --
-- The rarer changes: an edit or restore hides and copies messages, and the queue moves.
, hidden as (
    update messages set removed_revision = moved.version
    from moved
    where messages.chat_id = moved.id and messages.seq between $40 and $41
        and messages.removed_revision is null
), copied as (
    -- Copies cost nothing: the originals keep what was billed.
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, model, effort,
        author_id, copied_from
    )
    select
        moved.id, $41 + row_number() over (order by m.seq), moved.version, moved.epoch, m.role,
        m.ending, m.visibility, m.format, m.parts, m.model, m.effort, m.author_id,
        coalesce(m.copied_from, m.seq)
    from moved
    inner join messages as m on m.chat_id = moved.id
    where m.seq > $42 and m.revision <= $43 and m.removed_revision > $43
), queued as (
    insert into queued_messages (
        chat_id, id, position, urgent, revision, format, parts, model, effort, author_id
    )
    select
        moved.id, q.id, q.position, q.urgent, moved.version, $29, q.parts, q.model, q.effort,
        q.author_id
    from moved, unnest(
        $44::bigint[], $45::integer[], $46::boolean[], $47::json[], $48::text[], $49::text[],
        $50::uuid[]
    ) as q (id, position, urgent, parts, model, effort, author_id)
), gone as (
    update queued_messages as q
    set removed_revision = moved.version, fate = l.fate, promoted_seq = l.seq
    from moved, unnest($51::bigint[], $52::text[], $53::integer[]) as l (id, fate, seq)
    where q.chat_id = moved.id and q.id = l.id and q.removed_revision is null
), shifted as (
    update queued_messages as q
    set position = s.position, urgent = s.urgent
    from moved, unnest($54::bigint[], $55::integer[], $56::boolean[]) as s (id, position, urgent)
    where q.chat_id = moved.id and q.id = s.id and q.removed_revision is null
)

-- commit_end --
select epoch, clock_timestamp() as at from moved
