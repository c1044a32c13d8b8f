-- Live parts are filed under the stamp of their history
-- depends: 0014-lost-workers

-- migrate: apply

-- history_stamp: of the history that the parts go on from (chats.history_stamp). Numbers come again
-- after lost commits; with the stamp in the key the parts of a lost history are never read for the
-- one in its place. 0 in rows of an older version: not known.
-- A constant default: no row is rewritten. The key is built anew over what was said within minutes.
-- Older versions name their columns and no key, so they go on writing.
alter table live_parts add column history_stamp bigint not null default 0;

alter table live_parts drop constraint live_parts_pkey;

alter table live_parts
    add primary key (chat_id, history_version, attempt, history_stamp, seq, slot);

-- migrate: rollback

truncate live_parts;

alter table live_parts drop constraint live_parts_pkey;

alter table live_parts drop column history_stamp;

alter table live_parts add primary key (chat_id, history_version, attempt, seq, slot);
