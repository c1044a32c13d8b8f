"""What admins look at and do: the state of the server, people, approval rules, the audit log."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from holdfast_client import admin_models
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.content import given


class AsyncOrganizationUsers:
    """Users with what only admins see of them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self, q: str | None = None, *, limit: int | None = None
    ) -> AsyncGenerator[admin_models.OrganizationUser]:
        """By name. `q`: words, each of them in the name or the e-mail."""
        async with aclosing(self._http.pages("organization/users", limit, q=q)) as pages:
            async for page in pages:
                for each in page:
                    yield admin_models.OrganizationUser.model_validate(each)

    async def create_link(self, user_id: str) -> admin_models.AccountLink:
        """A link by which the user sets a password and is signed in. An earlier link ends."""
        return admin_models.AccountLink.model_validate(
            await self._http.post(f"users/{user_id}/link")
        )

    async def revoke_sessions(self, user_id: str) -> None:
        """Sign the user out of every browser. API keys stay valid."""
        await self._http.delete(f"users/{user_id}/sessions")


class AsyncApprovalRules:
    """`organization.settings` changes the rules of the organization."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def retrieve(self) -> admin_models.Approvals:
        return admin_models.Approvals.model_validate(await self._http.get("organization/approvals"))

    async def try_call(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        approvals: dict[str, Any] | None = None,
    ) -> admin_models.TriedApprovals:
        """Which rule decides about a call; nothing is run. `approvals`: rules to try instead of
        those of the organization."""
        body = {"tool": tool, "arguments": arguments or {}, **given(approvals=approvals)}
        return admin_models.TriedApprovals.model_validate(
            await self._http.post("organization/approvals/try", body)
        )


class AsyncAuditLog:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self,
        *,
        actor_id: str | None = None,
        action: str | None = None,
        target_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[admin_models.AuditEntry]:
        """What was done in the organization, newest first. `action`: such as `user.created`, or
        `user` for all that begin with `user.`. `since`, `until`: times with a zone, ISO 8601."""
        found = self._http.pages(
            "organization/audit-log",
            limit,
            actor_id=actor_id,
            action=action,
            target_id=target_id,
            since=since,
            until=until,
        )
        async with aclosing(found) as pages:
            async for page in pages:
                for each in page:
                    yield admin_models.AuditEntry.model_validate(each)
