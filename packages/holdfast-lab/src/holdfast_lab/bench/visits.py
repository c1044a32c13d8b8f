"""People come and go: each begins a chat, watches it and speaks, and half of them vanish in the
middle of an answer. What was promised to them holds all the same: their turns end, and are kept."""

import asyncio
import secrets
from typing import Final

import orjson

from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import CREATED, CannotRun, LoadRun, Target, WatchedChat, now
from holdfast_lab.bench.wire import EventStream, Sender, get, open_streams, post

SPREAD: Final = 7
"""A step through the words of an answer, so that people vanish at every place of it."""


class Visitor(WatchedChat):
    """One who comes, and may vanish while the last answer is told."""

    __slots__ = ("_parts", "_visits", "stream", "vanished")

    def __init__(self, run: "VisitRun", number: int, sender: Sender) -> None:
        super().__init__(run, number, sender)
        self._visits = run
        self._parts = 0
        self.stream: EventStream | None = None
        self.vanished = False

    def _timed_part(self) -> None:  # pyright: ignore[reportImplicitOverride]
        super()._timed_part()
        self._parts += self.check.turn == self.check.load.turns
        if self._parts and self._parts == self._visits.vanishes_after(self.check.chat):
            self._visits.vanish(self)

    def leave(self) -> None:
        if self.stream is not None:
            self.stream.close()
            self.stream = None


class VisitRun(LoadRun):
    """Used once: `receive`, then `check_histories`, within `run`."""

    def __init__(self, load: Load, target: Target, per_minute: float) -> None:
        self._every_s = 60 / per_minute
        self._run = secrets.token_hex(8)
        super().__init__(load, target)
        self.came = 0
        self.vanished = 0

    def _new_chat(self, number: int, sender: Sender) -> WatchedChat:  # pyright: ignore[reportImplicitOverride]
        return Visitor(self, number, sender)

    def vanishes_after(self, number: int) -> int:
        """So many parts of the last answer; 0: stays."""
        return 1 + number * SPREAD % (self.load.words // 2) if number % 2 else 0

    def vanish(self, visitor: Visitor) -> None:
        assert visitor.stream is not None
        visitor.stream.vanish()
        visitor.stream, visitor.vanished = None, True
        self.vanished += 1
        self._one_less()

    async def receive(self) -> None:
        """Until all have come, and all have gone."""
        loop = asyncio.get_running_loop()
        began_s, self.outcome.began_s = loop.time(), now()
        async with asyncio.TaskGroup() as tasks:
            for number, chat in enumerate(self._chats):
                await asyncio.sleep(max(0.0, began_s + number * self._every_s - loop.time()))
                tasks.create_task(self._visit(chat))
        await self._while_moving(lambda: self.outcome.events, None)
        self.outcome.seconds = now() - self.outcome.began_s
        self._look_at_the_rest()

    async def _visit(self, chat: WatchedChat) -> None:
        assert isinstance(chat, Visitor)
        self.came += 1
        key = f"bench-{self._run}-{chat.check.chat}"
        try:
            (answer,) = await self._ask_all([post("/api/v1/chats", self.target.key, b"{}", key)])
        except CannotRun as reason:
            self.failed(chat, str(reason))
            return
        if answer.status != CREATED:
            self.failed(chat, f"it could not be begun: {answer.status}")
            return
        chat.chat_id = orjson.loads(answer.body)["chat_id"]
        request = get(f"/api/v1/chats/{chat.chat_id}/events", self.target.key)
        opened = await open_streams([(self.target.urls[0], request, chat)])
        chat.stream = opened[0] if opened else None
        if chat.chat_id in self.outcome.wrong:
            chat.leave()  # it was given up while its stream opened

    def is_ready(self, chat: WatchedChat) -> None:  # pyright: ignore[reportImplicitOverride]
        chat.speak()

    def is_done(self, chat: WatchedChat) -> None:  # pyright: ignore[reportImplicitOverride]
        assert isinstance(chat, Visitor)
        super().is_done(chat)
        if chat.check.turn == self.load.turns and chat.check.place == self.load.messages_per_turn:
            chat.leave()

    def failed(self, chat: WatchedChat, reason: str) -> None:  # pyright: ignore[reportImplicitOverride]
        """A visitor that is given up gets no more events: it must not vanish or be done a second
        time."""
        assert isinstance(chat, Visitor)
        super().failed(chat, reason)
        chat.leave()

    def _look_at_the_rest(self) -> None:
        for chat in self._chats:
            assert isinstance(chat, Visitor)
            self.outcome.retries += chat.check.retries
            self.outcome.told_whole += chat.check.told_whole
            ended = chat.check.place == self.load.messages_per_turn
            if not chat.vanished and not (ended and chat.check.turn == self.load.turns):
                self.failed(chat, f"turn {chat.check.turn} did not end")
