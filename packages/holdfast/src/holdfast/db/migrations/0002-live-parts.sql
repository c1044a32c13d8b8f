-- What models are saying right now, on the bus
-- depends: 0001-ground

-- migrate: apply

-- Three slots of time, written in turn: the slot after the current one is emptied whole, so that
-- expiry costs no delete, no dead row and no vacuum. See ADR 0012.
create table live_parts (
    slot smallint not null,
    chat_id uuid not null,
    history_version bigint not null,
    attempt integer not null,
    seq integer not null,
    payload bytea not null,
    primary key (chat_id, history_version, attempt, seq, slot)
) partition by list (slot);

-- Read as often as written; compressing would only cost.
alter table live_parts alter column payload set storage external;

-- Unlogged: worthless after a minute, and gone after a crash of the database. No foreign key to
-- chats for the same reason. Rows are never updated or deleted, so there is nothing to vacuum.
create unlogged table live_parts_0 partition of live_parts for values in (0)
with (autovacuum_enabled = false);

create unlogged table live_parts_1 partition of live_parts for values in (1)
with (autovacuum_enabled = false);

create unlogged table live_parts_2 partition of live_parts for values in (2)
with (autovacuum_enabled = false);

-- migrate: rollback

drop table live_parts;
