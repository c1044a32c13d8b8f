-- Lists of chats, and what of a chat is only about lists. None of it changes a version (L73).

-- list_begin --
-- Each condition of the rule is a branch that follows an index of its own and stops at the limit.
with visible as (

-- list_owner --
(
    select c.id, c.touched_at
    from chats as c
    where c.owner_id = :actor_id and c.org_id = :org_id
        and (:pinned::boolean is null or (c.pinned_at is not null) = :pinned)

-- list_shared --
(
    select c.id, c.touched_at
    from chat_shares as s
    inner join chats as c on c.id = s.chat_id
    where s.user_id = :actor_id and c.org_id = :org_id and :pinned::boolean is not true

-- list_org_admin --
-- By way of the owners: an index by organisation would be one more to write in every turn.
(
    select c.id, c.touched_at
    from users as u
    cross join lateral (
        select c.* from chats as c
        where c.owner_id = u.id
        order by c.touched_at desc, c.id desc
    ) as c
    where u.org_id = :org_id and :actor_is_admin::boolean and :pinned::boolean is not true

-- list_wanted --
        and (:statuses::text[] is null or c.status = any(:statuses))
        and (:archived::boolean is null or (c.archived_at is not null) = :archived)
        and (:label::text is null or c.labels @> array[:label])
        and (:metadata::jsonb is null or c.metadata @> :metadata)
        and (:title_has::text is null or strpos(lower(c.title), lower(:title_has)) > 0)

-- list_after --
        and (c.touched_at, c.id) < (:after_at, :after_id::uuid)

-- list_until --
        and (c.touched_at, c.id) >= (:until_at, :until_id::uuid)

-- list_limit --
    order by c.touched_at desc, c.id desc
    limit :limit
)

-- list_or --
union

-- list_entries --
)
select
    c.id, c.org_id, c.owner_id, c.title, c.title_source, c.turn_label, c.summary, c.status,
    c.archived_at is not null as archived,
    c.pinned_at is not null and c.owner_id = :actor_id as pinned,
    c.labels, c.metadata, c.version, c.history_version, c.listed, c.last_seq, c.queue_length,
    c.touched_at, c.created_at, c.awaiting ->> 'kind' as needs,
    coalesce(r.seq, 0) as read_seq
from visible
inner join chats as c on c.id = visible.id
left join read_cursors as r on r.chat_id = c.id and r.user_id = :actor_id
order by c.touched_at desc, c.id desc
limit :limit

-- searched_until_begin --
-- The last of the actor's own chats that a search looks at; its place alone, from the index.
select c.touched_at, c.id
from chats as c
where c.owner_id = :actor_id

-- searched_until_end --
order by c.touched_at desc, c.id desc
offset :looks_max
limit 1

-- find_entry_begin --
with visible as (
    select c.id, c.touched_at
    from chats as c
    where c.id = :chat_id and c.org_id = :org_id

-- entry_end --
)
select
    c.id, c.org_id, c.owner_id, c.title, c.title_source, c.turn_label, c.summary, c.status,
    c.archived_at is not null as archived,
    c.pinned_at is not null and c.owner_id = :actor_id as pinned,
    c.labels, c.metadata, c.version, c.history_version, c.listed, c.last_seq, c.queue_length,
    c.touched_at, c.created_at, c.awaiting ->> 'kind' as needs,
    coalesce(r.seq, 0) as read_seq
from visible
inner join chats as c on c.id = visible.id
left join read_cursors as r on r.chat_id = c.id and r.user_id = :actor_id

-- update_begin --
-- Whatever is given: the title, the pin, the labels, the metadata. Metadata are merged, and a key with
-- null is removed.
with visible as (
    update chats as c
    set
        title = case when :sets_title then :title else c.title end,
        title_source = case
            when not :sets_title then c.title_source
            when :title::text is not null then 'user'
        end,
        -- Without a title, the server may look for one again.
        title_tries = case when :sets_title then 0 else c.title_tries end,
        pinned_at = case
            when :pinned::boolean is null then c.pinned_at
            when :pinned then coalesce(c.pinned_at, clock_timestamp())
        end,
        labels = coalesce(:labels::text[], c.labels),
        metadata = case
            when :metadata::jsonb is null then c.metadata
            else jsonb_strip_nulls(case when :clears_metadata then '{}' else c.metadata end || :metadata)
        end,
        listed = c.listed + 1, changed_in = pg_current_xact_id()::text::bigint
    where c.id = :chat_id and c.org_id = :org_id
        and (:expected::integer[] is null or c.listed = any(:expected))
        and (
            :pinned is not true or c.pinned_at is not null
            or (
                select count(*) from chats as other
                where other.owner_id = :actor_id and other.pinned_at is not null
            ) < :pins_max
        )
        and (
            :metadata::jsonb is null or (
                select count(*) from jsonb_object_keys(
                    jsonb_strip_nulls(
                        case when :clears_metadata then '{}' else c.metadata end || :metadata::jsonb
                    )
                )
            ) <= :pairs_max
        )

-- changed_entry_end --
    returning c.*
)
select
    c.id, c.org_id, c.owner_id, c.title, c.title_source, c.turn_label, c.summary, c.status,
    c.archived_at is not null as archived,
    c.pinned_at is not null and c.owner_id = :actor_id as pinned,
    c.labels, c.metadata, c.version, c.history_version, c.listed, c.last_seq, c.queue_length,
    c.touched_at, c.created_at, c.awaiting ->> 'kind' as needs,
    coalesce(r.seq, 0) as read_seq
from visible as c
left join read_cursors as r on r.chat_id = c.id and r.user_id = :actor_id

-- mark_read_begin --
with marked as (
    insert into read_cursors as r (chat_id, user_id, seq)
    select c.id, :actor_id, least(:seq, c.last_seq)
    from chats as c
    where c.id = :chat_id and c.org_id = :org_id

-- mark_read_end --
    on conflict (chat_id, user_id) do update set seq = greatest(r.seq, excluded.seq)
    returning chat_id, seq
), told as (
    insert into list_changes (user_id, chat_id)
    select :actor_id, marked.chat_id from marked
    on conflict (user_id, chat_id) do update set changed_in = excluded.changed_in
)
select seq from marked

-- share_begin --
with changed as (
    insert into chat_shares (chat_id, user_id, org_id, shared_by)
    select c.id, u.id, c.org_id, :actor_id
    from chats as c
    inner join users as u on u.id = :with_user and u.org_id = c.org_id
    where c.id = :chat_id and c.org_id = :org_id and u.id <> c.owner_id and u.disabled_at is null

-- share_end --
    on conflict do nothing
    returning chat_id
), told as (
    insert into list_changes (user_id, chat_id)
    select :with_user, changed.chat_id from changed
    on conflict (user_id, chat_id) do update set changed_in = excluded.changed_in
)

-- unshare_begin --
with changed as (
    delete from chat_shares as given
    using chats as c
    where given.chat_id = :chat_id and given.user_id = :with_user
        and c.id = given.chat_id and c.org_id = :org_id

-- unshare_end --
    returning given.chat_id
), told as (
    insert into list_changes (user_id, chat_id)
    select :with_user, changed.chat_id from changed
    on conflict (user_id, chat_id) do update set changed_in = excluded.changed_in
)

-- shares_begin --
select u.id, u.name, u.email
from chats as c
inner join chat_shares as given on given.chat_id = c.id
inner join users as u on u.id = given.user_id
where c.id = :chat_id and c.org_id = :org_id

-- shares_end --
order by u.name, u.id
limit 1000

-- watch_now --
-- Everything that committed in a transaction before this one can be seen by now.
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as reached

-- watch_poll --
-- Whose lists changed, each since a transaction of its own; and up to which that can be said.
-- Numbers from the future are those of a dump from another server: not news.
select
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint as reached,
    array(
        select w.user_id
        from unnest(:user_ids::uuid[], :sinces::bigint[]) as w (user_id, since)
        where exists (
            select from chats as c
            where c.owner_id = w.user_id and c.changed_in >= w.since
                and c.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        ) or exists (
            select from list_changes as l
            where l.user_id = w.user_id and l.changed_in >= w.since
                and l.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        ) or exists (
            select from chat_shares as s
            inner join chats as c on c.id = s.chat_id
            where s.user_id = w.user_id and c.changed_in >= w.since
                and c.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        )
    ) as user_ids

-- watch_begin --
-- The same for one user, and each chat as it is now: nothing of it, if it is not theirs to read.
with changed as (
    select c.id
    from chats as c
    where c.owner_id = :actor_id and c.changed_in >= :since
        and c.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    union
    select l.chat_id
    from list_changes as l
    where l.user_id = :actor_id and l.changed_in >= :since
        and l.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    union
    select s.chat_id
    from chat_shares as s
    inner join chats as c on c.id = s.chat_id
    where s.user_id = :actor_id and c.changed_in >= :since
        and c.changed_in < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    limit :limit
), visible as (
    select c.*
    from changed
    inner join chats as c on c.id = changed.id
    where c.org_id = :org_id

-- watch_end --
)
select
    now.reached, changed.id as changed_id, c.id, c.org_id, c.owner_id, c.title, c.title_source,
    c.turn_label, c.summary, c.status, c.archived_at is not null as archived,
    c.pinned_at is not null and c.owner_id = :actor_id as pinned,
    c.labels, c.metadata, c.version, c.history_version, c.listed, c.last_seq, c.queue_length,
    c.touched_at, c.created_at, c.awaiting ->> 'kind' as needs,
    coalesce(r.seq, 0) as read_seq
from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as reached) as now
left join changed on true
left join visible as c on c.id = changed.id
left join read_cursors as r on r.chat_id = c.id and r.user_id = :actor_id
