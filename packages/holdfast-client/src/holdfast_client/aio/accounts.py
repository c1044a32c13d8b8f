"""Users, API keys, sessions, and the organization."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Literal

import httpx2

from holdfast_client import admin_models, models
from holdfast_client.aio.administration import (
    AsyncApprovalRules,
    AsyncAuditLog,
    AsyncOrganizationUsers,
)
from holdfast_client.aio.catalogue import AsyncOrganizationModels, AsyncOrganizationProviders
from holdfast_client.aio.http import AsyncHttp, json_in
from holdfast_client.content import NOT_GIVEN, NotGiven, changed, given


class AsyncUsers:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncGenerator[models.User]:
        async with aclosing(self._http.pages("users")) as pages:
            async for page in pages:
                for each in page:
                    yield models.User.model_validate(each)

    async def create(
        self,
        name: str,
        email: str,
        *,
        role: Literal["admin", "member"] = "member",
        password: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.User:
        body = {"name": name, "email": email, "role": role, "password": password}
        made = await self._http.change("POST", "users", body, idempotency_key)
        return models.User.model_validate(made)

    async def retrieve(self, user_id: str) -> models.User:
        return models.User.model_validate(await self._http.get(f"users/{user_id}"))

    async def update(
        self,
        user_id: str,
        *,
        role: Literal["admin", "member"] | None = None,
        disabled: bool | None = None,
        keep_api_keys: bool = False,
        if_match: str | None = None,
    ) -> admin_models.ChangedUser:
        """What is None stays. Every credential of a disabled user stops working, and is revoked for
        good; `keep_api_keys`: API keys work again when the user is enabled."""
        body = given(role=role, disabled=disabled, keep_api_keys=keep_api_keys or None)
        response = await self._http.patch(f"users/{user_id}", body, if_match)
        return admin_models.ChangedUser.model_validate(json_in(response))

    async def set_password(
        self, user_id: str, password: str, *, keep_api_keys: bool = False
    ) -> admin_models.ChangedUser:
        """By an admin; ends every session of the user, and revokes the API keys unless they are
        kept. `revoked_api_key_count`: how many."""
        body = given(password=password, keep_api_keys=keep_api_keys or None)
        return admin_models.ChangedUser.model_validate(
            await self._http.put(f"users/{user_id}/password", body)
        )


class AsyncApiKeys:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, user_id: str = "me") -> AsyncGenerator[models.ApiKey]:
        """Your own keys; `any`, or the id of a user: those of others, for an admin."""
        async with aclosing(self._http.pages("api-keys", user_id=user_id)) as pages:
            async for page in pages:
                for each in page:
                    yield models.ApiKey.model_validate(each)

    async def create(
        self,
        name: str,
        *,
        scopes: Iterable[str] = ("read", "write"),
        expires_at: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.CreatedApiKey:
        """In a session (`sessions.create`): no key creates a key. The secret is shown this once.
        `expires_at`: a time with its zone, ISO 8601, or `never`; None: after 90 days. Repeated
        only with a key of yours: the secret cannot be shown again, so a repeat is `ConflictError`
        (`api_key_already_created`)."""
        body = {"name": name, "scopes": sorted(scopes), "expires_at": expires_at}
        made = await self._http.post("api-keys", body, idempotency_key)
        return models.CreatedApiKey.model_validate(made)

    async def revoke(self, api_key_id: str) -> None:
        await self._http.delete(f"api-keys/{api_key_id}")


class AsyncProviderKeys:
    """Your own keys for providers of models, where an admin allows them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> list[admin_models.ProviderKey]:
        """The providers that allow a key of yours; `has_key`: whether one is stored."""
        found = await self._http.get("provider-keys")
        return [admin_models.ProviderKey.model_validate(each) for each in found["data"]]

    async def set(self, provider_id: str, key: str) -> admin_models.ProviderKey:
        """It is used in your chats from the next attempt on, and is never returned."""
        path = f"provider-keys/{provider_id}"
        return admin_models.ProviderKey.model_validate(await self._http.put(path, {"key": key}))

    async def delete(self, provider_id: str) -> None:
        """Your chats use the key of the provider again."""
        await self._http.delete(f"provider-keys/{provider_id}")


class AsyncSessions:
    """Signed-in browsers, and programs that sign in as one."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, user_id: str = "me") -> AsyncGenerator[models.Session]:
        """Your own sessions; `any`, or the id of a user: those of others, for an admin."""
        async with aclosing(self._http.pages("sessions", user_id=user_id)) as pages:
            async for page in pages:
                for each in page:
                    yield models.Session.model_validate(each)

    async def create(self, email: str, password: str, *, org_id: str | None = None) -> models.User:
        """Sign in. The client then uses this session in place of its API key, until
        `delete_current`. For creating a first key."""
        self._http.show()
        body = {"email": email, "password": password, "org_id": org_id}
        return self._opened(await self._http.respond("POST", "sessions", body))

    async def create_by_link(self, token: str, password: str) -> models.User:
        """Set the password of the link's user and sign in, as `create` does."""
        self._http.show()
        body = {"token": token, "password": password}
        return self._opened(await self._http.respond("POST", "sessions/by-account-link", body))

    def _opened(self, response: httpx2.Response) -> models.User:
        # By hand: no jar would give a Secure cookie back to http://localhost.
        cookie = response.headers["set-cookie"].partition(";")[0]
        self._http.show(cookie=cookie, **{"sec-fetch-site": "same-origin"})
        return models.User.model_validate(json_in(response))

    async def delete(self, session_id: str) -> None:
        await self._http.delete(f"sessions/{session_id}")

    async def delete_current(self) -> None:
        """Sign out. The client has no credential then."""
        await self._http.delete("sessions/current")
        self._http.show()


class AsyncOrganization:
    """For its admins."""

    def __init__(self, http: AsyncHttp) -> None:
        self.settings = AsyncOrganizationSettings(http)
        self.providers = AsyncOrganizationProviders(http)
        self.models = AsyncOrganizationModels(http)
        self.users = AsyncOrganizationUsers(http)
        self.approvals = AsyncApprovalRules(http)
        self.audit_log = AsyncAuditLog(http)
        self.chats = AsyncOrganizationChats(http)
        self._http = http

    async def overview(self) -> admin_models.Overview:
        """What the server found about itself, its workers, and what waits."""
        return admin_models.Overview.model_validate(await self._http.get("organization/overview"))


class AsyncOrganizationSettings:
    """`etag`: of the settings that were read or written last."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
        self.etag: str | None = None

    async def retrieve(self) -> admin_models.OrganizationSettings:
        return self._read(await self._http.respond("GET", "organization/settings"))

    async def update(
        self,
        *,
        default_model: str | NotGiven | None = NOT_GIVEN,
        explore_model: str | NotGiven | None = NOT_GIVEN,
        title_model: str | NotGiven | None = NOT_GIVEN,
        compaction_model: str | NotGiven | None = NOT_GIVEN,
        advisor_model: str | NotGiven | None = NOT_GIVEN,
        advisor_enabled: bool | NotGiven | None = NOT_GIVEN,
        advisor_uses_max: int | NotGiven | None = NOT_GIVEN,
        advisor_output_max: int | NotGiven | None = NOT_GIVEN,
        advisor_effort: str | NotGiven | None = NOT_GIVEN,
        allowed_models: Iterable[str] | NotGiven | None = NOT_GIVEN,
        instructions: str | NotGiven | None = NOT_GIVEN,
        max_steps_per_turn: int | NotGiven | None = NOT_GIVEN,
        compaction_percent: int | NotGiven = NOT_GIVEN,
        oidc_sign_up_enabled: bool | NotGiven | None = NOT_GIVEN,
        api_key_days_max: int | NotGiven | None = NOT_GIVEN,
        web_tools_enabled: bool | NotGiven | None = NOT_GIVEN,
        approvals: dict[str, Any] | NotGiven | None = NOT_GIVEN,
        if_match: str | None = None,
    ) -> admin_models.OrganizationSettings:
        """Change what is given; None unsets it. `if_match`: an `etag`."""
        if isinstance(allowed_models, Iterable):
            allowed_models = [*allowed_models]
        body = changed(
            default_model=default_model,
            explore_model=explore_model,
            title_model=title_model,
            compaction_model=compaction_model,
            advisor_model=advisor_model,
            advisor_enabled=advisor_enabled,
            advisor_uses_max=advisor_uses_max,
            advisor_output_max=advisor_output_max,
            advisor_effort=advisor_effort,
            allowed_models=allowed_models,
            instructions=instructions,
            max_steps_per_turn=max_steps_per_turn,
            compaction_percent=compaction_percent,
            oidc_sign_up_enabled=oidc_sign_up_enabled,
            api_key_days_max=api_key_days_max,
            web_tools_enabled=web_tools_enabled,
            approvals=approvals,
        )
        return self._read(await self._http.patch("organization/settings", body, if_match))

    def _read(self, response: httpx2.Response) -> admin_models.OrganizationSettings:
        self.etag = response.headers.get("etag")
        return admin_models.OrganizationSettings.model_validate(json_in(response))


class AsyncOrganizationChats:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, *, limit: int | None = None) -> AsyncGenerator[models.ChatSummary]:
        """The chats of all members, last updated first."""
        async with aclosing(self._http.pages("organization/chats", limit)) as pages:
            async for page in pages:
                for each in page:
                    yield models.ChatSummary.model_validate(each)

    async def stop(self, chat_id: str, *, idempotency_key: str | None = None) -> models.Receipt:
        """End the turn of any member's chat, and pause its queue. The audit log gets an entry."""
        path = f"organization/chats/{chat_id}/stop"
        return models.Receipt.model_validate(
            await self._http.change("POST", path, None, idempotency_key)
        )
