-- The transcript says that a worker was lost
-- depends: 0013-bytes-of-chats

-- migrate: apply

-- lost: workers that were lost since the last message; written by acquiring, null for nearly all.
-- takeover: what the successor of a lost worker found out; null for nearly all.
-- No defaults: no row is rewritten, and the locks are held for a moment only. Older versions name
-- their columns, so they neither read these nor write them.
alter table chats add column lost jsonb;

alter table messages add column takeover json;

-- migrate: rollback

alter table messages drop column takeover;

alter table chats drop column lost;
