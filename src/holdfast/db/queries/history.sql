-- Reading history. Every block is one statement.

-- page_of_history --
-- The newest messages before a seq that are in the history as of a version (null: of now).
select
    seq, revision, removed_revision, epoch, role, ending, visibility, format, parts, model, effort,
    author_id, usage, cost_micros, copied_from, created_at
from messages
where chat_id = :chat_id and seq < :before
    and case
        when :as_of::bigint is null then removed_revision is null
        else revision <= :as_of and (removed_revision is null or removed_revision > :as_of)
    end
order by seq desc
limit :limit

-- pages_of_histories --
-- The newest messages of several histories, each as of a version; `place` says whose a row is.
select
    asked.place, m.seq, m.revision, m.removed_revision, m.epoch, m.role, m.ending, m.visibility,
    m.format, m.parts, m.model, m.effort, m.author_id, m.usage, m.cost_micros, m.copied_from,
    m.created_at
from unnest(:chat_ids::uuid[], :as_ofs::bigint[]) with ordinality as asked (chat_id, as_of, place)
cross join lateral (
    select * from messages as m
    where m.chat_id = asked.chat_id and m.revision <= asked.as_of
        and (m.removed_revision is null or m.removed_revision > asked.as_of)
    order by m.seq desc
    limit :limit
) as m
order by asked.place, m.seq

-- changes_since --
-- What was written or hidden after a version and up to another (null: now), oldest first, and the
-- version that this leads to. Revisions never fall along seq, so what is new is the end of the
-- primary key: no index on revisions is needed.
with known as (
    select coalesce(max(seq), 0) as seq
    from (
        select seq from messages
        where chat_id = :chat_id and revision <= :version
        order by seq desc
        limit 1
    ) as last
), written as (
    select m.*
    from known
    cross join lateral (
        select * from messages as m
        where m.chat_id = :chat_id and m.seq > known.seq
            and case
                when :as_of::bigint is null then m.removed_revision is null
                else m.revision <= :as_of
                    and (m.removed_revision is null or m.removed_revision > :as_of)
            end
        order by m.seq
        limit :limit
    ) as m
), hidden as (
    select min(seq) as first_seq
    from messages
    where chat_id = :chat_id and removed_revision > :version and revision <= :version
        and (:as_of::bigint is null or removed_revision <= :as_of)
)
select
    least(c.version, :as_of) as version, c.history_version, hidden.first_seq as hidden_from,
    w.seq, w.revision, w.removed_revision, w.epoch, w.role, w.ending, w.visibility, w.format,
    w.parts, w.model, w.effort, w.author_id, w.usage, w.cost_micros, w.copied_from, w.created_at
from chats as c
cross join hidden
left join written as w on true
where c.id = :chat_id
order by w.seq

-- heads --
select id, version, history_version, status, worker_id, epoch from chats
where id = any(:chat_ids::uuid[])

-- moved --
-- Nearly always nothing: thousands of chats are asked about at a time, and whoever asks would have
-- to look at every row.
select known.id, c.version
from unnest(:chat_ids::uuid[], :versions::bigint[]) as known (id, version)
left join chats as c on c.id = known.id
where c.version is distinct from known.version

-- older_paths --
-- The histories that an edit or a restore left behind: as of which version, and what was hidden.
select removed_revision - 1 as version, min(seq) as first_seq, count(*)::integer as messages
from messages
where chat_id = :chat_id and removed_revision is not null
group by removed_revision
order by removed_revision desc
limit :limit

-- queued_message --
select
    id as queued_id, position, urgent, format, parts, model, effort, author_id
from queued_messages
where chat_id = :chat_id and id = :queued_id

-- database_time --
select clock_timestamp()
