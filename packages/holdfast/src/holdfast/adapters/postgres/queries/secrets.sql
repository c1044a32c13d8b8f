-- Data keys, and the columns that are sealed with them.

-- register_master --
-- The first server that has a master key decides which one it is.
with added as (
    insert into master_keys (id, is_current)
    select :id, true
    where not exists (select from master_keys where is_current)
    on conflict do nothing
    returning id
)
select id from added
union all
select id from master_keys where is_current
limit 1

-- current_master --
select id from master_keys where is_current

-- switch_master --
with demoted as (
    update master_keys set is_current = false where is_current and id <> :id
    returning id
)
insert into master_keys (id, is_current)
select :id, true from demoted
on conflict (id) do update set is_current = true

-- forget_masters --
delete from master_keys as m
where not m.is_current
    and not exists (select from secret_keys as k where k.master_id = m.id)

-- secret_key_for --
-- Counted where it is read: a key seals only so many texts.
update secret_keys set sealed = sealed + :seals
where org_id = :org_id and is_current
returning id, org_id, wrapped, is_current, sealed

-- find_secret_key --
select id, org_id, wrapped, is_current, sealed from secret_keys where id = :id

-- list_secret_keys --
select id, org_id, wrapped, is_current, sealed from secret_keys
where id > :after
order by id
limit :limit

-- add_secret_key_begin --
-- Only if the master key that wraps it is still the current one, and if no other key has become the
-- current one meanwhile.
with master as (
    select id from master_keys where id = :master_id and is_current
    for share
), retired as (
    update secret_keys set is_current = false
    where org_id = :org_id and is_current and id = :replaces::uuid
        and exists (select from master)
    returning id
), changed as (
    insert into secret_keys (id, org_id, master_id, wrapped)
    select :id, :org_id, master.id, :wrapped
    from master
    where :replaces::uuid is null or exists (select from retired)
    on conflict (org_id) where is_current do nothing
    returning id
)

-- rewrap_secret_key --
update secret_keys set wrapped = :wrapped, master_id = :master_id
where id = :id and wrapped = :was
returning id

-- remove_secret_key_begin --
-- The foreign keys refuse it as long as a secret needs it.
with changed as (
    delete from secret_keys where id = :id and not is_current
    returning id
)

-- sealed_columns --
select c.relname::text as table_name, a.attname::text as column_name
from pg_attribute as a
inner join pg_class as c on c.oid = a.attrelid
inner join pg_type as t on t.oid = a.atttypid
where t.typname = 'sealed' and t.typtype = 'd' and c.relkind in ('r', 'p')
    and c.relnamespace = current_schema()::regnamespace and not a.attisdropped
order by 1, 2

-- A block of each kind for every sealed column --------------------------------------------------

-- sealed_providers_credential --
select p.id, p.org_id, p.credential::bytea as blob, k.is_current
from providers as p
inner join secret_keys as k on k.org_id = p.org_id and k.id = p.credential_key_id
where p.id > :after and (not :outdated::boolean or not k.is_current)
order by p.id
limit :limit

-- reseal_providers_credential --
-- Compared with what was read: a secret that was replaced meanwhile stays.
update providers as p
set credential = n.new_blob, credential_key_id = n.key_id
from unnest(:ids::uuid[], :old::bytea[], :new::bytea[], :keys::uuid[])
    as n (id, old_blob, new_blob, key_id)
where p.id = n.id and p.credential::bytea = n.old_blob
returning p.id

-- sealed_user_keys_credential --
select u.id, u.org_id, u.credential::bytea as blob, k.is_current
from user_keys as u
inner join secret_keys as k on k.org_id = u.org_id and k.id = u.credential_key_id
where u.id > :after and (not :outdated::boolean or not k.is_current)
order by u.id
limit :limit

-- reseal_user_keys_credential --
update user_keys as u
set credential = n.new_blob, credential_key_id = n.key_id
from unnest(:ids::uuid[], :old::bytea[], :new::bytea[], :keys::uuid[])
    as n (id, old_blob, new_blob, key_id)
where u.id = n.id and u.credential::bytea = n.old_blob
returning u.id
