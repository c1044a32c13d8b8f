-- Whose chats the bare engine works on.

-- bare_organisation --
insert into organisations (id, name) values (:org_id, 'bench') on conflict do nothing

-- bare_user --
insert into users (id, org_id, name) values (:user_id, :org_id, 'u')

-- bare_settle --
vacuum analyze

-- bare_replies --
select count(*) from messages where role = 'assistant'
