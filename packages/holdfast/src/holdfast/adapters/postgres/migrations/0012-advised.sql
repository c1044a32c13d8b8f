-- Calls of the advisor since a person last spoke
-- depends: 0011-plan-mode

-- migrate: apply

-- Rows that are there have the default: `not valid` spares a scan under an exclusive lock.
alter table chats
add column advised smallint not null default 0,
add constraint advised_counts check (advised >= 0) not valid;

-- migrate: rollback

alter table chats drop column advised;
