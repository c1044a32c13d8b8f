"""How values become answers of the API; shapes.py says what they look like."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from holdfast.api.idempotency import as_replay
from holdfast.chats.changes import Commit
from holdfast.chats.hints import encode_data
from holdfast.domain import accounts, workspaces
from holdfast.domain.chat import Chat
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.compaction import NEVER_PERCENT, threshold_of
from holdfast.domain.ids import UserId
from holdfast.domain.policy import TargetKind
from holdfast.domain.public_ids import (
    API_KEY_ID,
    CHAT_ID,
    SESSION_ID,
    TARGET_ID_TYPES,
    USER_ID,
    WORKSPACE_ID,
)
from holdfast.identity.audit import AuditRecord

NO_NAMES: Final[Mapping[UUID, str]] = MappingProxyType({})


def answer(data: Mapping[str, Any], status: int = 200) -> Response:
    return Response(encode_data(data), status, media_type="application/json")


def page(data: Sequence[Mapping[str, Any]], next_cursor: str | None = None) -> Response:
    """A page of a list. `next_cursor` None: it is the last one."""
    return answer({"data": data, "next_cursor": next_cursor})


def nothing() -> Response:
    return Response(status_code=204)


def committed(commit: Commit, status: int = 200) -> Response:
    told = commit.answer
    response = answer(
        {
            "chat_id": CHAT_ID.encode(commit.chat.chat_id),
            "version": told.version,
            "turn_seq": told.turn_seq,
            "message_seq": told.seq,
            "queued_id": told.queued_id,
        },
        status,
    )
    return as_replay(response) if commit.repeated else response


def context_json(chat: Chat, *, limit_tokens: int | None, percent: int) -> dict[str, Any]:
    """How full the context window is. `percent`: from which share of it on a chat is compacted."""
    compacts = None
    if limit_tokens is not None and percent < NEVER_PERCENT:
        compacts = threshold_of(limit_tokens, percent)
    return {
        "used_tokens": chat.prompt_tokens,
        "limit_tokens": limit_tokens,
        "compacts_at_tokens": compacts,
    }


def tool_json(tool: ClientTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.schema,
        "open_world": tool.open_world,
    }


def workspace_json(workspace: workspaces.Workspace) -> dict[str, Any]:
    """Without its address: where agents listen is the server's business."""
    return {
        "id": WORKSPACE_ID.encode(workspace.workspace_id),
        "chat_id": CHAT_ID.encode(workspace.chat_id),
        "template": workspace.template,
        "status": workspace.status,
        "ttl_seconds": workspace.ttl_s or None,
        "auto_stop_at": workspace.stops_at,
        "error": workspace.error,
        "created_at": workspace.created_at,
    }


def user_json(user: accounts.User) -> dict[str, Any]:
    return {
        "id": USER_ID.encode(user.user_id),
        "name": user.name,
        "email": user.email,
        "role": user.role,
        "disabled_at": user.disabled_at,
        "has_password": user.has_password,
        "created_at": user.created_at,
    }


def key_json(key: accounts.ApiKey) -> dict[str, Any]:
    return {
        "id": API_KEY_ID.encode(key.key_id),
        "user_id": USER_ID.encode(key.user_id),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def session_json(sign_in: accounts.SignIn) -> dict[str, Any]:
    return {
        "id": SESSION_ID.encode(sign_in.sign_in_id),
        "user_id": USER_ID.encode(sign_in.user_id),
        "method": sign_in.method,
        "ip_address": sign_in.address,
        "user_agent": sign_in.agent,
        "created_at": sign_in.created_at,
        "last_seen_at": sign_in.seen_at,
        "expires_at": sign_in.expires_at,
    }


def audit_json(entry: AuditRecord, names: Mapping[UUID, str] = NO_NAMES) -> dict[str, Any]:
    """`names`: of users that are still there."""
    kind, _, credential_id = (entry.credential or "").partition(":")
    return {
        "seq": entry.seq,
        "created_at": entry.at,
        "action": entry.action,
        "actor_id": None if entry.actor_id is None else USER_ID.encode(UserId(entry.actor_id)),
        "actor_name": None if entry.actor_id is None else names.get(entry.actor_id),
        "credential_type": kind or None,
        "credential_id": _public_id(kind, credential_id),
        "target_type": entry.target_kind,
        "target_id": _public_id(entry.target_kind, entry.target_id),
        "target_name": _target_name(entry, names),
        "ip_address": entry.address,
        "detail": _audit_detail(entry.detail),
    }


def _target_name(entry: AuditRecord, names: Mapping[UUID, str]) -> str | None:
    if entry.target_kind == TargetKind.USER and entry.target_id:
        return names.get(UUID(entry.target_id))
    name = entry.detail.get("name")
    return name if isinstance(name, str) else None


def _public_id(kind: str | None, stored: str | None) -> str | None:
    """`kind`: as the audit log calls it."""
    return TARGET_ID_TYPES[kind].encode(UUID(stored)) if kind and stored else None


def _audit_detail(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    if "user_id" not in detail:
        return detail
    return {**detail, "user_id": _public_id("user", detail["user_id"])}
