-- What lists say of a chat beside its title: how its last turn ended, and a summary
-- depends: 0006-compaction

-- migrate: apply

-- turn_label: of the last turn; a commit that moves the chat on takes it away.
-- summary_seq: the last message that the summary knows.
-- title_tries: how often a model was asked for a title; bounded, so that a model that names no chat is
-- not asked for ever.
alter table chats add column turn_label text;
alter table chats add column summary text;
alter table chats add column summary_seq integer;
alter table chats add column title_tries smallint not null default 0;

alter table chats add constraint summary_of_messages
check ((summary is null) = (summary_seq is null)) not valid;
alter table chats validate constraint summary_of_messages;

alter table chats drop constraint title_source_known;
alter table chats add constraint title_source_known
check (title_source in ('user', 'model', 'first_words')) not valid;
alter table chats validate constraint title_source_known;

-- migrate: rollback

alter table chats drop constraint title_source_known;
update chats set title_source = 'model' where title_source = 'first_words';
alter table chats add constraint title_source_known check (title_source in ('user', 'model'));
alter table chats drop column title_tries;
alter table chats drop column summary_seq;
alter table chats drop column summary;
alter table chats drop column turn_label;
