# Made of holdfast_client/aio/accounts.py by scripts/generate_sync.py. Do not edit.
"""Users, API keys, sessions, and the organization."""

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any, Literal

import httpx2

from holdfast_client import models
from holdfast_client.content import NOT_GIVEN, NotGiven, changed, given
from holdfast_client.sync.http import Http, json_in


class Users:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Generator[models.User]:
        with closing(self._http.pages("users")) as pages:
            for page in pages:
                for each in page:
                    yield models.User.model_validate(each)

    def create(
        self,
        name: str,
        email: str,
        *,
        role: Literal["admin", "member"] = "member",
        password: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.User:
        body = {"name": name, "email": email, "role": role, "password": password}
        made = self._http.change("POST", "users", body, idempotency_key)
        return models.User.model_validate(made)

    def retrieve(self, user_id: str) -> models.User:
        return models.User.model_validate(self._http.get(f"users/{user_id}"))

    def update(
        self,
        user_id: str,
        *,
        role: Literal["admin", "member"] | None = None,
        disabled: bool | None = None,
        if_match: str | None = None,
    ) -> models.User:
        """What is None stays. Every credential of a disabled user stops working."""
        body = given(role=role, disabled=disabled)
        response = self._http.patch(f"users/{user_id}", body, if_match)
        return models.User.model_validate(json_in(response))

    def set_password(self, user_id: str, password: str) -> models.User:
        """By an admin; ends every session of the user."""
        return models.User.model_validate(
            self._http.put(f"users/{user_id}/password", {"password": password})
        )


class ApiKeys:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, user_id: str = "me") -> Generator[models.ApiKey]:
        """Your own keys; `any`, or the id of a user: those of others, for an admin."""
        with closing(self._http.pages("api-keys", user_id=user_id)) as pages:
            for page in pages:
                for each in page:
                    yield models.ApiKey.model_validate(each)

    def create(
        self,
        name: str,
        *,
        scopes: Iterable[str] = ("read", "write"),
        expires_at: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.CreatedApiKey:
        """The secret is shown this once. `expires_at`: a time with its zone, ISO 8601. Repeated
        only with a key of yours: the secret cannot be shown again, so a repeat is `ConflictError`
        (`api_key_already_created`)."""
        body = {"name": name, "scopes": sorted(scopes), "expires_at": expires_at}
        made = self._http.post("api-keys", body, idempotency_key)
        return models.CreatedApiKey.model_validate(made)

    def revoke(self, api_key_id: str) -> None:
        self._http.delete(f"api-keys/{api_key_id}")


class Sessions:
    """Signed-in browsers, and programs that sign in as one."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, user_id: str = "me") -> Generator[models.Session]:
        """Your own sessions; `any`, or the id of a user: those of others, for an admin."""
        with closing(self._http.pages("sessions", user_id=user_id)) as pages:
            for page in pages:
                for each in page:
                    yield models.Session.model_validate(each)

    def create(self, email: str, password: str, *, org_id: str | None = None) -> models.User:
        """Sign in. The client then uses this session in place of its API key, until
        `delete_current`. For creating a first key."""
        self._http.show()
        body = {"email": email, "password": password, "org_id": org_id}
        response = self._http.respond("POST", "sessions", body)
        # By hand: no jar would give a Secure cookie back to http://localhost.
        cookie = response.headers["set-cookie"].partition(";")[0]
        self._http.show(cookie=cookie, **{"sec-fetch-site": "same-origin"})
        return models.User.model_validate(json_in(response))

    def delete(self, session_id: str) -> None:
        self._http.delete(f"sessions/{session_id}")

    def delete_current(self) -> None:
        """Sign out. The client has no credential then."""
        self._http.delete("sessions/current")
        self._http.show()


class Organization:
    """For its admins."""

    def __init__(self, http: Http) -> None:
        self.settings = OrganizationSettings(http)
        self.audit_log = AuditLog(http)
        self.chats = OrganizationChats(http)


class OrganizationSettings:
    """`etag`: of the settings that were read or written last."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.etag: str | None = None

    def retrieve(self) -> models.OrganizationSettings:
        return self._read(self._http.respond("GET", "organization/settings"))

    def update(
        self,
        *,
        default_model: str | NotGiven | None = NOT_GIVEN,
        allowed_models: Iterable[str] | NotGiven | None = NOT_GIVEN,
        instructions: str | NotGiven | None = NOT_GIVEN,
        max_steps_per_turn: int | NotGiven | None = NOT_GIVEN,
        oidc_sign_up_enabled: bool | NotGiven | None = NOT_GIVEN,
        web_tools_enabled: bool | NotGiven | None = NOT_GIVEN,
        approvals: dict[str, Any] | NotGiven | None = NOT_GIVEN,
        if_match: str | None = None,
    ) -> models.OrganizationSettings:
        """Change what is given; None unsets it. `if_match`: an `etag`."""
        if isinstance(allowed_models, Iterable):
            allowed_models = [*allowed_models]
        body = changed(
            default_model=default_model,
            allowed_models=allowed_models,
            instructions=instructions,
            max_steps_per_turn=max_steps_per_turn,
            oidc_sign_up_enabled=oidc_sign_up_enabled,
            web_tools_enabled=web_tools_enabled,
            approvals=approvals,
        )
        return self._read(self._http.patch("organization/settings", body, if_match))

    def _read(self, response: httpx2.Response) -> models.OrganizationSettings:
        self.etag = response.headers.get("etag")
        return models.OrganizationSettings.model_validate(json_in(response))


class AuditLog:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self, *, actor_id: str | None = None, limit: int | None = None
    ) -> Generator[models.AuditEntry]:
        """What was done in the organization, newest first."""
        found = self._http.pages("organization/audit-log", limit, actor_id=actor_id)
        with closing(found) as pages:
            for page in pages:
                for each in page:
                    yield models.AuditEntry.model_validate(each)


class OrganizationChats:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, *, limit: int | None = None) -> Generator[models.ChatSummary]:
        """The chats of all members, last updated first."""
        with closing(self._http.pages("organization/chats", limit)) as pages:
            for page in pages:
                for each in page:
                    yield models.ChatSummary.model_validate(each)
