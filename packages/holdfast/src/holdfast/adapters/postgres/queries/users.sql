-- Accounts. A change begins here, is filtered by the policy, and ends in the audit log.

-- found_org_begin --
with first as (
    insert into founding (only_one)
    select true where not exists (select from users)
    on conflict do nothing
    returning only_one
), org as (
    insert into organisations (id, name) select :org_id, :org_name from first returning id
), changed as (
    insert into users (id, org_id, name, email, role, password_hash)
    select :user_id, org.id, :name, :email, :role, :password_hash from org
    returning id, org_id, name, email, role, disabled_at, created_at, version, password_hash is not null as has_password
)

-- create_user_begin --
-- With a key: only if it is new. A repeat finds the receipt of the first.
with receipt as (
    insert into account_receipts (actor_id, client_key, digest, made_id)
    select :audit_actor, :client_key, :digest, :user_id
    where :client_key::text is not null
    on conflict do nothing
    returning made_id
), changed as (
    insert into users (id, org_id, name, email, role, password_hash)
    select :user_id, :org_id, :name, :email, :role, :password_hash
    where :client_key is null or exists (select from receipt)
    on conflict do nothing
    returning id, org_id, name, email, role, disabled_at, created_at, version, password_hash is not null as has_password
)

-- find_user_begin --
select
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
    u.password_hash is not null as has_password, u.password_hash
from users as u
where u.id = :user_id and u.org_id = :org_id

-- page_of_users_begin --
select
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
    u.password_hash is not null as has_password
from users as u
where u.org_id = :org_id
    and (:after_id::uuid is null or (u.name, u.id) > (:after_name::text, :after_id))
    and not exists (
        select from unnest(:words::text[]) as wanted (word)
        where strpos(lower(concat_ws(' ', u.name, u.email)), lower(wanted.word)) = 0
    )

-- page_of_users_end --
order by u.name, u.id
limit :limit

-- set_password_begin --
with changed as (
    update users as u set password_hash = :password_hash, version = u.version + 1
    where u.id = :user_id and u.org_id = :org_id
        and (:expected::integer[] is null or u.version = any(:expected))

-- set_password_end --
    returning u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version, true as has_password
), ended as (
    update sign_ins as s set revoked_at = clock_timestamp()
    from changed
    where s.user_id = changed.id and s.id is distinct from :keep and s.revoked_at is null
), revoked as (
    -- By an admin: a key may be in the hands that the password was in.
    update api_keys as k set revoked_at = clock_timestamp()
    from changed
    where :revoke_keys and k.org_id = changed.org_id and k.user_id = changed.id
        and k.revoked_at is null
    returning k.id
), unlinked as (
    delete from account_links as l using changed where l.user_id = changed.id
)

-- update_user_begin --
-- The admins are locked in the order of their ids, so that two who take each other's role away take
-- turns: the second finds only one left. Null: stays as it is.
with admins as (
    select id from users
    where org_id = :org_id and role = 'admin' and disabled_at is null
    order by id
    for update
), changed as (
    update users as u
    set
        role = coalesce(:role::text, u.role),
        disabled_at = case
            when :disabled::boolean is null then u.disabled_at
            when :disabled then coalesce(u.disabled_at, clock_timestamp())
        end,
        stopping_since = case
            when :disabled::boolean is null then u.stopping_since
            when :disabled then clock_timestamp()
        end,
        version = u.version + 1
    where u.id = :user_id and u.org_id = :org_id
        and (:expected::integer[] is null or u.version = any(:expected))
        and (
            (
                coalesce(:role, u.role) = 'admin'
                and not coalesce(:disabled, u.disabled_at is not null)
            )
            or exists (select from admins where admins.id <> :user_id)
        )

-- changed_user_end --
    returning
        u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
        u.password_hash is not null as has_password
), ended as (
    -- Of a disabled user, here and below. They stay ended when the user is enabled again.
    update sign_ins as s set revoked_at = clock_timestamp()
    from changed
    where changed.disabled_at is not null and s.user_id = changed.id and s.revoked_at is null
), revoked as (
    update api_keys as k set revoked_at = clock_timestamp()
    from changed
    where :disabled::boolean and changed.disabled_at is not null and :revoke_keys
        and k.org_id = changed.org_id and k.user_id = changed.id and k.revoked_at is null
    returning k.id
), unlinked as (
    delete from account_links as l using changed
    where changed.disabled_at is not null and l.user_id = changed.id
)

-- changed_user_columns --
select changed.*, (select count(*) from revoked) as revoked_keys from changed

-- account_receipt --
select digest, made_id from account_receipts where actor_id = :actor_id and client_key = :client_key
