-- Logins through an identity provider.

-- begin_oidc --
insert into oidc_states (state_hash, cookie_hash, link_user_id, return_to, expires_at)
values (:state_hash, :cookie_hash, :link_user_id, :return_to, clock_timestamp() + :lifetime::interval)

-- consume_oidc --
-- Deleted by the first request for it, also by one of a browser that it is not for: a state that
-- another browser has seen is worth nothing any more.
with taken as (
    delete from oidc_states where state_hash = :state_hash
    returning cookie_hash, link_user_id, return_to, expires_at
)
select link_user_id, return_to from taken
where cookie_hash = :cookie_hash and expires_at > clock_timestamp()

-- linked_user --
select
    u.id, u.org_id, u.name, u.email, u.role, u.disabled_at, u.created_at, u.version,
    u.password_hash is not null as has_password
from oidc_identities as i
inner join users as u on u.id = i.user_id
where i.issuer = :issuer and i.subject = :subject

-- only_org --
select id from organisations
where not exists (select from organisations as other where other.id <> organisations.id)

-- link_oidc_begin --
with changed as (
    insert into oidc_identities (issuer, subject, org_id, user_id)
    values (:issuer, :subject, :org_id, :user_id)
    on conflict do nothing
    returning user_id
)

-- create_linked_begin --
-- Of two first logins of one person at once, the second waits for the first and makes nothing.
with made as (
    insert into users (id, org_id, name, email, role)
    values (:user_id, :org_id, :name, :email, :role)
    on conflict do nothing
    returning *
), changed as (
    insert into oidc_identities (issuer, subject, org_id, user_id)
    select :issuer, :subject, made.org_id, made.id from made
    returning user_id
)

-- create_linked_end --
select
    made.id, made.org_id, made.name, made.email, made.role, made.disabled_at, made.created_at, made.version,
    false as has_password
from made, changed
