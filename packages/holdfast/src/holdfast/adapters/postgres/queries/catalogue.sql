-- Providers and models that admins add. Each change counts the catalogue of its organisation.

-- newer_catalogues --
select c.org_id, c.version from catalogues as c
left join unnest(:orgs::uuid[], :versions::bigint[]) as k (org_id, version) on k.org_id = c.org_id
where k.version is distinct from c.version

-- catalogue_providers --
select
    id, org_id, name, version, is_enabled, user_keys, record, credential::bytea as credential,
    credential_about, created_at, changed_at
from providers
where org_id = :org_id
order by created_at, id

-- catalogue_models --
select id, org_id, provider_id, name, version, is_enabled, is_default, record, created_at, changed_at
from models
where org_id = :org_id
order by created_at, id

-- count_catalogue_begin --
with counted as (
    insert into catalogues as c (org_id, version) values (:org_id, 1)
    on conflict (org_id) do update set version = c.version + 1
    returning version
)

-- add_provider_begin --
, changed as (
    insert into providers (
        id, org_id, name, is_enabled, user_keys, record, credential, credential_key_id,
        credential_about
    )
    select
        :id, :org_id, :name, :is_enabled, :user_keys, :record::json, :credential::bytea,
        :key_id::uuid, :about::json
    from counted
    returning id, version
)

-- change_provider_begin --
, changed as (
    update providers as p
    set name = :name, is_enabled = :is_enabled, user_keys = :user_keys, record = :record::json,
        credential = :credential::bytea, credential_key_id = :key_id::uuid,
        credential_about = :about::json,
        version = p.version + 1, changed_at = clock_timestamp()
    from counted
    where p.id = :id and p.org_id = :org_id and p.version = :version
    returning p.id, p.version
), dropped as (
    delete from user_keys as k using changed
    where k.org_id = :org_id and k.provider_id = changed.id and :has_moved::boolean
)

-- remove_provider_begin --
, gone as (
    delete from models as m using counted
    where m.provider_id = :id and m.org_id = :org_id
        and exists (
            select from providers as p
            where p.id = :id and p.org_id = :org_id and p.version = :version
        )
    returning m.id
), changed as (
    delete from providers as p using counted
    where p.id = :id and p.org_id = :org_id and p.version = :version
        and (select count(*) from gone) >= 0
    returning p.id, p.version
)

-- add_model_begin --
, undone as (
    update models as m set is_default = false, version = m.version + 1
    from counted
    where m.org_id = :org_id and m.is_default and :is_default::boolean
    returning m.id
), changed as (
    insert into models (id, org_id, provider_id, name, is_enabled, is_default, record)
    select :id, :org_id, :provider_id, :name, :is_enabled, :is_default, :record::json
    from counted
    where (select count(*) from undone) >= 0
    returning id, version
)

-- change_model_begin --
, undone as (
    update models as m set is_default = false, version = m.version + 1
    from counted
    where m.org_id = :org_id and m.is_default and :is_default::boolean and m.id <> :id
    returning m.id
), changed as (
    update models as m
    set name = :name, provider_id = :provider_id, is_enabled = :is_enabled,
        is_default = :is_default, record = :record::json, version = m.version + 1,
        changed_at = clock_timestamp()
    from counted
    where m.id = :id and m.org_id = :org_id and m.version = :version
        and (select count(*) from undone) >= 0
    returning m.id, m.version
)

-- remove_model_begin --
, changed as (
    delete from models as m using counted
    where m.id = :id and m.org_id = :org_id and m.version = :version
    returning m.id, m.version
)
