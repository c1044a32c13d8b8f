-- What is shown to be let in: passwords and their throttles, sign-ins, API keys.

-- count_attempt --
-- Counted before anything is checked: a hundred guesses at once are a hundred, not one. The keys
-- are locked in one order. An unknown e-mail is counted like a known one. A browser that the account
-- knows is counted by itself, so that guesses of strangers do not lock it out.
with known as (
    select 1
    from known_browsers as k
    inner join users as u on u.id = k.user_id
    where k.token_hash = :browser_hash and k.expires_at > clock_timestamp()
        and lower(u.email) = lower(:email::text) and (:org_id::uuid is null or u.org_id = :org_id)
    limit 1
), counted as (
    insert into login_throttles as t (key, attempts, since)
    select given.key, 1, clock_timestamp()
    from unnest(
        case when exists (select from known) then array[:browser_key::bytea] else :keys::bytea[] end
    ) as given (key)
    order by given.key
    on conflict (key) do update set
        attempts = case
            when t.since < clock_timestamp() - :time_window::interval then 1 else t.attempts + 1
        end,
        since = case
            when t.since < clock_timestamp() - :time_window::interval then clock_timestamp()
            else t.since
        end
    returning key, attempts, since
), buckets as (
    select
        coalesce(max(attempts) filter (where key = :account_key), 0) as by_account,
        coalesce(max(attempts) filter (where key = :network_key), 0) as by_network,
        coalesce(max(attempts) filter (where key = :browser_key), 0) as by_browser,
        max(since) as since
    from counted
)
select
    b.by_account, b.by_network, b.by_browser, exists (select from known) as known,
    extract(epoch from b.since + :time_window::interval - clock_timestamp())::float8
        as retry_after_s,
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version, u.password_hash,
    u.password_hash is not null as has_password
from buckets as b
left join lateral (
    select * from users
    where lower(users.email) = lower(:email::text) and (:org_id::uuid is null or users.org_id = :org_id)
    limit 2
) as u on true

-- open_sign_in_begin --
-- A sign-in gives a new token, and the one that the browser had before ends.
with changed as (
    insert into sign_ins (id, user_id, token_hash, method, address, agent, expires_at)
    select
        :sign_in_id, u.id, :token_hash, :method, :address, :agent,
        clock_timestamp() + :lifetime::interval
    from users as u
    where u.id = :user_id and u.disabled_at is null
        and (:verified_hash::text is null or u.password_hash = :verified_hash)
    returning id
), rehashed as (
    update users set password_hash = :rehashed
    from changed
    where users.id = :user_id and :rehashed::text is not null
), replaced as (
    update sign_ins set revoked_at = clock_timestamp()
    from changed
    where sign_ins.token_hash = :replaces and sign_ins.revoked_at is null
), moved as (
    -- Others who use this browser: it has one cookie.
    update known_browsers set token_hash = :browser_hash
    from changed
    where known_browsers.token_hash = :replaces_browser and known_browsers.user_id <> :user_id
), forgotten as (
    delete from known_browsers
    using changed
    where known_browsers.token_hash = :replaces_browser and known_browsers.user_id = :user_id
), known as (
    insert into known_browsers (token_hash, user_id, expires_at)
    select :browser_hash, :user_id, clock_timestamp() + :browser_lifetime::interval from changed
), forgiven as (
    update login_throttles set attempts = case when key = :first_key then 0 else attempts - 1 end
    from changed
    where key = any(:throttle_keys::bytea[]) and attempts > 0
)

-- by_token --
-- One statement per request; the last time it was seen is written once a minute at most.
with found as (
    select s.id, s.user_id, u.org_id, u.role, s.seen_at
    from sign_ins as s
    inner join users as u on u.id = s.user_id
    where s.token_hash = :token_hash and s.revoked_at is null
        and s.expires_at > clock_timestamp() and s.seen_at > clock_timestamp() - :idle::interval
        and u.disabled_at is null
), seen as (
    update sign_ins set seen_at = clock_timestamp()
    from found
    where sign_ins.id = found.id and found.seen_at < clock_timestamp() - interval '1 minute'
)
select id, user_id, org_id, role from found

-- by_key --
with found as (
    select k.id, k.user_id, k.org_id, u.role, k.scopes, k.last_used_at
    from api_keys as k
    inner join users as u on u.id = k.user_id
    where k.secret_hash = :secret_hash and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > clock_timestamp())
        and u.disabled_at is null
), used as (
    update api_keys set last_used_at = clock_timestamp()
    from found
    where api_keys.id = found.id
        and coalesce(found.last_used_at < clock_timestamp() - interval '1 minute', true)
)
select id, user_id, org_id, role, scopes from found

-- valid_credentials --
-- For every open stream of a process at once.
select 'session' as kind, s.id, s.user_id, u.org_id, u.role, null::text[] as scopes
from sign_ins as s
inner join users as u on u.id = s.user_id
where s.id = any(:sign_in_ids::uuid[]) and s.revoked_at is null
    and s.expires_at > clock_timestamp() and s.seen_at > clock_timestamp() - :idle::interval
    and u.disabled_at is null
union all
select 'api_key', k.id, k.user_id, k.org_id, u.role, k.scopes
from api_keys as k
inner join users as u on u.id = k.user_id
where k.id = any(:key_ids::uuid[]) and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > clock_timestamp())
    and u.disabled_at is null

-- sign_ins_begin --
select
    s.id, s.user_id, s.method, s.address, s.agent, s.created_at, s.seen_at, s.expires_at
from sign_ins as s
inner join users as u on u.id = s.user_id and u.org_id = :org_id
where s.revoked_at is null and s.expires_at > clock_timestamp()
    and (:after_id::uuid is null or (s.created_at, s.id) < (:after_at::timestamptz, :after_id))

-- sign_ins_of_user_end --
-- A block of its own: a condition that may be absent has a generic plan that reads the whole table.
and s.user_id = :user_id

-- sign_ins_end --
order by s.created_at desc, s.id desc
limit :limit

-- revoke_sign_in_begin --
with changed as (
    update sign_ins as s set revoked_at = clock_timestamp()
    from users as u
    where s.id = :sign_in_id and s.revoked_at is null and u.id = s.user_id and u.org_id = :org_id

-- revoke_sign_in_end --
    returning s.id
)

-- create_key_begin --
with receipt as (
    insert into account_receipts (actor_id, client_key, digest, made_id)
    select :audit_actor, :client_key, :digest, :key_id
    where :client_key::text is not null
    on conflict do nothing
    returning made_id
), changed as (
    insert into api_keys (id, org_id, user_id, name, prefix, secret_hash, scopes, expires_at)
    select
        :key_id, u.org_id, u.id, :name, :prefix, :secret_hash, :scopes::text[], :expires_at::timestamptz
    from users as u
    where u.id = :user_id and u.org_id = :org_id and u.disabled_at is null
        and (:client_key is null or exists (select from receipt))
    returning *
)

-- api_keys_begin --
select
    k.id, k.org_id, k.user_id, k.name, k.prefix, k.scopes, k.created_at, k.expires_at,
    k.revoked_at, k.last_used_at
from api_keys as k
where k.org_id = :org_id and (:user_id::uuid is null or k.user_id = :user_id)
    and (:after_id::uuid is null or (k.created_at, k.id) < (:after_at::timestamptz, :after_id))

-- api_keys_end --
order by k.created_at desc, k.id desc
limit :limit

-- revoke_key_begin --
with changed as (
    update api_keys as k set revoked_at = clock_timestamp()
    where k.id = :key_id and k.org_id = :org_id and k.revoked_at is null

-- revoke_key_end --
    returning k.id
)

-- forget_expired --
-- The oldest few of each; the caller comes again for more. By arrays: the plan does not know that they are
-- few, and would join the whole tables with them.
with sign_ins_gone as (
    delete from sign_ins where id = any(array(
        select id from sign_ins
        where expires_at < (select clock_timestamp() - interval '30 days')
        order by expires_at
        limit :limit
    ))
    returning user_id, seen_at
), seen as (
    update users as u set last_seen_at = greatest(u.last_seen_at, gone.seen_at)
    from (select user_id, max(seen_at) as seen_at from sign_ins_gone group by user_id) as gone
    where u.id = gone.user_id
), throttles_gone as (
    delete from login_throttles where key = any(array(
        select key from login_throttles
        where since < (select clock_timestamp() - :time_window::interval)
        order by since
        limit :limit
    ))
    returning 1
), states_gone as (
    delete from oidc_states where state_hash = any(array(
        select state_hash from oidc_states
        where expires_at < (select clock_timestamp())
        order by expires_at
        limit :limit
    ))
    returning 1
), browsers_gone as (
    delete from known_browsers where ctid = any(array(
        select ctid from known_browsers
        where expires_at < (select clock_timestamp())
        order by expires_at
        limit :limit
    ))
    returning 1
), receipts_gone as (
    delete from account_receipts where ctid = any(array(
        select ctid from account_receipts
        where created_at < (select clock_timestamp() - interval '30 days')
        order by created_at
        limit :limit
    ))
    returning 1
)
select
    (select count(*) from sign_ins_gone) + (select count(*) from throttles_gone)
    + (select count(*) from states_gone) + (select count(*) from receipts_gone)
    + (select count(*) from browsers_gone) as gone
