-- Facts of one chat, and its change. Every block is one statement, or named as a part of one.
-- {{chat_columns}} is the block of that name; {{fact_columns}} and its like come from columns.py, where
-- BY_HAND says why the other facts are written out.

-- chat_columns --
-- What `rows.chat_from_row` reads, of chats as c.
c.id, c.org_id, c.owner_id, c.archived_at is not null as archived, c.version, c.worker_id, c.epoch,
c.lost, c.awaiting, c.awaiting_until, c.tools, c.reads,
{{fact_columns_of_c}},
case when c.queue_length > 0 then (
    select json_agg(
        json_build_object(
            'queued_id', q.id, 'position', q.position, 'urgent', q.urgent,
            'format', q.format, 'model', q.model, 'effort', q.effort, 'web', q.web, 'plan_mode', q.plan_mode,
            'author_id', q.author_id, 'client_key', q.client_key,
            -- Without `bytes` an older version wrote it: no beginning is known if it is long.
            'bytes', coalesce(q.bytes, pg_column_size(q.parts)),
            'cut', q.head is not null or (q.bytes is null and pg_column_size(q.parts) > 600),
            'head', case
                when q.bytes is null and pg_column_size(q.parts) > 600 then '[]'
                else coalesce(q.head, q.parts)
            end
        ) order by q.position
    )
    from waiting_messages(c.id) as q
) end as queue

-- load_begin --
-- The facts, and the receipt of a repeated request.
select
    {{chat_columns}},
    r.digest as receipt_digest, r.version as receipt_version, r.turn_seq as receipt_turn_seq,
    r.seq as receipt_seq, r.queued_id as receipt_queued_id,
    coalesce((select n from settings_generation), 0) as generation

-- load_one_end --
from chats as c
left join receipts as r on r.chat_id = :chat_id and r.client_key = :client_key
where c.id = :chat_id

-- load_target_columns --
-- The message that an edit names. Only edits have one: the other loads open no partition of messages.
, t.role as target_role, t.removed_revision is not null as target_removed

-- load_target_end --
from chats as c
left join messages as t on t.chat_id = :chat_id and t.seq = :target
left join receipts as r on r.chat_id = :chat_id and r.client_key = :client_key
where c.id = :chat_id

-- load_many_end --
-- Each for itself; `place` says whose answer a row is. The limits keep it so: a plan that was made while
-- the tables were small would else join by reading all of them, and be kept while they grow.
, asked.place
from unnest(:chat_ids::uuid[], :client_keys::text[])
    with ordinality as asked (chat_id, client_key, place)
cross join lateral (
    select * from chats where chats.id = asked.chat_id limit 1
) as c
left join lateral (
    select k.digest, k.version, k.turn_seq, k.seq, k.queued_id from receipts as k
    where k.chat_id = asked.chat_id and k.client_key = asked.client_key
    limit 1
) as r on true

-- load_past --
-- What a restore must know of the history as of a version (see domain/chat.py, Past). Of the tail
-- only which calls it has and which results: the words may be many megabytes.
with shared as (
    select coalesce(max(seq), 0) as seq
    from messages
    where chat_id = :chat_id and revision <= :version and removed_revision is null
), reply as (
    select coalesce(max(seq), 0) as seq
    from messages
    where chat_id = :chat_id and role = 'assistant' and revision <= :version
        and (removed_revision is null or removed_revision > :version)
), turn as (
    select max(seq) as seq
    from messages
    where chat_id = :chat_id and role = 'user' and revision <= :version
        and (removed_revision is null or removed_revision > :version)
)
select
    shared.seq as shared_seq,
    turn.seq as turn_seq,
    (
        select count(*)::integer
        from messages
        where chat_id = :chat_id and seq > shared.seq and seq <= turn.seq
            and revision <= :version and removed_revision > :version
    ) as turn_copied,
    (
        select count(*)::integer
        from messages
        where chat_id = :chat_id and seq > shared.seq and revision <= :version and removed_revision > :version
    ) as copied,
    (
        select coalesce(sum(coalesce(bytes, pg_column_size(parts))), 0)::bigint
        from messages
        where chat_id = :chat_id and seq > shared.seq and revision <= :version and removed_revision > :version
    ) as copied_bytes,
    (
        select count(*)::integer
        from messages
        where chat_id = :chat_id and seq > shared.seq and removed_revision is null
    ) as hidden,
    (
        select json_agg(
            json_build_object('role', m.role, 'format', m.format, 'parts', calls.parts) order by m.seq
        )
        from messages as m
        left join lateral (
            select json_agg(json_strip_nulls(json_build_object(
                'kind', p.part -> 'kind', 'call_id', p.part -> 'call_id', 'tool', p.part -> 'tool',
                'needs', p.part -> 'needs', 'then', p.part -> 'then',
                'runs_at', p.part -> 'runs_at',
                'arguments', case when p.part ->> 'kind' = 'tool_call' then '{}'::json end,
                'output', case when p.part ->> 'kind' = 'tool_result' then '' end
            ))) as parts
            from json_array_elements(m.parts) as p (part)
            where m.role in ('assistant', 'tool') and p.part ->> 'kind' in ('tool_call', 'tool_result')
        ) as calls on true
        where m.chat_id = :chat_id and m.seq >= reply.seq and m.revision <= :version
            and (m.removed_revision is null or m.removed_revision > :version)
    ) as tail
from chats, shared, reply, turn
where chats.id = :chat_id and :version between 1 and chats.version

-- load_origin --
-- What a fork must know of the history that it takes (see domain/chat.py, Origin): what people see of it,
-- and the news for the model (domain/prefix.py). Of its tail only calls and results, as above.
with path as (
    select seq, role, coalesce(bytes, pg_column_size(parts)) as bytes
    from messages
    where chat_id = :chat_id and seq <= :upto and revision <= :version
        and (removed_revision is null or removed_revision > :version)
        and (role = 'system') = (visibility = 'model')
), reply as (
    select coalesce(max(seq), 0) as seq from path where role = 'assistant'
)
select
    reply.seq as reply_seq,
    (select coalesce(max(seq), 0) from path) as last_seq,
    (select count(*)::integer from path) as messages,
    (select count(*)::integer from path where seq < reply.seq) as before_reply,
    (
        select nullif(count(*), 0)::integer from path
        where seq <= (select max(seq) from path where role = 'user')
    ) as turn_seq,
    (select coalesce(sum(bytes), 0)::bigint from path) as bytes,
    (select coalesce(sum(bytes), 0)::bigint from path where seq < reply.seq) as bytes_before_reply,
    (
        select json_agg(
            json_build_object('role', m.role, 'format', m.format, 'parts', calls.parts) order by m.seq
        )
        from path
        inner join messages as m on m.chat_id = :chat_id and m.seq = path.seq
        left join lateral (
            select json_agg(json_strip_nulls(json_build_object(
                'kind', p.part -> 'kind', 'call_id', p.part -> 'call_id', 'tool', p.part -> 'tool',
                'needs', p.part -> 'needs', 'then', p.part -> 'then',
                'runs_at', p.part -> 'runs_at',
                'arguments', case when p.part ->> 'kind' = 'tool_call' then '{}'::json end,
                'output', case when p.part ->> 'kind' = 'tool_result' then '' end
            ))) as parts
            from json_array_elements(m.parts) as p (part)
            where m.role in ('assistant', 'tool') and p.part ->> 'kind' in ('tool_call', 'tool_result')
        ) as calls on true
        where path.seq >= reply.seq
    ) as tail
from reply

-- create_chat_begin --
-- A repeat of the same key inserts nothing: the first chat is the answer (find_created). Nor does a taker
-- whose lease has lapsed, nor an owner who has as many chats as one may have. Creates of one owner at
-- the same instant do not see one another: the quota bounds the work of a database, and is no account.
with quota as (
    select
        :chats_max::integer > 0 and (
            select count(*) from (
                select from chats as mine where mine.owner_id = :owner_id limit :chats_max
            ) as counted
        ) >= :chats_max as is_full
), named as (
    -- A fork is called as its source until the server finds a title of its own.
    select coalesce(
        :first_words::text, (select source.title from chats as source where source.id = :titled_as::uuid)
    ) as title
), created as (
    insert into chats (
        id, org_id, owner_id, version, queue_length, worker_id, epoch, tools, runnable_since,
        client_key, client_digest, bytes, title, title_source, labels, metadata, reads,
        {{fact_columns}}
    )
    select
        :chat_id, :org_id, :owner_id, 1, 0, :taker::uuid, case when :taker::uuid is null then 0 else 1 end,
        :tools, case when :status = 'running' then clock_timestamp() end,
        :client_key, :digest, :bytes_added, coalesce(:title, named.title),
        case when :title::text is not null then 'user' when named.title is not null then 'first_words' end,
        :labels, :metadata, :reads,
        {{fact_values}}
    from quota, named
    where not quota.is_full and (
        :taker::uuid is null
        or exists (select from workers as w where w.id = :taker and w.lease_until > clock_timestamp())
    )
    on conflict (owner_id, client_key) do nothing
    returning id, epoch, version
)

-- create_messages_end --
, appended as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, usage, cost_micros, created_at, stamp, turn_seq, client_key
    )
    select
        created.id, m.seq, created.version, created.epoch, m.role, m.ending, m.visibility, :format,
        m.parts, octet_length(m.parts::text), m.model, m.effort, m.web, m.plan_mode, m.author_id, m.usage, m.cost_micros,
        statement_timestamp(), :history_stamp, m.turn_seq, m.client_key
    from created, unnest(
        :seqs::integer[], :roles::text[], :endings::text[], :visibilities::text[], :parts::json[],
        :models::text[], :efforts::text[], :webs::boolean[], :plan_modes::boolean[],
        :authors::uuid[], :usages::json[], :costs::bigint[],
        :turn_seqs::integer[], :message_keys::text[]
    ) as m (
        seq, role, ending, visibility, parts, model, effort, web, plan_mode, author_id, usage, cost_micros, turn_seq,
        client_key
    )
)
select
    epoch, statement_timestamp() as at, false as is_full,
    coalesce((select n from settings_generation), 0) as generation
from created
union all
select null, null, true, null from quota where quota.is_full

-- fork_messages_end --
-- Copies cost nothing: the originals keep what was billed. They name the same prefix, and the news for the
-- model are copied: what the model thought stays bound to the same prompt (ADR 0051). Copies have numbers
-- of their own, so their turns do, too. They came out of no queue of this chat, and no request sent them
-- here.
, copied as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, created_at, takeover, stamp, turn_seq, attempt, prefix
    )
    select
        created.id, m.number, created.version, created.epoch, m.role,
        m.ending, m.visibility, m.format, m.parts, m.bytes, m.model, m.effort, m.web, m.plan_mode, m.author_id,
        m.created_at, m.takeover, :history_stamp,
        max(m.number) filter (where m.role = 'user') over (order by m.number), m.attempt,
        m.prefix
    from created
    cross join (
        select original.*, row_number() over (order by original.seq) as number
        from messages as original
        where original.chat_id = :source_id and original.seq <= :upto
            and original.revision <= :source_version
            and (original.removed_revision is null or original.removed_revision > :source_version)
            and (original.role = 'system') = (original.visibility = 'model')
    ) as m
)
select
    epoch, statement_timestamp() as at, false as is_full,
    coalesce((select n from settings_generation), 0) as generation
from created
union all
select null, null, true, null from quota where quota.is_full

-- stored_bytes --
-- Of all chats of an owner. Asked for now and then, and only where there is a quota (see quota.py).
select coalesce(sum(bytes), 0)::bigint as bytes from chats where owner_id = :owner_id

-- find_created --
-- `seq`: of the message that came with the request.
select
    c.id, c.client_digest as digest,
    (
        select m.seq from messages as m
        where m.chat_id = c.id and m.revision = 1 and m.client_key = :client_key
        order by m.seq
        limit 1
    ) as seq
from chats as c
where c.owner_id = :owner_id and c.client_key = :client_key

-- commit_begin --
-- Compare and set. No row back: another commit was first, the fence is stale, the taker's lease has
-- lapsed, or an attempt would begin under settings that are older than a hard stop. commits.py puts the few forms of the statement together from the next blocks.
with moved as (
    update chats set
        {{fact_assignments}},
        version = version + 1,
        bytes = bytes + :bytes_added,
        archived_at = case when :archived then coalesce(archived_at, clock_timestamp()) end,
        queue_length = :queue_length,
        reads = :reads,
        -- It tells of the last turn: an interrupt, an error or another turn takes it back.
        turn_label = case
            when status = 'idle' and :status = 'idle' and history_version = :history_version then turn_label
        end,
        awaiting = :awaiting,
        awaiting_until = :awaiting_until,
        set_aside_by = null,  -- who decided this has read the chat
        tools = coalesce(:tools, tools),  -- null, as in nearly every commit: the same
        runnable_since = case
            when :status in ('running', 'interrupting')
                then coalesce(runnable_since, clock_timestamp())
        end,
        -- Indexed, so written only when a person has spoken: all other commits stay in their page.
        touched_at = case when :touches then clock_timestamp() else touched_at end,
        changed_in = case
            when :lists then pg_current_xact_id()::text::bigint else changed_in
        end,

-- commit_titled --
        title = coalesce(title, :first_words),
        title_source = case
            when title is null and :first_words::text is not null then 'first_words' else title_source
        end,

-- commit_retitled --
-- What the server made of messages goes with them: the title, which is made of the first message of a
-- person, if this commit hides that message, and the summary, if it hides any. A title of a user stays.
        (title, title_source, title_tries) = (
            select
                case
                    when made.is_lost then :first_words
                    when :hidden_from::integer is null then coalesce(chats.title, :first_words)
                    else chats.title
                end,
                case
                    when made.is_lost or (:hidden_from::integer is null and chats.title is null)
                        then case when :first_words::text is not null then 'first_words' end
                    else chats.title_source
                end,
                case when made.is_lost then 0 else chats.title_tries end
            from (
                select
                    :hidden_from::integer is not null and chats.title_source is distinct from 'user'
                    and not exists (
                        select from messages as m
                        where m.chat_id = :chat_id and m.seq < :hidden_from and m.role = 'user'
                            and m.removed_revision is null
                    ) as is_lost
            ) as made
        ),
        summary = case when :hidden_from::integer is null then summary end,
        summary_seq = case when :hidden_from::integer is null then summary_seq end,

-- commit_kept --
-- The owner is released or left alone, never set: the snapshot may be older than an acquisition.
        -- Lost workers are known until the next message, or until the chat is at rest.
        lost = case when history_version = :history_version and not :releases then lost end,
        worker_id = case when not :releases then worker_id end
    where id = :chat_id and version = :expected_version
        and stamp = :expected_stamp
        and (:fence_worker::uuid is null or (worker_id = :fence_worker and epoch = :fence_epoch))
        and (
            :begins_under::bigint is null
            or :begins_under >= coalesce(
                (select f.generation from settings_fences as f where f.org_id = chats.org_id), 0
            )
        )
    returning id, epoch, version
)

-- commit_taken --
-- The same if there is no taker. A taker acquires with the commit: a chat at rest, while its own
-- lease is alive.
        lost = case
            when history_version = :history_version and not :releases and :taker::uuid is null then lost
        end,
        worker_id = coalesce(:taker::uuid, case when not :releases then worker_id end),
        epoch = case when :taker::uuid is null then epoch else epoch + 1 end,
        -- As for any chat that is acquired from no worker.
        takeovers = case when :taker::uuid is null then takeovers else 0 end
    where id = :chat_id and version = :expected_version
        and stamp = :expected_stamp
        and (:fence_worker::uuid is null or (worker_id = :fence_worker and epoch = :fence_epoch))
        and (
            :begins_under::bigint is null
            or :begins_under >= coalesce(
                (select f.generation from settings_fences as f where f.org_id = chats.org_id), 0
            )
        )
        and (
            :taker::uuid is null
            or (
                worker_id is null
                and exists (
                    select from workers as w where w.id = :taker and w.lease_until > clock_timestamp()
                )
            )
        )
    returning id, epoch, version
)

-- commit_receipt --
, receipt as (
    insert into receipts (chat_id, client_key, digest, version, turn_seq, seq, queued_id)
    select
        moved.id, :client_key::text, :digest, moved.version, :answer_turn_seq, :answer_seq,
        :answer_queued_id
    from moved
    where :client_key::text is not null
)

-- commit_message --
-- One message or none.
, appended as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, usage, cost_micros, takeover, created_at, stamp, turn_seq, attempt, client_key, prefix
    )
    select
        moved.id, :m_seq::integer, moved.version, moved.epoch, :m_role, :m_ending, :m_visibility, :format,
        :m_parts::json, octet_length(:m_parts::json::text), :m_model, :m_effort, :m_web, :m_plan_mode, :m_author,
        :m_usage::json, :m_cost, :m_takeover::json,
        statement_timestamp(), :history_stamp, :m_turn_seq, :m_attempt, :m_key, :m_prefix
    from moved
    where :m_seq::integer is not null
)

-- commit_messages --
-- Any number of messages.
, appended as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, usage, cost_micros, takeover, created_at, stamp, turn_seq, attempt, client_key, prefix
    )
    select
        moved.id, m.seq, moved.version, moved.epoch, m.role, m.ending, m.visibility, :format,
        m.parts, octet_length(m.parts::text), m.model, m.effort, m.web, m.plan_mode, m.author_id, m.usage, m.cost_micros,
        m.takeover, statement_timestamp(), :history_stamp, m.turn_seq, m.attempt, m.client_key, m.prefix
    from moved, unnest(
        :seqs::integer[], :roles::text[], :endings::text[], :visibilities::text[], :parts::json[],
        :models::text[], :efforts::text[], :webs::boolean[], :plan_modes::boolean[],
        :authors::uuid[], :usages::json[], :costs::bigint[],
        :takeovers::json[], :turn_seqs::integer[], :attempts::integer[], :message_keys::text[],
        :prefixes::text[]
    ) as m (
        seq, role, ending, visibility, parts, model, effort, web, plan_mode, author_id, usage, cost_micros, takeover,
        turn_seq, attempt, client_key, prefix
    )
)

-- commit_rest --
-- The rarer changes: an edit or restore hides and copies messages, and the queue moves. The chat is
-- named by its parameter, which leaves out the partitions of other chats before the statement begins.
, hidden as (
    update messages set removed_revision = moved.version, removed_stamp = :history_stamp
    from moved
    where messages.chat_id = :chat_id and messages.seq between :hidden_from and :last_seq_before
        and messages.removed_revision is null
), copied as (
    -- Copies cost nothing: the originals keep what was billed. They have numbers of their own, and so
    -- have the turns that begin among them. The originals keep what led a client to them.
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, copied_from, takeover, stamp, turn_seq, attempt, prefix
    )
    select
        moved.id, m.number, moved.version, moved.epoch, m.role,
        m.ending, m.visibility, m.format, m.parts, m.bytes, m.model, m.effort, m.web, m.plan_mode, m.author_id,
        coalesce(m.copied_from, m.seq), m.takeover, :history_stamp,
        coalesce(max(m.number) filter (where m.role = 'user') over (order by m.number), m.turn_seq),
        m.attempt, m.prefix
    from moved
    cross join lateral (
        select original.*, :last_seq_before + row_number() over (order by original.seq) as number
        from messages as original
        where original.chat_id = :chat_id and original.seq > :shared_seq
            and original.revision <= :past_version and original.removed_revision > :past_version
    ) as m
), queued as (
    insert into queued_messages (
        chat_id, id, position, urgent, revision, format, parts, bytes, head, model, effort, web, plan_mode, author_id,
        client_key
    )
    select
        moved.id, q.id, q.position, q.urgent, moved.version, :q_format, q.parts, q.bytes, q.head,
        q.model, q.effort, q.web, q.plan_mode, q.author_id, q.client_key
    from moved, unnest(
        :q_ids::bigint[], :q_positions::integer[], :q_urgent::boolean[], :q_parts::json[],
        :q_bytes::integer[], :q_heads::json[], :q_models::text[], :q_efforts::text[], :q_webs::boolean[],
        :q_plan_modes::boolean[],
        :q_authors::uuid[], :q_keys::text[]
    ) as q (id, position, urgent, parts, bytes, head, model, effort, web, plan_mode, author_id, client_key)
), gone as (
    update queued_messages as q
    set removed_revision = moved.version, fate = l.fate, promoted_seq = l.seq
    from moved, unnest(:left_ids::bigint[], :left_fates::text[], :left_seqs::integer[]) as l (id, fate, seq)
    where q.chat_id = :chat_id and q.id = l.id and q.removed_revision is null
), shifted as (
    update queued_messages as q
    set position = s.position, urgent = s.urgent
    from moved, unnest(:moved_ids::bigint[], :moved_positions::integer[], :moved_urgent::boolean[]) as s (id, position, urgent)
    where q.chat_id = :chat_id and q.id = s.id and q.removed_revision is null
)

-- commit_promoted --
-- A message leaves the queue for history inside the database: a decision does not know its words.
, promoted as (
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes, model, effort, web, plan_mode,
        author_id, created_at, stamp, turn_seq, queued_id, client_key
    )
    select
        moved.id, :p_seq, moved.version, moved.epoch, 'user', 'complete', 'both', q.format, q.parts,
        coalesce(q.bytes, octet_length(q.parts::text)), q.model, q.effort, q.web, q.plan_mode, q.author_id,
        statement_timestamp(), :history_stamp, :p_seq, q.id, q.client_key
    from moved
    inner join queued_messages as q on q.chat_id = :chat_id and q.id = :p_queued_id
    returning format, parts
)

-- commit_end --
select id, epoch, statement_timestamp() as at, coalesce((select n from settings_generation), 0) as generation
from moved

-- commit_full_end --
-- The same, and what was promoted, for the runner and for readers.
select
    moved.id, moved.epoch, statement_timestamp() as at, promoted.format, promoted.parts,
    coalesce((select n from settings_generation), 0) as generation
from moved
left join promoted on true

-- keep_receipt --
-- Of a request that changed nothing. It is ordered before any commit that comes at the same time.
insert into receipts (chat_id, client_key, digest, version, turn_seq, seq, queued_id)
select id, :client_key, :digest, version, :answer_turn_seq, :answer_seq, :answer_queued_id
from chats where id = :chat_id and version = :expected_version and stamp = :expected_stamp
on conflict do nothing
returning chat_id
