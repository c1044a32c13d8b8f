"""How values become answers of the API; shapes.py says what they look like."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from holdfast.chats.changes import Commit
from holdfast.chats.hints import encode_data
from holdfast.domain import accounts, workspaces
from holdfast.domain.client_tools import ClientTool


def answer(data: Mapping[str, Any], status: int = 200) -> Response:
    return Response(encode_data(data), status, media_type="application/json")


def nothing() -> Response:
    return Response(status_code=204)


def committed(commit: Commit, status: int = 200) -> Response:
    told = commit.answer
    return answer(
        {
            "chat_id": str(commit.chat.chat_id),
            "version": told.version,
            "seq": told.seq,
            "queued_id": told.queued_id,
            "repeated": commit.repeated,
        },
        status,
    )


def tool_json(tool: ClientTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "schema": tool.schema}


def workspace_json(workspace: workspaces.Workspace) -> dict[str, Any]:
    """Without its address: where agents listen is the server's business."""
    return {
        "workspace_id": str(workspace.workspace_id),
        "chat_id": str(workspace.chat_id),
        "template": workspace.template,
        "status": workspace.status,
        "ttl_s": workspace.ttl_s,
        "stops_at": workspace.stops_at,
        "error": workspace.error,
        "created_at": workspace.created_at,
    }


def user_json(user: accounts.User) -> dict[str, Any]:
    return {
        "user_id": str(user.user_id),
        "name": user.name,
        "email": user.email,
        "role": user.role,
        "disabled_at": user.disabled_at,
        "has_password": user.has_password,
        "created_at": user.created_at,
    }


def key_json(key: accounts.ApiKey) -> dict[str, Any]:
    return {
        "key_id": str(key.key_id),
        "user_id": str(key.user_id),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def sign_in_json(sign_in: accounts.SignIn) -> dict[str, Any]:
    return {
        "sign_in_id": str(sign_in.sign_in_id),
        "user_id": str(sign_in.user_id),
        "method": sign_in.method,
        "address": sign_in.address,
        "agent": sign_in.agent,
        "created_at": sign_in.created_at,
        "seen_at": sign_in.seen_at,
        "expires_at": sign_in.expires_at,
    }
