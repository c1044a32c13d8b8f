# Made of holdfast_client/aio/administration.py by scripts/generate_sync.py. Do not edit.
"""What admins look at and do: the state of the server, people, approval rules, the audit log."""

from collections.abc import Generator
from contextlib import closing
from typing import Any

from holdfast_client import admin_models
from holdfast_client.content import given
from holdfast_client.sync.http import Http


class OrganizationUsers:
    """Users with what only admins see of them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self, q: str | None = None, *, limit: int | None = None
    ) -> Generator[admin_models.OrganizationUser]:
        """By name. `q`: words, each of them in the name or the e-mail."""
        with closing(self._http.pages("organization/users", limit, q=q)) as pages:
            for page in pages:
                for each in page:
                    yield admin_models.OrganizationUser.model_validate(each)

    def create_link(self, user_id: str) -> admin_models.AccountLink:
        """A link by which the user sets a password and is signed in. An earlier link ends."""
        return admin_models.AccountLink.model_validate(self._http.post(f"users/{user_id}/link"))

    def revoke_sessions(self, user_id: str) -> None:
        """Sign the user out of every browser. API keys stay valid."""
        self._http.delete(f"users/{user_id}/sessions")


class ApprovalRules:
    """`organization.settings` changes the rules of the organization."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def retrieve(self) -> admin_models.Approvals:
        return admin_models.Approvals.model_validate(self._http.get("organization/approvals"))

    def try_call(
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
            self._http.post("organization/approvals/try", body)
        )


class AuditLog:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self,
        *,
        actor_id: str | None = None,
        action: str | None = None,
        target_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> Generator[admin_models.AuditEntry]:
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
        with closing(found) as pages:
            for page in pages:
                for each in page:
                    yield admin_models.AuditEntry.model_validate(each)
