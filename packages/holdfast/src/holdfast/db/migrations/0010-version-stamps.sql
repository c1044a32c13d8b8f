-- A stamp beside the version: versions that come again after lost commits are not the same history
-- depends: 0009-bytes

-- migrate: apply

-- stamp: a random number of the commit that made `version`; compared by every commit.
-- history_stamp: of the commit that made `history_version`.
-- Constant defaults: no row is rewritten, and the lock is held for a moment only.
alter table chats
    add column stamp bigint not null default 0,
    add column history_stamp bigint not null default 0;

-- migrate: rollback

alter table chats
    drop column stamp,
    drop column history_stamp;
