"""A workspace: a place with files and processes that a chat works in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

from holdfast.domain.ids import ChatId, OrgId, UserId

WorkspaceId = NewType("WorkspaceId", UUID)


class WorkspaceStatus(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """As the database has it. A chat has at most one that is not deleted."""

    workspace_id: WorkspaceId
    org_id: OrgId
    owner_id: UserId
    chat_id: ChatId
    template: str
    status: WorkspaceStatus
    version: int = 1
    """+ 1 with every change: a change names the version that it saw."""
    address: str | None = None
    """Where its agent listens while it runs: `unix:/path` or `http://host:port`."""
    ttl_s: int = 0
    """How long it may lie idle; 0: as its template says."""
    stops_at: datetime | None = None
    """When it is stopped unless something happens in its chat before. None: never."""
    error: str | None = None
    """Why it failed: a sentence for people."""
    created_at: datetime | None = None
    changed_at: datetime | None = None
    """When the replica that starts or stops it last said so: after a long silence another one takes
    over."""

    @property
    def is_settled(self) -> bool:
        """No replica starts or stops it just now."""
        return self.status not in (WorkspaceStatus.STARTING, WorkspaceStatus.STOPPING)
