-- How many workspaces somebody has is counted whenever they make one
-- depends: 0006-workspaces

-- migrate: apply

create index workspaces_of_owner on workspaces (owner_id) where status <> 'deleted';

-- migrate: rollback

drop index workspaces_of_owner;
