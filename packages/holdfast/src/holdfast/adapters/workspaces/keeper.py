"""The keeper: one workspace per chat, for all callers on all replicas.

    create, start → STARTING → RUNNING → (stop, time is up) STOPPING → STOPPED → …
                       └→ FAILED                                └→ FAILED

The row decides. The server that brings it to STARTING, STOPPING or DELETED does the work, in a task
that no caller can cancel, and renews its claim; all others wait for the row to settle. A claim that
is not renewed for `lapse_s` by the database's clock passes to the next server that asks.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final, NoReturn

from holdfast.adapters.workspaces.known import Known
from holdfast.adapters.workspaces.options import KeeperOptions
from holdfast.adapters.workspaces.probing import about
from holdfast.adapters.workspaces.provisioning import Provisioner, ProvisionFailed
from holdfast.adapters.workspaces.working import Work, open_work
from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChangedMeanwhile, Unavailable
from holdfast.domain.ids import ChatId
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.ports.clock import Clock
from holdfast.ports.workspaces import (
    NoWorkspace,
    Template,
    TooManyWorkspaces,
    WorkspaceStore,
    WorkspaceUnusable,
)

NONE_THERE: Final = "This chat has no workspace. Create one with create_workspace."
TOUCHES_PER_TTL: Final = 4
"""At least so many, if there is activity: a single one that is lost must not end a workspace."""
_LOG: Final = logging.getLogger(__name__)


class _Looks:
    """Looks at a row until it is as one wants it: at once when work of this process ends, else now
    and then, and not for ever."""

    def __init__(
        self, work: Work, known: Known, chat_id: ChatId, options: KeeperOptions, longest_s: float
    ) -> None:
        self._work = work
        self._known = known
        self._chat_id = chat_id
        self._pause_s = 0.0
        self._options = options
        self._until = asyncio.get_running_loop().time() + longest_s + options.patience_s

    async def again(self) -> bool:
        """The first time at once; False when time is up."""
        if not self._pause_s:
            self._pause_s = self._options.look_first_s
            return True
        left_s = self._until - asyncio.get_running_loop().time()
        known = self._known.of(self._chat_id)
        if known is None or not await self._work.wait(known.workspace_id, left_s):
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(self._pause_s * 2, self._options.look_s_max)
        return asyncio.get_running_loop().time() < self._until


class Keeper:
    """Implements `ports.workspaces.Workspaces`; see `open_keeper`."""

    def __init__(
        self,
        store: WorkspaceStore,
        provisioners: Sequence[Provisioner],
        clock: Clock,
        new_id: Callable[[], WorkspaceId],
        work: Work,
        options: KeeperOptions,
    ) -> None:
        self._store = store
        self._provisioners: Mapping[str, Provisioner] = {
            each.template.name: each for each in provisioners
        }
        self._clock = clock
        self._new_id = new_id
        self._work = work
        self._options = options
        self._lapse = timedelta(seconds=options.lapse_s)
        self._known = Known(options.known_max, options.touch_every_s)
        self.counters = work.counters

    @property
    def templates(self) -> Sequence[Template]:
        return [each.template for each in self._provisioners.values()]

    def observe_starts(self, observe: Callable[[float], None]) -> None:
        self._work.observe_start = observe

    def token_of(self, workspace: Workspace) -> str | None:
        provisioner = self._provisioners.get(workspace.template)
        return None if provisioner is None else provisioner.token(workspace)

    async def of_chat(self, chat_id: ChatId) -> Workspace | None:
        found = await self._store.of_chat(chat_id)
        self._know(chat_id, found)
        return found

    async def create(self, chat: Chat, template: str | None = None, *, ttl_s: int = 0) -> Workspace:
        async def add() -> Workspace | None:
            """None: another request was faster."""
            offered = self._offered(template)
            new = Workspace(
                workspace_id=self._new_id(),
                org_id=chat.org_id,
                owner_id=chat.owner_id,
                chat_id=chat.chat_id,
                template=offered.template.name,
                status=WorkspaceStatus.STARTING,
                ttl_s=ttl_s,
            )
            added = await self._added(new)
            if added is not None:
                self._know(chat.chat_id, added)
                self._work.start(added, offered)
            return added

        return await self._bring_up(chat.chat_id, add)

    async def _added(self, new: Workspace) -> Workspace | None:
        try:
            return await self._store.add(new, owned_max=self._options.owned_max)
        except TooManyWorkspaces:
            # The last one that they may have may be this chat's, made a moment ago.
            if await self._store.of_chat(new.chat_id) is not None:
                return None
            self.counters.refused += 1
            raise

    async def start(self, chat_id: ChatId) -> Workspace:
        return await self._bring_up(chat_id, _none_there)

    async def stop(self, chat_id: ChatId) -> Workspace:
        asked, looks = False, self._looks(chat_id)
        while await looks.again():
            seen = await self.of_chat(chat_id) or await _none_there()
            if seen.status is WorkspaceStatus.STOPPED:
                return seen
            if asked and seen.status is WorkspaceStatus.FAILED:
                raise WorkspaceUnusable(_why(seen))
            asked = await self._claim(seen, WorkspaceStatus.STOPPING) is not None or asked
        raise WorkspaceUnusable("The workspace is still being stopped. Ask again in a moment.")

    async def delete(
        self, chat_id: ChatId, *, expected: Collection[int] | None = None
    ) -> Workspace:
        looks = self._looks(chat_id)
        while await looks.again():
            seen = await self.of_chat(chat_id) or await _none_there()
            if expected is not None and seen.version not in expected:
                raise ChangedMeanwhile
            claimed = await self._claim(seen, WorkspaceStatus.DELETED)
            if claimed is not None:
                self._know(chat_id, None)
                await self._work.wait(claimed.workspace_id, self._options.patience_s)
                return claimed
        raise WorkspaceUnusable(
            "The workspace is still being started or stopped. Delete it again in a moment."
        )

    async def repair(self, workspace: Workspace) -> Workspace:
        seen = await self._store.find(workspace.workspace_id)
        match None if seen is None else seen.status:
            case WorkspaceStatus.RUNNING if seen is not None:
                return await self._repaired(seen)
            case WorkspaceStatus.STARTING:
                return await self._bring_up(workspace.chat_id, _none_there)
            case WorkspaceStatus.STOPPED | WorkspaceStatus.STOPPING:
                raise WorkspaceUnusable(
                    "The workspace was stopped; its files are kept. Start it with start_workspace."
                )
            case WorkspaceStatus.FAILED if seen is not None:
                raise WorkspaceUnusable(_why(seen))
            case _:
                raise NoWorkspace("The workspace was deleted. Create a new one: create_workspace.")

    async def touch(self, chat_id: ChatId) -> None:
        due = self._known.due(chat_id, asyncio.get_running_loop().time())
        if due is None:
            return
        stops_in = timedelta(seconds=self._ttl_s(due))
        if not await self._store.touch(due.workspace_id, stops_in=stops_in):
            self._know(chat_id, None)  # stopped elsewhere; the next caller looks it up again

    async def sweep(self) -> int:
        """Stop what lies idle, finish what others began, remove what is left of deleted ones."""
        names, limit = tuple(self._provisioners), self._options.swept_max
        abandoned = timedelta(seconds=self._options.abandoned_s)
        expired = await self._store.claim_expired(names, limit=limit)
        self.counters.expired += len(expired)
        claimed = [
            *expired,
            *await self._store.claim_abandoned(names, lapse=abandoned, limit=limit),
            *await self._store.claim_remains(names, lapse=abandoned, limit=limit),
        ]
        for batch in range(0, len(claimed), self._options.at_once_max):
            at_once = claimed[batch : batch + self._options.at_once_max]
            for each in at_once:
                self._begin(each)
            for each in at_once:
                await self._work.wait(each.workspace_id, self._options.patience_s)
        for each in self._provisioners.values():
            await each.tidy()
        return len(claimed)

    # Bringing one up.

    async def _bring_up(
        self, chat_id: ChatId, add: Callable[[], Awaitable[Workspace | None]]
    ) -> Workspace:
        waited, looks = False, self._looks(chat_id)
        while await looks.again():
            seen = await self.of_chat(chat_id) or await add()
            if seen is None:
                waited = True  # for the server that was faster: its outcome is our answer, too
                continue
            match seen.status:
                case WorkspaceStatus.RUNNING:
                    return seen
                case WorkspaceStatus.FAILED if waited:
                    raise WorkspaceUnusable(_why(seen))
                case WorkspaceStatus.STOPPED if waited:
                    raise WorkspaceUnusable(
                        "The workspace was stopped while it started. Start it again if you need it:"
                        " start_workspace."
                    )
                case WorkspaceStatus.STARTING if not self._has_lapsed(seen):
                    waited = True
                case WorkspaceStatus.STOPPING if not self._has_lapsed(seen):
                    pass
                case _:
                    # Of several, one claims it. What comes of that is the others' answer, too: they
                    # would else start it again, one after the other, however often it fails.
                    await self._claim(seen, WorkspaceStatus.STARTING)
                    waited = True
        raise WorkspaceUnusable(
            "The workspace is still being started. Try again in a moment; if it stays so, ask an"
            " administrator to look at its template."
        )

    async def _repaired(self, seen: Workspace) -> Workspace:
        """It should run. Two who repair at once do it once: the claim compares versions."""
        provisioner = self._of(seen)
        try:
            address = await provisioner.find(seen)
        except ProvisionFailed as error:
            raise WorkspaceUnusable(
                f"Cannot determine whether the workspace runs: {error} Try again in a moment."
            ) from error
        if address is not None and await about(address, provisioner.token(seen)) is not None:
            if address == seen.address:
                return seen
            moved = await self._store.settle(
                seen, WorkspaceStatus.RUNNING, address=address, stops_in=self._stops_in(seen)
            )
            if moved is not None:
                self._know(seen.chat_id, moved)
                return moved
        elif await self._claim(seen, WorkspaceStatus.STARTING) is not None:
            self.counters.repairs += 1
        return await self._bring_up(seen.chat_id, _none_there)

    async def _claim(self, seen: Workspace, status: WorkspaceStatus) -> Workspace | None:
        """Ours to bring there, and begun; None if others are at it, or were faster."""
        self._of(seen)
        if not seen.is_settled and not self._has_lapsed(seen):
            return None
        claimed = await self._store.claim(seen, status, lapse=self._lapse)
        if claimed is not None:
            self._begin(claimed)
        return claimed

    def _begin(self, claimed: Workspace) -> None:
        provisioner = self._of(claimed)
        match claimed.status:
            case WorkspaceStatus.STARTING:
                self._work.start(claimed, provisioner)
            case WorkspaceStatus.STOPPING:
                self._work.stop(claimed, provisioner)
            case _:
                assert claimed.status is WorkspaceStatus.DELETED, claimed.status
                self._work.delete(claimed, provisioner)

    def _looks(self, chat_id: ChatId) -> "_Looks":
        longest_s = max((each.start_s for each in self._provisioners.values()), default=0.0)
        return _Looks(self._work, self._known, chat_id, self._options, longest_s)

    # What is known.

    def _offered(self, template: str | None) -> Provisioner:
        if not self._provisioners:
            raise WorkspaceUnusable(
                "This server offers no workspaces. An administrator can set HOLDFAST_TEMPLATES."
            )
        name = next(iter(self._provisioners)) if template is None else template
        if name not in self._provisioners:
            offered = ", ".join(self._provisioners)
            raise WorkspaceUnusable(f"There is no template {name!r}. Choose one of: {offered}.")
        return self._provisioners[name]

    def _of(self, workspace: Workspace) -> Provisioner:
        provisioner = self._provisioners.get(workspace.template)
        if provisioner is None:
            raise WorkspaceUnusable(
                f"The workspace was made from the template {workspace.template!r}, which is no"
                " longer offered. Ask an administrator to offer it again."
            )
        return provisioner

    def _has_lapsed(self, seen: Workspace) -> bool:
        """Only whether to ask: the statement that claims compares again, by its own clock."""
        assert seen.changed_at is not None, "as the database has it"
        return self._clock.now() - seen.changed_at > self._lapse

    def _ttl_s(self, workspace: Workspace) -> int:
        provisioner = self._provisioners.get(workspace.template)
        return workspace.ttl_s or (0 if provisioner is None else provisioner.template.ttl_s)

    def _stops_in(self, workspace: Workspace) -> timedelta | None:
        ttl_s = self._ttl_s(workspace)
        return timedelta(seconds=ttl_s) if ttl_s else None

    def _know(self, chat_id: ChatId, found: Workspace | None) -> None:
        ttl_s = 0 if found is None or found.stops_at is None else self._ttl_s(found)
        every_s = ttl_s / TOUCHES_PER_TTL if ttl_s else None
        self._known.see(chat_id, found, every_s, asyncio.get_running_loop().time())


async def _none_there() -> NoReturn:
    raise NoWorkspace(NONE_THERE)


def _why(failed: Workspace) -> str:
    return failed.error or "The workspace failed; no reason is known. Start it again."


@asynccontextmanager
async def open_keeper(
    store: WorkspaceStore,
    provisioners: Sequence[Provisioner],
    clock: Clock,
    new_id: Callable[[], WorkspaceId],
    options: KeeperOptions | None = None,
) -> AsyncGenerator[Keeper]:
    """Leaving ends the work under way: others take it over after a while. What runs goes on."""
    options = options or KeeperOptions()
    async with open_work(store, options) as work:
        yield Keeper(store, provisioners, clock, new_id, work, options)


async def keep_swept(keeper: Keeper, every_s: float) -> None:
    """On every replica: of several that sweep at once, each claims its own."""
    while True:
        await asyncio.sleep(every_s)
        try:
            swept = await keeper.sweep()
        except Unavailable as error:
            _LOG.warning("workspaces: sweep failed: %s", error)
        else:
            if swept:
                _LOG.info("workspaces: %d removed by the sweep", swept)
