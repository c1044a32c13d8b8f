-- Reading history. Every block is one statement.

-- page_of_history --
-- The newest messages before a seq that are in the history as of a version (null: of now): at most
-- :limit, and :bytes_max bytes or one message. `met`: how many there are before the bound in bytes.
select
    m.seq, m.revision, m.removed_revision, m.epoch, m.role, m.ending, m.visibility, m.format,
    m.parts, m.model, m.effort, m.web, m.plan_mode, m.author_id, m.usage, m.cost_micros, m.copied_from, m.created_at,
    m.takeover, m.stamp, m.turn_seq, m.queued_id, m.attempt, m.client_key, m.prefix, m.met
from (
    select
        page.*, count(*) over () as met, row_number() over newest_first as number,
        sum(coalesce(page.bytes, octet_length(page.parts::text))) over newest_first as upto
    from (
        select * from messages
        where chat_id = :chat_id and seq < :before
            and case
                when :as_of::bigint is null then removed_revision is null
                else revision <= :as_of and (removed_revision is null or removed_revision > :as_of)
            end
        order by seq desc
        limit :limit
    ) as page
    window newest_first as (order by page.seq desc)
) as m
where m.number = 1 or m.upto <= :bytes_max
order by m.seq desc

-- page_after --
-- The oldest messages after a seq that are in the history as of a version (null: of now): at most
-- :limit, and :bytes_max bytes or one message.
select
    m.seq, m.revision, m.removed_revision, m.epoch, m.role, m.ending, m.visibility, m.format,
    m.parts, m.model, m.effort, m.web, m.plan_mode, m.author_id, m.usage, m.cost_micros, m.copied_from, m.created_at,
    m.takeover, m.stamp, m.turn_seq, m.queued_id, m.attempt, m.client_key, m.prefix
from (
    select
        page.*, row_number() over oldest_first as number,
        sum(coalesce(page.bytes, octet_length(page.parts::text))) over oldest_first as upto
    from (
        select * from messages
        where chat_id = :chat_id and seq > :after
            and case
                when :as_of::bigint is null then removed_revision is null
                else revision <= :as_of and (removed_revision is null or removed_revision > :as_of)
            end
        order by seq
        limit :limit
    ) as page
    window oldest_first as (order by page.seq)
) as m
where m.number = 1 or m.upto <= :bytes_max
order by m.seq

-- pages_of_histories --
-- The newest messages of several histories, each as of a version; `place` says whose a row is. The
-- bound in bytes is of each.
select
    asked.place, m.seq, m.revision, m.removed_revision, m.epoch, m.role, m.ending, m.visibility,
    m.format, m.parts, m.model, m.effort, m.web, m.plan_mode, m.author_id, m.usage, m.cost_micros, m.copied_from,
    m.created_at, m.takeover, m.stamp, m.turn_seq, m.queued_id, m.attempt, m.client_key, m.prefix, m.met
from unnest(:chat_ids::uuid[], :as_ofs::bigint[]) with ordinality as asked (chat_id, as_of, place)
cross join lateral (
    select
        page.*, count(*) over () as met, row_number() over newest_first as number,
        sum(coalesce(page.bytes, octet_length(page.parts::text))) over newest_first as upto
    from (
        select * from messages as m
        where m.chat_id = asked.chat_id and m.revision <= asked.as_of
            and (m.removed_revision is null or m.removed_revision > asked.as_of)
        order by m.seq desc
        limit :limit
    ) as page
    window newest_first as (order by page.seq desc)
) as m
where m.number = 1 or m.upto <= :bytes_max
order by asked.place, m.seq

-- prompt_bytes --
-- Of the history as of a version, from its newest boundary on. Rows of an older version count as
-- they are stored, compressed: nothing is unpacked to be measured.
with boundary as (
    select coalesce(max(seq), 0) as seq
    from messages
    where chat_id = :chat_id and role = 'boundary' and revision <= :as_of
        and (removed_revision is null or removed_revision > :as_of)
)
select coalesce(sum(coalesce(m.bytes, pg_column_size(m.parts))), 0)::bigint as bytes
from boundary
inner join messages as m on m.chat_id = :chat_id and m.seq >= boundary.seq
where m.revision <= :as_of and (m.removed_revision is null or m.removed_revision > :as_of)

-- changes_since --
-- What was written or hidden after a version and up to another (null: now), oldest first, and the
-- version that this leads to: at most :limit messages, and :bytes_max bytes or one message. Revisions
-- never fall along seq, so what is new is the end of the primary key: no index on revisions is
-- needed. `history_stamp`: of the commit that made the history as it was at the first version, which
-- wrote the last message up to there or hid some; 0 if an older version of the software did.
with known as (
    select
        coalesce(max(seq), 0) as seq, coalesce(max(revision), 0) as revision,
        coalesce(max(stamp), 0) as stamp
    from (
        select seq, revision, stamp from messages
        where chat_id = :chat_id and revision <= :version
        order by seq desc
        limit 1
    ) as last
), cut as (
    select coalesce(max(removed_revision), 0) as revision, coalesce(max(removed_stamp), 0) as stamp
    from (
        select removed_revision, removed_stamp from messages
        where chat_id = :chat_id and removed_revision <= :version
        order by removed_revision desc
        limit 1
    ) as last
), following as (
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
), written as (
    select
        following.*, count(*) over () as met, row_number() over oldest_first as number,
        sum(coalesce(following.bytes, octet_length(following.parts::text))) over oldest_first as upto
    from following
    window oldest_first as (order by following.seq)
), hidden as (
    select min(seq) as first_seq
    from messages
    where chat_id = :chat_id and removed_revision > :version and revision <= :version
        and (:as_of::bigint is null or removed_revision <= :as_of)
)
select
    least(c.version, :as_of) as version, c.history_version, hidden.first_seq as hidden_from,
    w.seq, w.revision, w.removed_revision, w.epoch, w.role, w.ending, w.visibility, w.format,
    w.parts, w.model, w.effort, w.web, w.plan_mode, w.author_id, w.usage, w.cost_micros, w.copied_from, w.created_at,
    w.takeover, w.stamp, w.turn_seq, w.queued_id, w.attempt, w.client_key, w.prefix, w.met,
    case when cut.revision > known.revision then cut.stamp else known.stamp end as history_stamp
from chats as c
cross join known
cross join cut
cross join hidden
left join written as w on w.number = 1 or w.upto <= :bytes_max
where c.id = :chat_id
order by w.seq

-- heads --
select id, version, history_version, status, worker_id, epoch from chats
where id = any(:chat_ids::uuid[])

-- moved --
-- Nearly always nothing: thousands of chats are asked about at a time, and the process that asks
-- would have to look at every row.
select known.id, c.version
from unnest(:chat_ids::uuid[], :versions::bigint[], :stamps::bigint[]) as known (id, version, stamp)
left join chats as c on c.id = known.id
where c.version is distinct from known.version
    or (c.stamp <> known.stamp and c.stamp <> 0 and known.stamp <> 0)

-- older_paths --
-- The versions that edits and restores left behind: as of which version, and what was hidden. A copy
-- counts as its original: what the present history or another version also holds to its last message
-- is no version of its own, so that going back and forth adds none. Nothing before the first hidden
-- message can be a copy of one.
with held as (
    select
        seq, removed_revision, coalesce(copied_from, seq) as origin,
        row_number() over (partition by removed_revision order by seq desc) = 1 as is_last
    from messages
    where chat_id = :chat_id and seq >= (
        select min(seq) from messages where chat_id = :chat_id and removed_revision is not null
    )
), holder as (
    -- Of each message: the present history, or the version that goes on after it, or the newest.
    select distinct on (origin) origin, removed_revision
    from held
    order by origin, removed_revision is null desc, is_last, removed_revision desc
), hidden as (
    select
        removed_revision, min(seq) as first_seq, count(*)::integer as messages,
        max(origin) filter (where is_last) as last_origin
    from held
    where removed_revision is not null
    group by removed_revision
)
select hidden.removed_revision - 1 as version, hidden.first_seq, hidden.messages
from hidden
inner join holder
    on holder.origin = hidden.last_origin and holder.removed_revision = hidden.removed_revision
where :before::bigint is null or hidden.removed_revision - 1 < :before
order by hidden.removed_revision desc
limit :limit

-- queued_message --
select format, parts, model, effort, web, plan_mode, author_id, client_key
from queued_messages
where chat_id = :chat_id and id = :queued_id

-- database_time --
select clock_timestamp()

-- forget_prefixes --
-- Of the next rows by digest: note those that no message names, clear the note of those that are named,
-- and delete those that had the note for :unnamed_for. A row that another transaction changes meanwhile
-- is looked at again when that has ended: `unnamed_since` is compared once more.
with page as (
    select
        p.digest, p.unnamed_since,
        exists (select from messages as m where m.prefix = p.digest) as is_named
    from (
        select digest, unnamed_since from prompt_prefixes
        where digest > :after
        order by digest
        limit :limit
    ) as p
), noted as (
    update prompt_prefixes as p
    set unnamed_since = case when page.is_named then null else clock_timestamp() end
    from page
    where p.digest = page.digest and page.is_named = (p.unnamed_since is not null)
), gone as (
    delete from prompt_prefixes as p
    using page
    where p.digest = page.digest and not page.is_named
        and p.unnamed_since < clock_timestamp() - :unnamed_for::interval
    returning 1
)
select (select max(digest) from page) as last, (select count(*)::integer from gone) as gone

-- prompt_prefix --
select content from prompt_prefixes where digest = :digest
