-- Tools that a chat declares, and what watching a list needs
-- depends: 0003-identity

-- migrate: apply

-- tools is json, like parts: a schema goes to the model as its author wrote it.
-- changed_in: the transaction in which what a list shows of the chat last changed. Written with a
-- status, which is indexed already, so that it makes no further commit leave its page.
alter table chats
    add column tools json not null default '[]',
    add column changed_in bigint not null default 0;

alter table chats alter column changed_in set default (pg_current_xact_id()::text::bigint);

create index chats_changed on chats (owner_id, changed_in);

-- What changed in one user's list and is no fact of the chat: a share given or taken back, a read
-- mark moved. The row stays when the share goes: it is how somebody who was away hears of it.
create table list_changes (
    user_id uuid not null references users (id),
    chat_id uuid not null references chats (id) on delete cascade,
    changed_in bigint not null default (pg_current_xact_id()::text::bigint),
    primary key (user_id, chat_id)
) with (fillfactor = 80);

create index list_changes_since on list_changes (user_id, changed_in);

create index list_changes_of_chat on list_changes (chat_id);

-- migrate: rollback

drop table list_changes;

drop index chats_changed;

alter table chats
    drop column tools,
    drop column changed_in;
