-- Since when the chats and workspaces of a disabled user are being stopped; null: all of them are
-- depends: 0012-advised

-- migrate: apply

alter table users add column stopping_since timestamptz;

-- A handful of rows for a minute after a user was disabled, else none.
create index users_stopping on users (stopping_since) where stopping_since is not null;

-- migrate: rollback

drop index users_stopping;
alter table users drop column stopping_since;
