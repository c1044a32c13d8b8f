-- The bytes that a chat has stored, for the quota of its owner
-- depends: 0012-history-stamps

-- migrate: apply

-- bytes: of the parts of all messages that were written since this column is there. The sum over an
-- owner's chats is what the quota compares (docs/architecture/limits.md). A constant default:
-- no row is rewritten, and the lock is held for a moment only.
alter table chats add column bytes bigint not null default 0;

-- migrate: rollback

alter table chats drop column bytes;
