-- How often in a row a chat was taken over from a dead worker
-- depends: 0010-version-stamps

-- migrate: apply

-- takeovers: written only by who acquires: one more if the lease of the worker before had lapsed, 0
-- if no worker had the chat. From the third on the chat is driven by a process of its own.
-- A constant default: no row is rewritten, and the lock is held for a moment only.
alter table chats
    add column takeovers smallint not null default 0;

-- migrate: rollback

alter table chats
    drop column takeovers;
