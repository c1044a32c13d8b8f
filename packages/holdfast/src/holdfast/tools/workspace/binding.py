"""The workspace of a chat, for one turn: resolved once, when first needed, and kept (L109).

An agent that does not answer at its address is looked for again, once for all callers that noticed,
and asked once more. Only what may safely be asked twice goes through `use`; the rest through
`once`.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from hashlib import sha256
from typing import Final, TypeAlias, TypeVar

from holdfast.adapters.workspaces.client import AgentClient, AgentGone
from holdfast.domain.chat import Chat
from holdfast.domain.errors import Unavailable
from holdfast.domain.workspaces import Workspace, WorkspaceStatus
from holdfast.ports.workspaces import Workspaces, WorkspaceUnusable
from holdfast_agent.wire import About

R = TypeVar("R")
Connect: TypeAlias = Callable[[Workspace], AbstractAsyncContextManager[AgentClient]]
Ask: TypeAlias = Callable[[AgentClient], Awaitable[R]]

TOUCH_EVERY_S: Final = 60.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,150}")
_LOG: Final = logging.getLogger(__name__)

NONE_YET: Final = "This chat has no workspace yet. Call create_workspace, then try again."
NOT_RUNNING: Final[Mapping[WorkspaceStatus, str]] = {
    WorkspaceStatus.STARTING: "The workspace is starting. Call start_workspace to wait for it.",
    WorkspaceStatus.STOPPING: "The workspace is being stopped. Call start_workspace to use it.",
    WorkspaceStatus.STOPPED: "The workspace is stopped. Call start_workspace, then try again.",
    WorkspaceStatus.DELETED: NONE_YET,
}
FAILED: Final = (
    "The workspace could not be started: {error} Call start_workspace to try once more; if that "
    "fails, tell the user."
)
GONE: Final = (
    "The workspace cannot be reached ({error}). Try again; if that fails, call stop_workspace and "
    "then start_workspace."
)


def agent_key(key: str) -> str:
    """A call's key as an agent takes it: whatever a model thought of as an id, it is short."""
    return key if _PLAIN.fullmatch(key) else sha256(key.encode("utf-8", "replace")).hexdigest()


class Binding:
    """`stack` ends with the turn, and with it the connections."""

    def __init__(
        self, chat: Chat, workspaces: Workspaces, connect: Connect, stack: AsyncExitStack
    ) -> None:
        self.chat = chat
        self.chat_id = str(chat.chat_id)
        self.workspaces = workspaces
        self._connect = connect
        self._stack = stack
        self._lock = asyncio.Lock()
        self._bound: tuple[Workspace, AgentClient] | None = None
        self._touched_s: float | None = None
        self.place: str | None = None
        """Names the workspace and its agent's journal, once this turn has heard of both. A
        workspace that was made anew has another one, and so has an agent that lost its disk."""
        self.has_network = True
        """Whether commands may reach other machines; True until its agent has said that they
        cannot."""

    async def use(self, ask: Ask[R]) -> R:
        """Ask the agent something that may be asked twice.

        Raises `WorkspaceUnusable` with a sentence for the model, and `AgentRefused`.
        """
        workspace, agent = await self._resolved()
        try:
            return await ask(agent)
        except AgentGone as gone:
            _LOG.info(
                "tools: agent of workspace %s does not answer: %s", workspace.workspace_id, gone
            )
        agent = await self._repaired(workspace)
        try:
            return await ask(agent)
        except AgentGone as gone:
            raise WorkspaceUnusable(GONE.format(error=gone)) from gone

    async def about(self) -> About:
        """What the agent says of itself; kept of it: `place`."""
        return await self.use(self.hear_of)

    async def hear_of(self, agent: AgentClient) -> About:
        about = await agent.about()
        bound = self._bound
        if bound is not None and bound[1] is agent:
            self.place = f"{bound[0].workspace_id.hex}.{about.journal_id}"
            self.has_network = about.surroundings.network != "none"
        return about

    async def once(self, ask: Ask[R]) -> R:
        """Ask what must not be asked twice. Raises `AgentGone` where the outcome is unknown,
        but not because the agent had moved: whether it is there is asked first."""
        await self.use(lambda agent: agent.about())
        _, agent = await self._resolved()
        return await ask(agent)

    async def change(self, doing: Callable[[], Awaitable[Workspace]]) -> Workspace:
        """Create, start or stop it; other callers of the agent wait for the outcome."""
        async with self._lock:
            self._bound = self.place = None
            self.has_network = True
            workspace = await doing()
            if workspace.status is WorkspaceStatus.RUNNING:
                await self._bind(workspace)
            return workspace

    async def found(self) -> Workspace | None:
        """The workspace as it is now, bound to if it runs."""
        async with self._lock:
            if self._bound is None:
                workspace = await self.workspaces.of_chat(self.chat.chat_id)
                if workspace is None or workspace.status is not WorkspaceStatus.RUNNING:
                    return workspace
                await self._bind(workspace)
            assert self._bound is not None
            return self._bound[0]

    async def _resolved(self) -> tuple[Workspace, AgentClient]:
        workspace = await self.found()
        if workspace is None:
            raise WorkspaceUnusable(NONE_YET)
        bound = self._bound
        if bound is None:
            raise WorkspaceUnusable(_why_not(workspace))
        await self._touch()
        return bound

    async def _repaired(self, known: Workspace) -> AgentClient:
        """One repair for all who noticed: the others find what it brought."""
        async with self._lock:
            if self._bound is None or self._bound[0] is known:
                self._bound = None
                await self._bind(await self.workspaces.repair(known))
            assert self._bound is not None
            return self._bound[1]

    async def _bind(self, workspace: Workspace) -> None:
        agent = await self._stack.enter_async_context(self._connect(workspace))
        self._bound = (workspace, agent)
        self.place = None

    async def _touch(self) -> None:
        """Something happens here: it lives on (L110). Who works for an hour says so again."""
        now_s = asyncio.get_running_loop().time()
        if self._touched_s is not None and now_s - self._touched_s < TOUCH_EVERY_S:
            return
        self._touched_s = now_s
        try:
            await self.workspaces.touch(self.chat.chat_id)
        except Unavailable as error:
            _LOG.warning(
                "tools: workspace of chat %s may stop as idle: %s", self.chat.chat_id, error
            )


def _why_not(workspace: Workspace) -> str:
    if workspace.status is WorkspaceStatus.FAILED:
        return FAILED.format(error=workspace.error or "no reason is known.")
    return NOT_RUNNING.get(workspace.status, NONE_YET)
