-- Limits in bytes: how large messages are, and the beginning of those that wait in a queue
-- depends: 0008-set-aside

-- migrate: apply

-- bytes: the size of `parts`, so that a page can be bounded without reading what it leaves out. Null
-- in rows of an older version.
alter table messages add column bytes integer;

-- head: the beginning of `parts`, null if they are short (domain/heads.py). The facts of a chat hold
-- this, not the whole.
alter table queued_messages
    add column bytes integer,
    add column head json;

update queued_messages
set
    bytes = octet_length(parts::text),
    head = case when octet_length(parts::text) > 600 then json_build_array(
        json_build_object('kind', 'text', 'text', left(coalesce(parts -> 0 ->> 'text', ''), 150))
    ) end
where removed_revision is null;

-- migrate: rollback

alter table messages drop column bytes;

alter table queued_messages
    drop column bytes,
    drop column head;
