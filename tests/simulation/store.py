"""The fakes, whose insides the world may look at."""

from datetime import datetime

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId
from holdfast.domain.messages import Message
from tests.support.fake_bus import FakeBusServer
from tests.support.fake_rows import Record
from tests.support.fake_store import FakeStore


class OpenStore(FakeStore):
    """The fake store, whose insides the world may look at."""

    def peek(self, chat_id: ChatId) -> Chat:
        return self._records[chat_id].chat

    def visible(self, chat_id: ChatId) -> list[Message]:
        return self._records[chat_id].as_of(None)

    def lease_of(self, worker_id: WorkerId) -> datetime | None:
        return self._leases.get(worker_id)

    def now(self) -> datetime:
        return self._clock.now()

    def record(self, chat_id: ChatId) -> Record:
        return self._records[chat_id]

    def chats(self) -> list[Chat]:
        return [record.chat for record in self._records.values()]


class WatchedBus(FakeBusServer):
    was_emptied = False

    async def answer(self) -> None:  # pyright: ignore[reportImplicitOverride]
        """At once: each process's engine has made the round trip already, through its weather."""
        if not self.running:
            raise ConnectionError("the engine is away")

    async def empty(self) -> None:  # pyright: ignore[reportImplicitOverride]
        self.was_emptied = True
        await super().empty()
