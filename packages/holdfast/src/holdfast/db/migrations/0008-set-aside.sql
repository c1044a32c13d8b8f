-- One unreadable row harms one chat: the level of reader that a chat needs, and chats set aside
-- depends: 0007-workspaces-of-owner

-- migrate: apply

-- reads: the lowest reader level that knows every word of the chat (domain/format.py, READS).
-- set_aside_by: the reader level of the version that could not read the chat, and when and why.
-- Constant defaults: no row is rewritten, and the lock is held for a moment only.
alter table chats
    add column reads smallint not null default 1,
    add column set_aside_by smallint,
    add column set_aside_at timestamptz,
    add column set_aside_why text;

-- migrate: rollback

alter table chats
    drop column reads,
    drop column set_aside_by,
    drop column set_aside_at,
    drop column set_aside_why;
