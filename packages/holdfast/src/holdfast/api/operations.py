"""What the OpenAPI document says of operations beside their shapes: tags, headers, problem codes,
and the ids that all of them share."""

from collections.abc import Mapping
from typing import Any, Final

SERVERS: Final = ({"url": "/", "description": "The server that this document comes from."},)

TAGS: Final[Mapping[str, str]] = {
    "chats": "Create, find, change, archive and share chats.",
    "messages": "Read the history of a chat, send a message, and edit one.",
    "queue": "Messages that wait until the turn of their chat ends.",
    "chat commands": "Interrupt, retry or compact a chat, or go back to an older history.",
    "tool calls": "Answer calls that wait for an approval or for the result of a client's tool.",
    "events": "Follow one chat, or the list of chats, while it changes.",
    "workspaces": "The files and processes that a chat works with.",
    "users": "The user of the credential, and the users of the organisation.",
    "auth": "Sessions of browsers, API keys, and logins through identity providers.",
    "organization": "Administration: users, models, settings, rules and audit log of the"
    " organisation.",
    "server": "What the server offers.",
    "health": "For those who operate the server: probes and metrics.",
}

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
HEADERS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "X-Request-Id": ("Names the request, in problems and in the server's log.", _TEXT),
    "Holdfast-Version": ("The version of the server that answered.", _TEXT),
    "ETag": ("Names this state of the resource, for `If-Match`.", _TEXT),
    "Idempotent-Replayed": (
        "`true`: a request with the same `Idempotency-Key` was done before, and this is its answer."
        " Otherwise the header is absent.",
        {"type": "string", "const": "true"},
    ),
    "Location": ("Where to go: the path of what was created, or the next page.", _TEXT),
    "Retry-After": (
        "How many seconds to wait before the request is worth repeating. Present with the statuses"
        " 202, 429 and 503.",
        {"type": "integer"},
    ),
}

ETAG: Final = frozenset(
    {"get_chat", "update_chat", "get_user", "create_user", "update_user", "reset_password"}
    | {"get_settings", "update_settings"}
    | {f"{verb}_{kind}" for verb in ("get", "create", "update") for kind in ("provider", "model")}
    | {f"{verb}_workspace" for verb in ("get", "create", "start", "stop", "delete")}
)
"""Their answers have an `ETag`."""
NEW_CHAT: Final = frozenset({"create_chat", "fork_chat"})
"""Their answers have a `Location`."""
UNREPEATABLE: Final = frozenset({"create_api_key", "delete_queued_message"})
"""They take a key, but a repeat is not answered as a replay."""

IDENTIFIERS: Final[Mapping[str, str]] = {
    "chat_id": "The chat, by its id.",
    "user_id": "The user, by the id of the account.",
    "org_id": "The organisation, by its id.",
    "owner_id": "The user who created the chat, and who alone may command it.",
    "author_id": "The user who wrote the message; null: no user did.",
    "actor_id": "The user who did it; null: not a user, but the server or its command line.",
    "credential_id": "The API key or the session that was used; null: none was.",
    "session_id": "The session, by its id.",
    "provider_id": "The provider, by its id.",
    "model_id": "The model, by its id.",
    "api_key_id": "The API key, by its id: not its secret.",
}
"""Of properties and parameters that have no description of their own."""

ELSEWHERE: Final = frozenset(
    {"route_not_found", "method_not_allowed", "http_error", "too_many_connections"}
    | {"headers_too_large", "address_too_long"}
)
"""Codes of requests that reach no operation."""
_ALWAYS: Final = ("rate_limited", "overloaded", "unavailable", "internal")
_CREDENTIAL: Final = ("unauthenticated", "permission_denied", "origin_not_allowed")
_BODY: Final = ("malformed_json", "unsupported_media_type", "body_too_large", "request_timeout")
_COMMAND: Final = (
    *("chat_state_conflict", "command_refused", "write_contention", "upgrading"),
    "too_many_bytes",
)
_WORKSPACE: Final = ("workspace_not_found", "workspace_unusable")
SPECIFIC: Final[Mapping[str, tuple[str, ...]]] = {
    "create_chat": ("too_many_chats", "content_too_large", "too_many_bytes"),
    "fork_chat": (
        *("not_forkable", "message_not_found", "version_not_found"),
        *("too_many_chats", "too_many_bytes", "upgrading"),
    ),
    "list_chats": ("list_too_slow",),
    "list_organization_chats": ("list_too_slow",),
    "set_chat_tools": (*_COMMAND, "content_too_large"),
    "share_chat": ("not_found",),
    "unshare_chat": ("not_found",),
    "archive_chat": _COMMAND,
    "unarchive_chat": _COMMAND,
    "list_messages": ("version_not_found", "upgrading"),
    "get_message": ("message_not_found", "upgrading"),
    "send_message": (*_COMMAND, "queue_full", "content_too_large"),
    "edit_message": (*_COMMAND, "not_editable", "content_too_large"),
    "clear_queue": _COMMAND,
    "resume_queue": _COMMAND,
    "delete_queued_message": (*_COMMAND, "queued_message_not_found"),
    "update_queued_message": (*_COMMAND, "queued_message_not_found"),
    "send_queued_message": (*_COMMAND, "queued_message_not_found"),
    "interrupt_chat": (*_COMMAND, "turn_changed"),
    "stop_organization_chat": _COMMAND,
    "retry_chat": (*_COMMAND, "turn_changed"),
    "compact_chat": (*_COMMAND, "nothing_to_compact"),
    "restore_chat": (*_COMMAND, "version_not_found"),
    "submit_tool_results": (
        *_COMMAND,
        "answer_not_valid",
        "call_not_open",
        "content_too_large",
    ),
    "submit_tool_decisions": (*_COMMAND, "call_not_open", "approval_mismatch"),
    "get_workspace": ("workspace_not_found",),
    "create_workspace": ("workspace_unusable", "too_many_workspaces", "chat_state_conflict"),
    "start_workspace": (*_WORKSPACE, "too_many_workspaces", "chat_state_conflict"),
    "stop_workspace": _WORKSPACE,
    "delete_workspace": _WORKSPACE,
    "create_session": ("invalid_credentials", "sign_in_rate_limited", "origin_not_allowed"),
    "create_session_by_link": ("sign_in_link_not_valid", "origin_not_allowed"),
    "revoke_session": ("not_found",),
    "create_api_key": ("api_key_already_created",),
    "revoke_api_key": ("not_found",),
    "change_password": ("invalid_credentials", "sign_in_rate_limited", "weak_password"),
    "create_user": ("email_taken", "weak_password"),
    "get_user": ("not_found",),
    "update_user": ("not_found", "last_admin"),
    "reset_password": ("not_found", "weak_password"),
    "create_provider": ("name_taken", "secrets_off", "secret_unreadable"),
    "set_provider_key": ("not_found", "secrets_off"),
    "delete_provider_key": ("not_found",),
    "get_provider": ("not_found",),
    "update_provider": ("not_found", "name_taken", "secrets_off", "secret_unreadable"),
    "delete_provider": ("not_found",),
    "create_model": ("name_taken",),
    "get_model": ("not_found",),
    "update_model": ("not_found", "name_taken"),
    "delete_model": ("not_found",),
    "check_model": ("not_found",),
    "discover_models": ("not_found",),
    "create_account_link": ("not_found",),
    "revoke_user_sessions": ("not_found",),
    "create_session_by_account_link": (
        *("sign_in_link_not_valid", "weak_password", "origin_not_allowed"),
    ),
    "start_oidc_login": ("not_found", "oidc_login_failed"),
    "link_oidc_login": ("not_found", "oidc_login_failed"),
    "finish_oidc_login": ("not_found", "oidc_login_failed"),
}


def problem_codes(
    name: str,
    *,
    needs_credential: bool,
    takes_body: bool,
    takes_input: bool,
    takes_key: bool,
    takes_tag: bool,
    of_chat: bool,
) -> list[str]:
    """The codes that an operation can answer with: its own first, then those of its kind."""
    codes = (
        *SPECIFIC.get(name, ()),
        *(("chat_not_found",) if of_chat else ()),
        *(("precondition_failed",) if takes_tag else ()),
        *(("idempotency_key_reused",) if takes_key else ()),
        *(("invalid_request",) if takes_input else ()),
        *(_BODY if takes_body else ()),
        *((*_CREDENTIAL, "too_many_statements") if needs_credential else ()),
        *_ALWAYS,
    )
    return list(dict.fromkeys(codes))
