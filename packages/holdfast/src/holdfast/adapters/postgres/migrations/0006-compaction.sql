-- Why a chat is to be compacted, how long its prompt is, and replies since a person last spoke
-- depends: 0005-people

-- migrate: apply

-- Rows that are there have the defaults: `not valid` spares a scan under an exclusive lock.
alter table chats
add column compaction jsonb,
add column prompt_tokens integer,
add column steps integer not null default 0,
add constraint prompt_counts check (prompt_tokens >= 0 and steps >= 0) not valid,
add constraint compaction_has_reason check (
    compaction is null or compaction ->> 'reason' in ('requested', 'threshold', 'overflow')
) not valid;

-- migrate: rollback

alter table chats
drop column compaction,
drop column prompt_tokens,
drop column steps;
