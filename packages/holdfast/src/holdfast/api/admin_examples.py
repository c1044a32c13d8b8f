"""Examples of the administration of an organisation: see examples.py."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_AT: Final = "2026-01-02T03:04:05Z"


def admin_examples(user: Mapping[str, Any], model: str) -> Iterator[tuple[str, Any, Any]]:
    """Operation, request and response. `user` and `model`: of the organisation."""
    yield "get_overview", None, _overview()
    person = {
        **user,
        "last_seen_at": _AT,
        "session_count": 2,
        "api_key_count": 1,
        "link_expires_at": None,
    }
    link = {
        "token": "8sJq0WmXyT2bR5nLd7cG1kVfZ3pHtE6uYaB4oMiQxNw",
        "expires_at": "2026-01-09T03:04:05Z",
        "user": user,
    }
    password = "correct horse battery staple"  # noqa: S105 - an example
    yield "list_organization_users", None, _page([person])
    yield "create_account_link", None, link
    yield "create_session_by_account_link", {"token": link["token"], "password": password}, user
    yield from _of_settings(model)
    yield from _of_providers()
    yield from _of_catalogue()
    yield from _of_approvals()


def _page(data: list[Any]) -> dict[str, Any]:
    return {"data": data, "next_cursor": None}


def _overview() -> dict[str, Any]:
    return {
        "version": "0.1.0",
        "checks": [
            {"name": "database", "ok": True, "detail": "The database answers."},
            {"name": "workers", "ok": True, "detail": "1 worker with a valid lease."},
            {"name": "models", "ok": True, "detail": "2 models can answer."},
            {
                "name": "secrets",
                "ok": True,
                "detail": "Keys of providers are stored encrypted.",
            },
        ],
        "workers": [{"name": "replica-1", "started_at": _AT, "is_alive": True, "chats": 3}],
        "chats": {"driven": 3, "waiting": 0, "oldest_waiting_seconds": None, "awaiting": 1},
        "users": 12,
        "models": 2,
        "has_real_model": True,
    }


def _of_settings(model: str) -> Iterator[tuple[str, Any, Any]]:
    settings: dict[str, Any] = {
        "default_model": model,
        "explore_model": None,
        "title_model": model,
        "compaction_model": None,
        "advisor_model": None,
        "advisor_enabled": False,
        "advisor_uses_max": 3,
        "advisor_output_max": 16_384,
        "advisor_effort": None,
        "allowed_models": [model],
        "instructions": "Answer in one sentence.",
        "max_steps_per_turn": None,
        "compaction_percent": 70,
        "approvals": {
            "rules": [{"tool": "execute", "action": "ask", "arguments": {}, "reason": ""}],
            "default": "allow",
        },
        "oidc_sign_up_enabled": True,
        "api_key_days_max": 365,
        "web_tools_enabled": True,
    }
    yield "get_settings", None, settings
    yield "update_settings", {"instructions": settings["instructions"]}, settings


def _of_providers() -> Iterator[tuple[str, Any, Any]]:
    vendor = {
        "name": "openai",
        "title": "OpenAI",
        "base_url": "https://api.openai.com/v1",
        "values": [],
    }
    found = {
        "id": "gpt-5.4",
        "is_added": False,
        "context_window": 400_000,
        "output_max": None,
        "images": True,
        "documents": None,
    }
    yield "list_vendors", None, _page([vendor])
    yield "discover_models", None, {**_page([found]), "failure": None}


def _of_catalogue() -> Iterator[tuple[str, Any, Any]]:
    provider_id, model_id = f"prov_{8:032x}", f"modl_{9:032x}"
    key = "sk-example-0123456789"
    provider = {
        "id": provider_id,
        "name": "our-openai",
        "vendor": "openai",
        "base_url": "",
        "values": {},
        "settings": {},
        "is_enabled": True,
        "user_keys": True,
        "has_key": True,
        "secret_fields": ["key"],
        "key_last_four": "6789",
        "key_fingerprint": "3b1f0a9c52de",
        "key_set_at": "2026-01-02T03:04:05Z",
        "key_set_by": f"user_{2:032x}",
        "created_at": "2026-01-02T03:04:05Z",
        "etag": '"3"',
    }
    model = {
        "id": model_id,
        "name": "gpt",
        "source": "database",
        "provider_id": provider_id,
        "is_enabled": True,
        "is_default": True,
        "settings": {"model": "gpt-5.4", "effort": "medium"},
        "state": "available",
        "unavailable_reason": None,
        "purposes": ["general", "explore"],
        "etag": '"1"',
    }
    added = {"name": "our-openai", "vendor": "openai", "key": key}
    named = {"name": "gpt", "provider_id": provider_id, "settings": model["settings"]}
    yield "list_organization_providers", None, _page([provider])
    yield "create_provider", added, provider
    yield "get_provider", None, provider
    own = {
        "provider_id": provider_id,
        "name": provider["name"],
        "vendor": provider["vendor"],
        "is_allowed": True,
        "has_key": True,
        "set_at": _AT,
    }
    yield "list_provider_keys", None, _page([own])
    yield "set_provider_key", {"key": key}, own
    yield "update_provider", {"key": key}, provider
    yield "list_organization_models", None, _page([model])
    yield "create_model", {**named, "is_default": True}, model
    yield "get_model", None, model
    yield "update_model", {"is_default": True}, model
    said = "The provider refused the key. (auth: HTTP 401: Incorrect API key provided.)"
    refused = {"answered": False, "failure": said, "took_ms": 210}
    yield "check_model", None, refused


def _of_approvals() -> Iterator[tuple[str, Any, Any]]:
    rule = {
        "tool": "execute",
        "action": "ask",
        "arguments": {"command": {"words": "git push **"}},
        "reason": "",
    }
    server = {"rules": [], "default": "allow"}
    organization = {"rules": [rule], "default": "allow"}
    yield "get_approvals", None, {"server": server, "organization": organization}
    call = {"tool": "execute", "arguments": {"command": "git push origin main"}}
    tried = {
        "action": "ask",
        "decided_by": "organization",
        "judgements": [
            {"source": "server", "action": "allow", "rule_number": None, "rule": None},
            {"source": "organization", "action": "ask", "rule_number": 1, "rule": rule},
        ],
    }
    yield "try_approvals", call, tried
