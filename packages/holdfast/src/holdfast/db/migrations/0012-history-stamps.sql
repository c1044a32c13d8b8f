-- The stamp of the history beside each message: a reader of lost commits is told to begin anew
-- depends: 0011-takeovers

-- migrate: apply

-- stamp: of the commit that wrote the message. removed_stamp: of the commit that hid it. Together
-- they tell which history a version had. 0 or null in rows of an older version: not known.
-- Constant defaults: no row is rewritten, and the lock is held for a moment only.
alter table messages
    add column stamp bigint not null default 0,
    add column removed_stamp bigint;

-- migrate: rollback

alter table messages
    drop column stamp,
    drop column removed_stamp;
