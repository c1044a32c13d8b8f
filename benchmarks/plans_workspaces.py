"""The statements of workspaces, for `benchmarks/plans.py`."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from holdfast.adapters.postgres import workspaces
from holdfast.adapters.postgres.queries import Query

GENERATE_WORKSPACES: Final = """
insert into workspaces (
    id, org_id, owner_id, chat_id, template, status, address, stops_at, changed_at, removed_at
)
select {chat_id}, '{org}', {reader_id}, {chat_id}, 'local', w.status,
    case w.status when 'running' then 'unix:/w' end,
    case w.status when 'running' then clock_timestamp() + ((n - 50) || ' s')::interval end,
    clock_timestamp() - interval '1 hour',
    case when w.status = 'deleted' and n % 100 > 4 then clock_timestamp() end
from generate_series(0, {chats} - 1, 2) as n (n), lateral (
    select case when n % 1000 = 0 then 'starting' when n % 10 = 2 then 'running'
        when n % 10 = 4 then 'deleted' else 'stopped' end as status
) as w;
"""


def workspace_statements(
    org: UUID, owner: UUID, chat: UUID
) -> dict[str, tuple[Query, dict[str, Any]]]:
    """`chat` has none; its neighbours, at even numbers, have one each."""
    known = UUID(int=chat.int - 1)
    values: dict[str, Any] = {
        "chat_id": chat, "workspace_id": UUID(int=9), "org_id": org, "owner_id": owner,
        "template": "local", "ttl_s": 0, "limit": 100, "lapse": timedelta(seconds=60),
        "templates": ["local"], "version": 1, "status": "stopping", "address": None,
        "stops_in": None, "error": None,
    }  # fmt: skip
    there = values | {"workspace_id": known}
    found: dict[str, tuple[Query, dict[str, Any]]] = {
        "of chat": (workspaces.OF_CHAT, values | {"chat_id": known}),
        "find": (workspaces.FIND, there),
        "add": (workspaces.ADD, values),
        "claim": (workspaces.CLAIM, there),
        "renew": (workspaces.RENEW, there),
        "settle": (workspaces.SETTLE, there | {"status": "stopped"}),
        "touch": (workspaces.TOUCH, there | {"stops_in": timedelta(hours=1)}),
        "claim expired": (workspaces.CLAIM_EXPIRED, values),
        "claim abandoned": (workspaces.CLAIM_ABANDONED, values),
        "claim remains": (workspaces.CLAIM_REMAINS, values),
        "removed": (workspaces.REMOVED, there),
    }
    return {f"workspaces: {name}": pair for name, pair in found.items()}
