-- What admins see and do about the users of an organisation.

-- page_of_people_begin --
select
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
    u.password_hash is not null as has_password,
    greatest(
        u.last_seen_at,
        (select max(s.seen_at) from sign_ins as s where s.user_id = u.id),
        (select max(k.last_used_at) from api_keys as k where k.org_id = u.org_id and k.user_id = u.id)
    ) as last_seen_at,
    (
        select count(*) from sign_ins as s
        where s.user_id = u.id and s.revoked_at is null and s.expires_at > clock_timestamp()
    ) as sessions,
    (
        select count(*) from api_keys as k
        where k.org_id = u.org_id and k.user_id = u.id and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > clock_timestamp())
    ) as api_keys,
    (
        select l.expires_at from account_links as l
        where l.user_id = u.id and l.expires_at > clock_timestamp()
    ) as link_expires_at
from users as u
where u.org_id = :org_id
    and (:after_id::uuid is null or (u.name, u.id) > (:after_name::text, :after_id))
    and not exists (
        select from unnest(:words::text[]) as wanted (word)
        where strpos(lower(concat_ws(' ', u.name, u.email)), lower(wanted.word)) = 0
    )

-- page_of_people_end --
order by u.name, u.id
limit :limit

-- names_of_users --
select id, name from users where org_id = :org_id and id = any(:user_ids::uuid[])

-- create_account_link_begin --
-- Of one user the last link is valid.
with changed as (
    insert into account_links as l (user_id, token_hash, created_by, expires_at)
    select u.id, :token_hash::bytea, :actor_id::uuid, clock_timestamp() + :lifetime::interval
    from users as u
    where u.id = :user_id and u.org_id = :org_id and u.disabled_at is null

-- create_account_link_end --
    on conflict (user_id) do update set
        token_hash = excluded.token_hash, created_by = excluded.created_by,
        created_at = clock_timestamp(), expires_at = excluded.expires_at
    returning l.user_id, l.expires_at
)

-- user_of_account_link --
select
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
    u.password_hash is not null as has_password
from account_links as l
inner join users as u on u.id = l.user_id
where l.token_hash = :token_hash and l.expires_at > clock_timestamp() and u.disabled_at is null

-- use_account_link_begin --
-- Of two requests with the same link the first deletes the row, and the second finds none.
with used as (
    delete from account_links
    where token_hash = :token_hash and expires_at > clock_timestamp()
    returning user_id
), changed as (
    update users as u set password_hash = :password_hash, version = u.version + 1
    from used
    where u.id = used.user_id and u.disabled_at is null
    returning u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version, true as has_password
), ended as (
    update sign_ins as s set revoked_at = clock_timestamp()
    from changed
    where s.user_id = changed.id and s.revoked_at is null
), revoked as (
    -- As when an admin sets the password.
    update api_keys as k set revoked_at = clock_timestamp()
    from changed
    where k.org_id = changed.org_id and k.user_id = changed.id and k.revoked_at is null
)

-- end_sessions_begin --
with ended as (
    update sign_ins as s set revoked_at = clock_timestamp()
    from users as u
    where s.user_id = u.id and u.id = :user_id and u.org_id = :org_id
        and s.revoked_at is null and s.expires_at > clock_timestamp()
        and s.id is distinct from :keep::uuid

-- end_sessions_end --
    returning s.id
), changed as (
    select count(*) as ended from ended having count(*) > 0
)

-- users_stopping --
-- Users who were disabled a moment ago.
select id, stopping_since from users where stopping_since is not null

-- overview_chats --
-- By the small indexes of runnable chats and of chats that wait.
select
    (
        select count(*) from chats
        where worker_id is not null and org_id = :org_id
    ) as driven,
    (
        select count(*) from chats
        where worker_id is null and runnable_since is not null and org_id = :org_id
    ) as waiting,
    (
        select extract(epoch from clock_timestamp() - min(runnable_since)) from chats
        where worker_id is null and runnable_since is not null and org_id = :org_id
    )::float8 as oldest_s,
    (
        select count(*) from chats
        where awaiting_until is not null and org_id = :org_id
    ) as awaiting,
    (select count(*) from users where org_id = :org_id and disabled_at is null) as users,
    clock_timestamp() as at

-- overview_workers --
select
    w.id, w.name, w.started_at, w.lease_until > clock_timestamp() as is_alive,
    (select count(*) from chats as c where c.worker_id = w.id) as chats
from workers as w
order by w.started_at
limit :limit
