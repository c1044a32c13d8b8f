-- Titles, turn labels and summaries that the server finds. None of it changes a version (L73).

-- chat_texts --
-- What is known of a chat's texts, for a decision which of them to make.
select title_source, title_tries, summary_seq, version, stamp from chats where id = :chat_id

-- claim_title --
-- Counts a try, and says nothing if no title is wanted.
update chats set title_tries = title_tries + 1
where id = :chat_id and title_source is distinct from 'user' and title_source is distinct from 'model'
    and title_tries < :tries_max
returning id

-- set_title --
-- Compare and set: a title that a user gave meanwhile stays, and a title of a message that an edit has
-- hidden is not written.
update chats set
    title = :title, title_source = :source, listed = listed + 1,
    changed_in = pg_current_xact_id()::text::bigint
where id = :chat_id and title_source is distinct from 'user'
    and exists (
        select from messages as m
        where m.chat_id = :chat_id and m.seq = :made_of and m.removed_revision is null
    )
returning owner_id

-- set_turn_label --
-- Only as long as the chat is as the turn left it: whatever was committed since, the label is late.
update chats set turn_label = :label, changed_in = pg_current_xact_id()::text::bigint
where id = :chat_id and version = :version and stamp = :stamp and status = 'idle'
returning owner_id

-- set_summary --
update chats set
    summary = :summary, summary_seq = :seq, changed_in = pg_current_xact_id()::text::bigint
where id = :chat_id and history_version = :history_version and history_stamp = :history_stamp
returning owner_id
