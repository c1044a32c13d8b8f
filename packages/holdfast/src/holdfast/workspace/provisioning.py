"""How a workspace comes to be somewhere: what every kind of template can do.

All of it may be asked twice, by two servers at once or by one after another that died: what runs is
not started again, what is gone need not be stopped.
"""

import hashlib
import hmac
from typing import Final, Protocol

from holdfast.domain.workspaces import Workspace
from holdfast.ports.workspaces import Template

SAID_CHARS_MAX: Final = 2_000
_PURPOSE: Final = b"holdfast workspace agent\x00"


class ProvisionFailed(Exception):
    """It did not work. The words are for people: what happened and what to do next."""


class Provisioner(Protocol):
    """One template, and what it takes to have workspaces of it."""

    @property
    def template(self) -> Template: ...

    @property
    def start_s(self) -> float:
        """How long it may take until the agent answers."""
        ...

    async def start(self, workspace: Workspace) -> str:
        """The address of its agent, which may still be about to listen. Raises
        `ProvisionFailed`, here and below."""
        ...

    async def find(self, workspace: Workspace) -> str | None:
        """The address of its agent, if it runs."""
        ...

    async def stop(self, workspace: Workspace) -> None:
        """Nothing of it runs afterwards; its files stay."""
        ...

    async def delete(self, workspace: Workspace) -> None:
        """Nothing of it is left."""
        ...

    async def tidy(self) -> None:
        """Now and then: what grows is cut."""
        ...

    def token(self, workspace: Workspace) -> str | None:
        """What its agent wants to be shown."""
        ...


def agent_token(secret: str, workspace: Workspace) -> str:
    """The same on every replica, and never stored: it follows from the server's secret."""
    said = _PURPOSE + workspace.workspace_id.bytes
    return hmac.new(secret.encode(), said, hashlib.sha256).hexdigest()


def for_people(said: bytes) -> str:
    """The end of what a program said, as text that can be shown."""
    text = said.decode("utf-8", errors="replace")[-SAID_CHARS_MAX:]
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
