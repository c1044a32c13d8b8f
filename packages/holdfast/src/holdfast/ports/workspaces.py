"""What tools and people need of workspaces: find, create, start, stop, keep alive."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from holdfast.domain.chat import Chat
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import ChatId
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A kind of workspace that an administrator offers, as people and models see it."""

    name: str
    description: str = ""
    ttl_s: int = 0
    """How long one may lie idle; 0: for ever."""


class WorkspaceUnusable(HoldfastError):
    """The workspace cannot be used now. The words are for the model and for people: what is wrong
    and what to do next."""

    code = "workspace_unusable"


class NoWorkspace(WorkspaceUnusable):
    """There is none."""

    code = "workspace_not_found"


class TooManyWorkspaces(WorkspaceUnusable):
    """The owner of the chat has reached the limit."""

    code = "too_many_workspaces"

    def __init__(self, owned_max: int) -> None:
        super().__init__(
            f"No workspace was made: the owner of this chat has {owned_max}, as many as one may"
            " have here. Delete one that is not needed, or ask an administrator to raise"
            " HOLDFAST_WORKSPACES_PER_USER_MAX."
        )


class Workspaces(Protocol):
    @property
    def templates(self) -> Sequence[Template]:
        """The first one is the default."""
        ...

    async def of_chat(self, chat_id: ChatId) -> Workspace | None:
        """The one that is not deleted."""
        ...

    async def create(self, chat: Chat, template: str | None = None, *, ttl_s: int = 0) -> Workspace:
        """A running workspace for the chat. However many ask at once, one is made; one that runs is
        given, one that is stopped is started (L108). Raises `WorkspaceUnusable`."""
        ...

    async def start(self, chat_id: ChatId) -> Workspace:
        """Raises `WorkspaceUnusable` if there is none, or it does not start."""
        ...

    async def stop(self, chat_id: ChatId) -> Workspace: ...

    async def delete(
        self, chat_id: ChatId, *, expected: Collection[int] | None = None
    ) -> Workspace:
        """Whatever was in it is gone. `expected`: `ChangedMeanwhile` if its version is none of
        these."""
        ...

    async def repair(self, workspace: Workspace) -> Workspace:
        """After its agent could not be reached at `workspace.address`: look again, and start the
        agent anew if it is gone. Raises `WorkspaceUnusable`."""
        ...

    async def touch(self, chat_id: ChatId) -> None:
        """Something happened in the chat: its workspace, if it has one, lives on (L110).

        Costs nothing for a chat that this process has not seen with a workspace, and at most one
        statement per minute for others: ask `of_chat` first, once per turn."""
        ...

    def token_of(self, workspace: Workspace) -> str | None:
        """What its agent wants to be shown; None: it asks for nothing, behind a unix socket."""
        ...


class WorkspaceStore(Protocol):
    """Every method is one statement, and every time is the database's. What changes a workspace
    gives it as it is now, or None if it is no longer the version that was seen."""

    async def of_chat(self, chat_id: ChatId) -> Workspace | None: ...

    async def find(self, workspace_id: WorkspaceId) -> Workspace | None:
        """Deleted ones, too."""
        ...

    async def add(self, new: Workspace, *, owned_max: int) -> Workspace | None:
        """Being started. None if the chat has one already. Raises `TooManyWorkspaces`."""
        ...

    async def claim(
        self, seen: Workspace, status: WorkspaceStatus, *, lapse: timedelta
    ) -> Workspace | None:
        """Claim it, to start, stop or delete it. None also if another server has a claim that it
        renewed within `lapse`."""
        ...

    async def renew(self, mine: Workspace) -> bool:
        """Renew the claim; False if it has passed to another server."""
        ...

    async def settle(
        self,
        mine: Workspace,
        status: WorkspaceStatus,
        *,
        address: str | None = None,
        stops_in: timedelta | None = None,
        error: str | None = None,
    ) -> Workspace | None: ...

    async def touch(self, workspace_id: WorkspaceId, *, stops_in: timedelta) -> bool:
        """False if it does not run, or may run for ever."""
        ...

    async def claim_expired(self, templates: Collection[str], *, limit: int) -> Sequence[Workspace]:
        """Claim the workspaces that were idle for too long, for this process to stop."""
        ...

    async def claim_abandoned(
        self, templates: Collection[str], *, lapse: timedelta, limit: int
    ) -> Sequence[Workspace]:
        """Claim the workspaces whose claim lapsed and was not taken over, for this process to
        stop."""
        ...

    async def claim_remains(
        self, templates: Collection[str], *, lapse: timedelta, limit: int
    ) -> Sequence[Workspace]:
        """Deleted ones of which something is left, for us to remove."""
        ...

    async def removed(self, workspace_id: WorkspaceId) -> None:
        """Nothing of it is left."""
        ...
