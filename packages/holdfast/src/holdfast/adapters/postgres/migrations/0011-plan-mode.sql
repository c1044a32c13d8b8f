-- Plan mode: a turn that may read and ask, and changes nothing but its plan
-- depends: 0010-paused-queue

-- migrate: apply

-- The version before this one does not know the mode. A chat that is in it, or has a message waiting that asks for
-- it, says so in `reads`, and is left to newer replicas.
alter table chats add column plan_mode boolean not null default false;
alter table messages add column plan_mode boolean;
alter table queued_messages add column plan_mode boolean;

-- migrate: rollback

-- The older version may drive them: what the mode forbade is allowed again.
update chats set reads = 1 where reads = 2;
alter table queued_messages drop column plan_mode;
alter table messages drop column plan_mode;
alter table chats drop column plan_mode;
