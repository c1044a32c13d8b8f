"""What a server must be able to do to carry the bus. It may fail at any time with a fault."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from holdfast.adapters.bus.wire import Topic
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Episode, Gap, Hint, LivePart, SettingsHint

Item: TypeAlias = Hint | SettingsHint | LivePart
Deliver: TypeAlias = Callable[[Topic, Item | Gap], None]


class Sender(Protocol):
    async def send(self, batch: Sequence[Item]) -> None:
        """Store the batch, then publish it. An empty batch only checks the connection."""
        ...


class Receiver(Protocol):
    async def watch(self, topics: Collection[Topic]) -> None:
        """Returns once everything that is published from now on will be delivered."""
        ...

    async def unwatch(self, topics: Collection[Topic]) -> None: ...

    async def run(self) -> None:
        """Deliver until the connection is lost, however silently; ends only by raising."""
        ...

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int
    ) -> Sequence[LivePart]: ...


class Engine(Protocol):
    """Both connections are dedicated: a slow reader's question never stands before a part."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """The world's, not ours: reason to connect again."""
        ...

    def connect_sender(self) -> AbstractAsyncContextManager[Sender]: ...

    def connect_receiver(self, deliver: Deliver) -> AbstractAsyncContextManager[Receiver]: ...
