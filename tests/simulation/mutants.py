"""Protections removed, one at a time: some seed must notice each."""

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.chats.ledger import Ledger
from holdfast.domain.fence import Fence
from holdfast.domain.ids import Epoch
from holdfast.stream.feed import Feed
from holdfast.stream.hub import Hub
from holdfast.turn.steps import run_tools
from holdfast.worker import acquirer
from holdfast.worker.heartbeat import Lease
from holdfast.worker.slots import TakenSlot
from holdfast_lab.chaos.hasty import hasty_commit
from tests.support.fake_store import FakeStore

Patch = tuple[object, str, object]


async def _for_ever(*_args: Any, **_more: Any) -> Any:
    await asyncio.Event().wait()


def _nothing(*_args: Any) -> None:
    pass


def _never(*_args: Any) -> float:
    return 1_000_000.0


def _no_fence_in_the_store() -> list[Patch]:
    """Who drives is not compared: a statement that was sent under a lost lease takes effect.

    Not a mutant of its own: the version that every commit compares, and a worker that stops in
    time, hide it from hundreds of seeds.
    """
    commit = FakeStore.commit

    async def unfenced(self: Any, outcome: Any, *, fence: Any = None, keyed: Any = None) -> Any:
        return await commit(self, outcome, fence=None, keyed=keyed)

    return [(FakeStore, "commit", unfenced)]


def _no_fence() -> list[Patch]:
    """A writer proves nothing, and a worker that lost its lease goes on: else it is stopped before
    it has read the chat again, and the version that it knows protects the chat."""
    return [
        *_no_fence_in_the_store(),
        *_no_self_fencing(),
        (Fence, "check", _nothing),
    ]


def _no_self_fencing() -> list[Patch]:
    """A worker whose lease ran out drives on, and leaves it to the fence to stop it."""
    return [(Lease, "until_lost", _for_ever)]


def _tools_again() -> list[Patch]:
    """Whoever takes over runs what it finds, whatever it may do."""
    plan = run_tools.plan

    def blindly(turn: Any, prompt: Any, toolbox: Any, calls: Any, rules: Any) -> Any:
        ours = [replace(call, epoch=turn.chat.epoch) for call in calls]
        return plan(turn, prompt, toolbox, ours, rules)

    return [(run_tools, "plan", blindly)]


def _acquiring_counts_nothing() -> list[Patch]:
    """An attempt is counted by who has made one: a crash loop costs money for ever."""

    def own(self: Any, record: Any, worker_id: Any) -> Any:
        epoch = Epoch(record.chat.epoch + 1)
        record.chat = replace(record.chat, worker_id=worker_id, epoch=epoch)
        return record.chat

    return [(FakeStore, "_own", own)]


def _subscribed_late() -> list[Patch]:
    """Read first, then listen: what is said between the two is missed."""

    async def run(self: Any) -> None:
        try:
            if not await self._open():
                return
            async with self._from.bus.subscribe(self.chat_id) as news:
                async for each in news:
                    await self._hear(each)
                    if self.closed:
                        return
        finally:
            self.close()

    return [(Feed, "run", run)]


def _publish_before_commit() -> list[Patch]:
    """Readers are told of what may never happen."""
    return [(Ledger, "commit", hasty_commit(0.0))]


def _no_safety_poll() -> list[Patch]:
    """Readers believe that the bus tells them everything."""
    return [(Hub, "_poll_for_ever", _for_ever)]


def _no_acquire_timer() -> list[Patch]:
    """Workers believe that the bus tells them of every chat that waits."""
    return [(acquirer, "jittered", _never)]


def _parts_in_memory() -> list[Patch]:
    """What was said lies in the memory of whoever said it, and nowhere else."""

    async def nothing(self: Any, chat_id: Any, episode: Any, after_seq: int = 0) -> Any:
        return []

    return [(LossyBus, "read_live", nothing)]


def _taken_in_doubt_and_kept() -> list[Patch]:
    """A chat is ours by a commit whose answer got lost, and nobody looks after it."""

    def forget(place: TakenSlot, _chat: object) -> None:
        place.leave()

    return [(TakenSlot, "doubt", forget)]


MUTANTS: Mapping[str, Callable[[], list[Patch]]] = {
    "no fence": _no_fence,
    "no self-fencing": _no_self_fencing,
    "tools re-run blindly": _tools_again,
    "acquiring counts nothing": _acquiring_counts_nothing,
    "subscribe after snapshot": _subscribed_late,
    "publish before commit": _publish_before_commit,
    "no safety poll": _no_safety_poll,
    "no acquire timer": _no_acquire_timer,
    "parts only in memory": _parts_in_memory,
    "taken in doubt and kept": _taken_in_doubt_and_kept,
}


@contextmanager
def mutated(name: str) -> Generator[None]:
    patches = MUTANTS[name]()
    before = [(where, what, getattr(where, what)) for where, what, _ in patches]
    for where, what, mutant in patches:
        setattr(where, what, mutant)
    try:
        yield
    finally:
        for where, what, original in before:
            setattr(where, what, original)
