-- The conditions of domain/policy.py, one block each per kind of resource; db/policy.py puts them
-- together. Each statement that uses them has compared the organisation before.

-- allow_open --
and (
    false

-- allow_close --
)

-- allow_chat_owner --
or c.owner_id = :actor_id

-- allow_chat_shared --
or exists (select from chat_shares as s where s.chat_id = c.id and s.user_id = :actor_id)

-- allow_chat_org_admin --
or :actor_is_admin::boolean

-- allow_user_self --
or u.id = :actor_id

-- allow_user_same_org --
or true

-- allow_user_org_admin --
or :actor_is_admin::boolean

-- allow_api_key_owner --
or k.user_id = :actor_id

-- allow_api_key_org_admin --
or :actor_is_admin::boolean

-- allow_sign_in_owner --
or s.user_id = :actor_id

-- allow_sign_in_org_admin --
or :actor_is_admin::boolean

-- allow_audit_org_admin --
or :actor_is_admin::boolean

-- allow_settings_org_admin --
or :actor_is_admin::boolean
