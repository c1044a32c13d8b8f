"""Protections removed, one at a time, in the process that needs them: the harness must notice."""

import asyncio
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from holdfast_lab.chaos.weakened import WEAKENED

Patch = Callable[[], None]


@contextmanager
def instead_of(where: Any, name: str, other: Any) -> Generator[None]:
    """Where the protection stands in our own process: only for as long as it takes to notice."""
    before = getattr(where, name)
    setattr(where, name, other)
    try:
        yield
    finally:
        setattr(where, name, before)


async def nothing(self: Any) -> None:
    """In the place of what protects."""


def with_bodies(query: Any) -> Any:
    """The same statement, but what waits in the queue is read whole."""
    head = "coalesce(q.head, q.parts)"
    assert head in query.text, "the statement reads no queue"
    return replace(query, text=query.text.replace(head, "q.parts"))


def _bodies_in_facts() -> None:
    """The facts of a chat hold its whole queue, for every reader of them."""
    from holdfast.adapters.postgres import leases, store

    leases.ACQUIRE = with_bodies(leases.ACQUIRE)
    store.LOAD = with_bodies(store.LOAD)
    store.LOAD_MANY = with_bodies(store.LOAD_MANY)
    store.LOAD_TARGET = with_bodies(store.LOAD_TARGET)


def _no_fence() -> None:
    """A writer proves nothing: a worker whose chat was taken over may still commit.

    Two other walls stand before this one: a commit on an old version fails, and a worker whose
    lease lapsed stops its runners before they reload and try again. The second is taken down, too:
    else no zombie gets as far as the fence.
    """
    from holdfast.adapters.postgres.store import PostgresStore
    from holdfast.domain.fence import Fence
    from holdfast.worker.heartbeat import Lease

    commit = PostgresStore.commit

    async def unfenced(self: Any, outcome: Any, *, fence: Any = None, keyed: Any = None) -> Any:
        return await commit(self, outcome, fence=None, keyed=keyed)

    async def for_ever(self: Any) -> None:
        await asyncio.Event().wait()

    Fence.check = lambda self, chat: None
    PostgresStore.commit = unfenced
    Lease.until_lost = for_ever


def _no_fence_and_no_look() -> None:
    """A worker that is cut off has one more protection: without an answer, it looks whose chat it
    is before it tries again."""
    from holdfast.turn.turn import Turn

    _no_fence()
    Turn.holds = lambda self, chat: True


def _publish_before_commit() -> None:
    """Readers are told of what may never happen."""
    from holdfast.chats.ledger import Ledger
    from holdfast_lab.chaos.hasty import hasty_commit

    Ledger.commit = hasty_commit(0.1)


def _tools_again() -> None:
    """A worker that takes over runs every open call, whatever its effect."""
    from holdfast.turn.steps import run_tools

    plan = run_tools.plan

    def blindly(turn: Any, prompt: Any, toolbox: Any, calls: Any, rules: Any) -> Any:
        fresh = [replace(call, epoch=turn.chat.epoch) for call in calls]
        return plan(turn, prompt, toolbox, fresh, rules)

    run_tools.plan = blindly


def _words_made_anew() -> None:
    """A worker that takes a reply over asks for all of it again, whatever readers have seen."""
    from holdfast.turn.takeover import TakeoverReader

    async def nothing(self: Any, turn: Any) -> None:
        pass

    TakeoverReader.text = nothing


def _forgetful_bus() -> None:
    """Live parts are only in the memory of their publisher."""
    from holdfast.adapters.bus.lossy import LossyBus

    async def nothing(self: Any, chat_id: Any, episode: Any, after_seq: int = 0) -> Any:
        return []

    LossyBus.read_live = nothing


def _subscribe_after_snapshot() -> None:
    """A new reader takes the snapshot first, and subscribes after it.

    The poll would find what fell in between, two seconds later: it is taken down, too.
    """
    from holdfast.stream.feed import Feed
    from holdfast.stream.hub import Hub

    async def late(self: Any) -> None:
        try:
            if not await self._open():
                return
            await asyncio.sleep(3.0)  # an engine that is far away
            async with self._from.bus.subscribe(self.chat_id) as news:
                async for each in news:
                    await self._hear(each)
        finally:
            self.close()

    Feed.run = late
    Hub._poll = nothing  # pyright: ignore[reportPrivateUsage]


def _no_resume() -> None:
    """A reader that reconnects begins anew, whatever its cursor."""
    from holdfast.stream.hub import Hub

    follow = Hub.follow
    Hub.follow = lambda self, chat_id, after: follow(self, chat_id, None)


def _each_for_itself() -> None:
    """The snapshot of a chat is read again for every reader."""
    from holdfast.stream.feed import Feed

    async def anew(self: Any, cursor: Any) -> Any:
        async with self._lock:
            return await self._catch_up.refresh(), self.log.enter()

    Feed.enter = anew


def _own_clock() -> None:
    """Whose lease has lapsed is decided by the wall clock of the process that asks."""
    import time

    from holdfast.adapters.postgres import leases

    one, all_ = leases.fetch_row, leases.fetch_rows

    def by_own(query: Any) -> Any:
        now = f"to_timestamp({time.time()})"
        return replace(query, text=query.text.replace("clock_timestamp()", now))

    def row(pool: Any, query: Any, **values: Any) -> Any:
        return one(pool, by_own(query), **values)

    def rows(pool: Any, query: Any, **values: Any) -> Any:
        return all_(pool, by_own(query), **values)

    leases.fetch_row, leases.fetch_rows = row, rows


def _stopped_on_hand_over() -> None:
    """A worker that stops waiting for a command ends it, as if that were the same."""
    from holdfast.domain.chat import OpenCall
    from holdfast.domain.ids import Epoch, Seq
    from holdfast.tools.workspace.toolbox import WorkspaceToolbox

    unharmed = WorkspaceToolbox.run

    async def stopping(self: Any, run: Any) -> Any:
        try:
            return await unharmed(self, run)
        except asyncio.CancelledError:
            seq, call = Seq(int(run.key.split(".")[0])), run.call
            await self.stop(OpenCall(call_id=call.call_id, tool=call.tool, seq=seq, epoch=Epoch(1)))
            raise

    WorkspaceToolbox.run = stopping


def _no_key() -> None:
    """Every server that asks for a command starts one of its own."""
    import os

    from holdfast.tools.workspace import execute

    def another(key: str) -> str:
        return os.urandom(8).hex()

    execute.agent_key = another


def _no_tombstone() -> None:
    """A call that never began is not worth stopping."""
    from holdfast.tools.workspace.binding import agent_key
    from holdfast.tools.workspace.toolbox import WorkspaceToolbox

    stop = WorkspaceToolbox.stop

    async def only_known(self: Any, call: Any) -> None:
        binding = self._binding

        async def ask(agent: Any) -> Any:
            return await agent.processes(binding.chat_id)

        found = await binding.use(ask)
        if any(process.key == agent_key(call.key) for process in found.processes):
            await stop(self, call)

    WorkspaceToolbox.stop = only_known


def _void_calls_live_on() -> None:
    """The calls that an edit hid are not stopped."""
    from holdfast.turn.session import TurnSession

    async def nothing(self: Any) -> None:
        pass

    TurnSession.stop_void = nothing


def _heartbeat_in_the_pool() -> None:
    """A heartbeat waits for a connection like every statement."""
    from collections.abc import AsyncGenerator
    from contextlib import asynccontextmanager

    from holdfast.adapters.postgres.leases import PostgresLeases
    from holdfast.bootstrap import adapters, server
    from holdfast.worker.heartbeat import on_this_loop

    made: list[PostgresLeases] = []

    def remembered(pool: Any, **options: Any) -> PostgresLeases:
        made.append(PostgresLeases(pool, **options))
        return made[0]

    @asynccontextmanager
    async def shared(*_: object) -> AsyncGenerator[PostgresLeases]:
        yield made[0]

    adapters.PostgresLeases = remembered
    adapters._open_leases = shared  # pyright: ignore[reportPrivateUsage]
    assert server.assemble.__kwdefaults__ is not None
    server.assemble.__kwdefaults__["beat_beside"] = on_this_loop


def _half_replies() -> None:
    """A stream that broke off is as good as one that ended."""
    from holdfast.adapters.providers.stream import ProviderStream
    from holdfast_lab.chaos.half import half_finish

    ProviderStream._finish = half_finish()  # pyright: ignore[reportPrivateUsage]


def _running_bill() -> None:
    """Every reply costs what the turn has cost so far, so that the first is paid for twice."""
    from holdfast.turn import model_steps

    body, cost = model_steps.body, dict[Any, int]()

    def running(session: Any, reply: Any, parts: Any) -> Any:
        made = body(session, reply, parts)
        chat_id, output = session.turn.chat.chat_id, (made.usage or {}).get("output", 0)
        cost[chat_id] = cost.get(chat_id, 0) + output
        return replace(made, usage={**(made.usage or {}), "output": cost[chat_id]})

    model_steps.body = running


def _no_hand_over() -> None:
    """A stopping worker ends at once: its chats wait until its lease lapses."""
    from holdfast.worker.lease_scope import LeaseScope

    async def asked(self: Any, draining: Any, acquiring: Any) -> None:
        await draining.wait()

    async def gone(self: Any, *, lost: bool) -> None:
        await self._runners.stop()

    LeaseScope._hand_over = asked  # pyright: ignore[reportPrivateUsage]
    LeaseScope._stop = gone  # pyright: ignore[reportPrivateUsage]


def _all_is_kept_for_readers() -> None:
    """What a reader has not taken is kept for it, however much that is."""
    from holdfast.stream.log import Log

    bounded = Log.__init__

    def boundless(self: Any, length_max: int, bytes_max: int) -> None:
        bounded(self, sys.maxsize, sys.maxsize)

    Log.__init__ = boundless


def _unknown_is_tried_again() -> None:
    """A command with unknown outcome is run once more."""
    from holdfast.tools.workspace import execute

    once = execute._run  # pyright: ignore[reportPrivateUsage]

    async def again(binding: Any, run: Any, *rest: Any) -> Any:
        output = await once(binding, run, *rest)
        if not output.unknown:
            return output
        return await once(binding, replace(run, key=f"{run.key}.again"), *rest)

    execute._run = again  # pyright: ignore[reportPrivateUsage]


def _careless_agents() -> None:
    """Agents that this server starts end the first process of a command, and not its tree."""
    from holdfast.adapters.workspaces.local import Local

    spawn = Local._spawn  # pyright: ignore[reportPrivateUsage]
    careless = (sys.executable, "-P", "-m", "holdfast_lab.chaos.faults.tools.careless")

    def instead(self: Any, place: Any) -> Any:
        self._options = replace(self._options, agent=careless)
        return spawn(self, place)

    Local._spawn = instead  # pyright: ignore[reportPrivateUsage]


MUTANTS: Mapping[str, Patch] = {
    "bodies in the facts": _bodies_in_facts,
    **WEAKENED,
    "no hand-over": _no_hand_over,
    "all is kept for readers": _all_is_kept_for_readers,
    "unknown is tried again": _unknown_is_tried_again,
    "only the first process": _careless_agents,
    "a running bill": _running_bill,
    "half replies": _half_replies,
    "heartbeat in the pool": _heartbeat_in_the_pool,
    "stopped on hand-over": _stopped_on_hand_over,
    "no key": _no_key,
    "no tombstone": _no_tombstone,
    "void calls live on": _void_calls_live_on,
    "parts only in memory": _forgetful_bus,
    "words made anew": _words_made_anew,
    "no fence": _no_fence,
    "no fence, cut off": _no_fence_and_no_look,
    "tools re-run blindly": _tools_again,
    "publish before commit": _publish_before_commit,
    "each for itself": _each_for_itself,
    "leases by one's own clock": _own_clock,
    "no resume": _no_resume,
    "subscribe after snapshot": _subscribe_after_snapshot,
}
