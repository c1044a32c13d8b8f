-- Keys of users for the providers that admins added. Each change counts the catalogue of its
-- organisation: `count_catalogue_begin` goes before it.

-- allowed_user_keys --
select k.provider_id, k.user_id, k.credential::bytea as credential
from user_keys as k
inner join providers as p on p.org_id = k.org_id and p.id = k.provider_id
where k.org_id = :org_id and p.user_keys

-- providers_with_user_keys --
-- Of one user: the providers that allow keys, and those that have one.
select p.id, p.name, p.record, p.user_keys, k.set_at
from providers as p
left join user_keys as k on k.provider_id = p.id and k.user_id = :user_id
where p.org_id = :org_id and (p.user_keys or k.id is not null)
order by p.name, p.id

-- set_user_key_begin --
, changed as (
    insert into user_keys as k (
        id, org_id, user_id, provider_id, credential, credential_key_id
    )
    select :id, :org_id, :user_id, p.id, :credential::bytea, :key_id::uuid
    from counted
    inner join providers as p on p.org_id = :org_id and p.id = :provider_id and p.user_keys
    on conflict (provider_id, user_id) do update
    set credential = excluded.credential, credential_key_id = excluded.credential_key_id,
        set_at = clock_timestamp()
    returning k.id
)

-- remove_user_key_begin --
, changed as (
    delete from user_keys as k using counted
    where k.org_id = :org_id and k.provider_id = :provider_id and k.user_id = :user_id
    returning k.id
)
