-- A stop pauses the queue: a chat at rest may have messages that wait until a person resumes or clears it
-- depends: 0008-titles

-- migrate: apply

alter table chats add column queue_paused boolean not null default false;

alter table chats drop constraint idle_means_idle;

-- The version before this one keeps the narrower rule by itself. It does not know the column, and may empty a
-- paused queue: that a paused queue has messages is no rule of the table.
alter table chats add constraint idle_means_idle check (
    status <> 'idle'
    or (worker_id is null and (queue_length = 0 or queue_paused) and open_calls = '[]' and not owes_reply
        and not compaction_requested)
) not valid;

alter table chats validate constraint idle_means_idle;

-- migrate: rollback

alter table chats drop constraint idle_means_idle;

alter table chats add constraint idle_means_idle check (
    status <> 'idle'
    or (worker_id is null and queue_length = 0 and open_calls = '[]' and not owes_reply
        and not compaction_requested)
) not valid;

alter table chats drop column queue_paused;
