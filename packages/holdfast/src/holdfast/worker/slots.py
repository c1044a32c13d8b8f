"""Room for a chat that is acquired by the very commit that makes it runnable.

The worker offers slots, and `LocalDispatch` of the same process reserves one for each such commit.
The database decides which worker drives a chat; this only saves the round trip of an acquire.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome
from holdfast.ports.bus import Hint
from holdfast.turn.history_cache import Addition
from holdfast.worker.lease_context import LeaseContext, now_s
from holdfast.worker.releases import Releases
from holdfast.worker.runners import Runners


class WorkerSlot(Protocol):
    """Kept free for one chat while its commit is under way; ends in one of the three."""

    @property
    def worker_id(self) -> WorkerId: ...

    def fill(self, outcome: Outcome, messages: tuple[Message, ...]) -> None:
        """It is committed, and ours: drive it."""
        ...

    def leave(self) -> None:
        """Nothing was committed."""
        ...

    def doubt(self, chat: Chat) -> None:
        """The outcome is unknown: the chat may be ours without a runner."""
        ...


class WorkerSlots(Protocol):
    def reserve(self, chat_id: ChatId) -> WorkerSlot | None:
        """None if all workers should hear of the chat: no room here, or other chats wait."""
        ...


class TakenSlot:
    """A `WorkerSlot` under one lease. Whichever way it ends, it ends once."""

    def __init__(
        self, chat_id: ChatId, tenure: LeaseContext, runners: Runners, releases: Releases
    ) -> None:
        self._chat_id = chat_id
        self._tenure = tenure
        self._runners = runners
        self._releases = releases
        runners.expect(chat_id)

    @property
    def worker_id(self) -> WorkerId:
        return self._tenure.worker_id

    def fill(self, outcome: Outcome, messages: tuple[Message, ...]) -> None:
        counters = self._tenure.counters
        counters.acquired += 1
        counters.taken += 1
        heard = self._runners.settle(self._chat_id)
        self._runners.start(outcome.chat, Addition.of(outcome, messages), heard)

    def leave(self) -> None:
        """Another commit was first. It may be ours by an acquire all the same."""
        heard = self._runners.settle(self._chat_id)
        if isinstance(heard, Hint):
            self._runners.hear(heard)

    def doubt(self, chat: Chat) -> None:
        """Released if it is ours by now. If it becomes so later, as a statement that is still
        under way, a sync finds it."""
        tenure = self._tenure
        self.leave()
        tenure.counters.taken_in_doubt += 1
        tenure.doubtful_until_s = now_s() + tenure.options.lost_answer_s
        self._releases.put(chat, undriven=True)


Offer: TypeAlias = Callable[[ChatId], WorkerSlot | None]


@dataclass(slots=True)
class OfferedSlots:
    """What a worker offers now: nothing before its first lease, between two, and after the last."""

    _offer: Offer | None = None

    def reserve(self, chat_id: ChatId) -> WorkerSlot | None:
        return None if self._offer is None else self._offer(chat_id)

    @contextmanager
    def offered(self, offer: Offer) -> Generator[None]:
        self._offer = offer
        try:
            yield
        finally:
            self._offer = None
