"""An engine of the bus in memory, for simulations in virtual time; passes the same contract."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager

from holdfast.adapters.bus.engine import Deliver, Item
from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.wire import Topic, addressed
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Episode, LivePart


class FakeBusServer:
    """What all processes share. Kept parts expire by the loop's clock."""

    faults = (ConnectionError, TimeoutError)

    def __init__(self) -> None:
        self.running = True
        self.log: dict[tuple[ChatId, Episode], dict[int, LivePart]] = {}
        self.expiry: dict[tuple[ChatId, Episode], float] = {}
        self.receivers: dict[FakeReceiver, None] = {}  # in the order of their coming
        self.ttl_s = BusOptions().live_ttl_s
        self.cuts = 0

    def open(self, options: BusOptions | None = None) -> LossyBus:
        options = options or BusOptions()
        self.ttl_s = options.live_ttl_s
        return LossyBus(self, options)

    async def cut(self) -> None:
        self.cuts += 1
        for receiver in list(self.receivers):
            receiver.lost.set()

    async def empty(self) -> None:
        self.log.clear()

    async def stop(self) -> None:
        self.running = False
        await self.empty()
        await self.cut()

    async def start(self) -> None:
        self.running = True

    @asynccontextmanager
    async def connect_sender(self) -> AsyncGenerator["FakeSender"]:
        await self.answer()
        yield FakeSender(self)

    @asynccontextmanager
    async def connect_receiver(self, deliver: Deliver) -> AsyncGenerator["FakeReceiver"]:
        await self.answer()
        receiver = FakeReceiver(self, deliver)
        self.receivers[receiver] = None
        try:
            yield receiver
        finally:
            self.receivers.pop(receiver, None)

    async def answer(self) -> None:
        """One round trip."""
        await asyncio.sleep(0)
        if not self.running:
            raise ConnectionError("the engine is away")


class FakeSender:
    def __init__(self, server: FakeBusServer) -> None:
        self._server = server
        self._cuts = server.cuts

    async def send(self, batch: Sequence[Item]) -> None:
        await self._server.answer()
        if self._server.cuts != self._cuts:
            raise ConnectionError("cut")
        for item in batch:
            told: Sequence[tuple[Topic, Item]]
            if not isinstance(item, LivePart):
                told = addressed(item)
            else:
                told = [(item.chat_id, item)]
                key = item.chat_id, item.episode
                self._server.log.setdefault(key, {}).setdefault(item.seq, item)
                self._server.expiry[key] = asyncio.get_running_loop().time() + self._server.ttl_s
            for receiver in list(self._server.receivers):
                for topic, said in told:
                    receiver.hear(topic, said)


class FakeReceiver:
    def __init__(self, server: FakeBusServer, deliver: Deliver) -> None:
        self._server = server
        self._deliver = deliver
        self._topics: set[Topic] = set()
        self.lost = asyncio.Event()

    def hear(self, topic: Topic, item: Item) -> None:
        if topic in self._topics and not self.lost.is_set():
            self._deliver(topic, item)

    async def watch(self, topics: Collection[Topic]) -> None:
        await self._server.answer()
        self._topics.update(topics)

    async def unwatch(self, topics: Collection[Topic]) -> None:
        await self._server.answer()
        self._topics.difference_update(topics)

    async def run(self) -> None:
        await self.lost.wait()
        raise ConnectionError("cut")

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int
    ) -> Sequence[LivePart]:
        await self._server.answer()
        key = chat_id, episode
        if self._server.expiry.get(key, 0) <= asyncio.get_running_loop().time():
            self._server.log.pop(key, None)
        parts = self._server.log.get(key, {})
        return [parts[seq] for seq in sorted(parts) if seq > after_seq]
