"""Drives the load: opens every chat, watches it, speaks when it is its turn, and judges."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from holdfast.domain.errors import HoldfastError
from holdfast_lab.bench.checks import ChatCheck, Doubled, News, Wrong, check_history
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.times import Times
from holdfast_lab.bench.wire import COME_AGAIN, Answer, EventStream, Sender, get, open_streams, post

CREATED: Final = 201
ACCEPTED: Final = 202
PAGE: Final = 200
RETRY_S: Final = 0.5
LOOKS_EVERY_S: Final = 0.25

now: Final = time.perf_counter


class CannotRun(HoldfastError):
    """The server does not let us begin; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server that answers at these addresses, one for each replica."""

    urls: Sequence[str]
    key: str
    model: str | None = None
    connections: int = 16
    """That messages are sent over, to each replica."""
    patience_s: float = 60.0
    """How long nothing at all may happen."""


@dataclass(slots=True)
class Outcome:
    """What was seen; grows while the load runs."""

    turns: int = 0
    parts: int = 0
    events: int = 0
    event_bytes: int = 0
    refused: int = 0
    """Told to come again, and came again."""
    retries: int = 0
    """Attempts at a reply that the server made anew."""
    told_whole: int = 0
    """Turns that were over before anything was told live; nothing was lost."""
    sent_again: int = 0
    """Messages whose answer was lost on the way."""
    began_s: float = 0.0
    seconds: float = 0.0
    wrong: dict[str, str] = field(default_factory=dict[str, str])
    """By chat: the first thing that was wrong with it."""
    doubled: int = 0
    """Things that came twice, or are kept twice."""
    accepted: Times = field(default_factory=Times)
    told: Times = field(default_factory=Times)
    """A message until its reader is told of it."""
    first_part: Times = field(default_factory=Times)
    gap: Times = field(default_factory=Times)
    turn: Times = field(default_factory=Times)
    follow_up: Times = field(default_factory=Times)
    """To the first part, of turns after the first."""
    histories: int = 0
    """Read at the end and found right."""

    @property
    def turns_per_s(self) -> float:
        return self.turns / self.seconds if self.seconds else 0.0


class WatchedChat:
    """One chat: its reader, and the client that sends in it."""

    __slots__ = ("_run", "_sender", "_spoke_s", "_told_s", "chat_id", "check")

    def __init__(self, run: "LoadRun", number: int, sender: Sender) -> None:
        self._run = run
        self._sender = sender
        self._spoke_s = 0.0
        self._told_s = 0.0
        self.check = ChatCheck(run.load, number)
        self.chat_id = ""

    def event(self, kind: bytes, data: bytes) -> None:
        outcome = self._run.outcome
        outcome.events += 1
        outcome.event_bytes += len(data)
        try:
            news = self.check.take(kind, data)
        except Wrong as wrong:
            self._run.is_wrong(self, wrong)
        except (ValueError, KeyError, TypeError) as error:
            self._run.failed(self, f"an event of no known form: {error!r}: {data[:80]!r}")
        else:
            if news is not News.NOTHING:
                self._take(news)

    def _take(self, news: News) -> None:
        if news is News.PART:
            self._timed_part()
        elif news is News.SAID:
            self._run.outcome.told.add(now() - self._spoke_s)
        elif news is News.READY:
            self._run.is_ready(self)
        else:
            self._run.outcome.turn.add(now() - self._spoke_s)
            self._run.is_done(self)

    def _timed_part(self) -> None:
        outcome, at = self._run.outcome, now()
        outcome.parts += 1
        if self._told_s:
            outcome.gap.add(at - self._told_s)
        else:
            outcome.first_part.add(at - self._spoke_s)
            if self.check.turn > 1:
                outcome.follow_up.add(at - self._spoke_s)
        self._told_s = at

    def cut(self, reason: str) -> None:
        self._run.failed(self, reason)

    def speak(self) -> None:
        turn = self.check.ask()
        run, number = self._run, self.check.chat
        said: dict[str, str] = {"text": run.load.prompt(number, turn)}
        if run.target.model is not None:
            said["model"] = run.target.model
        request = post(
            f"/api/v1/chats/{self.chat_id}/messages",
            run.target.key,
            orjson.dumps(said),
            f"bench-{self.chat_id}-{turn}",
        )
        self._spoke_s, self._told_s = now(), 0.0
        self._sender.send(request, lambda answer: self._answered(request, answer))

    def _answered(self, request: bytes, answer: Answer) -> None:
        if answer.status == ACCEPTED:
            self._run.outcome.accepted.add(now() - self._spoke_s)
        elif answer.status in COME_AGAIN:
            self._run.outcome.refused += 1
            asyncio.get_running_loop().call_later(
                answer.retry_after_s or RETRY_S,
                lambda: self._sender.send(request, lambda again: self._answered(request, again)),
            )
        else:
            self._run.failed(self, f"turn {self.check.turn} was refused: {_said(answer)}")


class LoadRun:
    """Used once: `prepare`, `go`, `check_histories`, all within `opened`."""

    def __init__(self, load: Load, target: Target) -> None:
        self.load = load
        self.target = target
        self.outcome = Outcome()
        self._senders = [Sender(url, target.connections) for url in target.urls]
        self._chats = [
            self._new_chat(number, self._senders[number % len(target.urls)])
            for number in range(load.watched)
        ]
        self._speakers = self._chats[:: load.watched // load.chats][: load.chats]
        self._streams: list[EventStream] = []
        self._ready = 0
        self._left = load.chats
        self._between: list[WatchedChat] = []
        """In a storm: who waits for the others."""
        self._quiet = asyncio.Event()
        """All is done, or (in a storm) all have been answered."""

    def _new_chat(self, number: int, sender: Sender) -> WatchedChat:
        return WatchedChat(self, number, sender)

    @property
    def chat_ids(self) -> list[str]:
        return [chat.chat_id for chat in self._chats]

    @property
    def done(self) -> int:
        return self.outcome.turns

    async def run(self, around: "Callable[[LoadRun], Coroutine[Any, Any, None]]") -> None:
        """With its connections open. Raises `CannotRun`."""
        refused: CannotRun | None = None
        async with asyncio.TaskGroup() as tasks:
            sending = [tasks.create_task(sender.run()) for sender in self._senders]
            try:
                await self._reach()
                await around(self)
            except CannotRun as reason:
                refused = reason  # raised below, by itself: a group would hide it
            finally:
                for stream in self._streams:
                    stream.close()
                for each in sending:
                    each.cancel()
        if refused is not None:
            raise refused

    async def _reach(self) -> None:
        for url, sender in zip(self.target.urls, self._senders, strict=True):
            if (why := await sender.reached()) is not None:
                raise CannotRun(f"{url} cannot be reached: {why}")

    async def prepare(self) -> None:
        """Every chat is there and watched. Raises `CannotRun`."""
        await self.begin_chats()
        await self.watch_chats()

    async def begin_chats(self) -> None:
        """Raises `CannotRun`."""
        run = secrets.token_hex(8)  # keys of one run are no other's
        asked = [
            post("/api/v1/chats", self.target.key, b"{}", f"bench-{run}-{number}")
            for number in range(self.load.watched)
        ]
        for chat, answer in zip(self._chats, await self._ask_all(asked), strict=True):
            if answer.status != CREATED:
                raise CannotRun(f"No chat can be begun: {_said(answer)}")
            chat.chat_id = orjson.loads(answer.body)["chat_id"]

    async def watch_chats(self) -> None:
        """Returns when each reader has its snapshot. Raises `CannotRun`."""
        self._streams += await open_streams(
            [
                (
                    self.target.urls[number % len(self.target.urls)],
                    get(f"/api/v1/chats/{chat.chat_id}/events", self.target.key),
                    chat,
                )
                for number, chat in enumerate(self._chats)
            ]
        )
        await self._while_moving(lambda: self._ready + len(self.outcome.wrong), self.load.watched)
        if self.outcome.wrong:
            chat_id, reason = next(iter(self.outcome.wrong.items()))
            raise CannotRun(f"Chat {chat_id} cannot be watched: {reason}")
        if self._ready < self.load.watched:
            raise CannotRun(f"Only {self._ready} of {self.load.watched} streams began.")

    async def go(self, in_lull: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Until every turn is done, or its chat failed. In a storm, `in_lull` is awaited whenever
        all have been answered and no message was sent again; that time is not counted."""
        self.outcome.began_s = now()
        quiet_s = 0.0
        self._begin()
        await self._while_moving(lambda: self.outcome.events, None)
        while self._between and len(self._between) == self._left:
            began_s = now()
            if in_lull is not None:
                await in_lull()
            quiet_s += now() - began_s
            self._quiet.clear()
            chats, self._between = self._between, []
            for chat in chats:
                chat.speak()
            await self._while_moving(lambda: self.outcome.events, None)
        self.outcome.seconds = now() - self.outcome.began_s - quiet_s
        for chat in self._speakers:
            self.outcome.retries += chat.check.retries
            self.outcome.told_whole += chat.check.told_whole
            if chat.check.turn < self.load.turns or chat.check.place < self.load.messages_per_turn:
                self.failed(chat, f"turn {chat.check.turn} did not end")
        self.outcome.sent_again = sum(sender.sent_again for sender in self._senders)

    def _begin(self) -> None:
        loop, every_s = asyncio.get_running_loop(), self.load.spread_s / self.load.chats
        for number, chat in enumerate(self._speakers):
            if every_s:
                loop.call_later(number * every_s, chat.speak)
            else:
                chat.speak()

    async def _while_moving(self, counted: Callable[[], int], enough: int | None) -> None:
        """Until there is enough, or all is quiet, or nothing moved for too long."""
        seen, since_s = -1, now()
        while not self._quiet.is_set() and (enough is None or counted() < enough):
            if counted() != seen:
                seen, since_s = counted(), now()
            elif now() - since_s > self.target.patience_s:
                return
            try:
                async with asyncio.timeout(LOOKS_EVERY_S):
                    await self._quiet.wait()
            except TimeoutError:
                continue

    def is_ready(self, chat: WatchedChat) -> None:  # noqa: ARG002
        self._ready += 1

    def is_done(self, chat: WatchedChat) -> None:
        """A turn of it."""
        if chat.chat_id in self.outcome.wrong:
            return  # it was given up
        self.outcome.turns += 1
        if chat.check.turn >= self.load.turns:
            self._one_less()
        elif self.load.storm:
            self._between.append(chat)
            self._look_for_quiet()
        else:
            chat.speak()

    def is_wrong(self, chat: WatchedChat, wrong: Wrong) -> None:
        self.outcome.doubled += isinstance(wrong, Doubled)
        self.failed(chat, str(wrong))

    def failed(self, chat: WatchedChat, reason: str) -> None:
        """It is given up; the others go on."""
        name = chat.chat_id or f"number {chat.check.chat}"
        if name not in self.outcome.wrong:
            self.outcome.wrong[name] = reason
            if self.outcome.began_s and not self.outcome.seconds:
                if chat in self._between:
                    self._between.remove(chat)
                self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        self._look_for_quiet()

    def _look_for_quiet(self) -> None:
        if len(self._between) == self._left:
            self._quiet.set()

    async def check_histories(self) -> None:
        """What is kept of every chat, read page by page."""
        kept: dict[WatchedChat, deque[dict[str, Any]]] = {
            chat: deque() for chat in self._speakers if chat.chat_id not in self.outcome.wrong
        }
        cursors: dict[WatchedChat, str | None] = dict.fromkeys(kept)
        while cursors:
            asked = [get(_page(chat, at), self.target.key) for chat, at in cursors.items()]
            answers = zip(list(cursors), await self._ask_all(asked), strict=True)
            for chat, answer in answers:
                page: dict[str, Any] = orjson.loads(answer.body) if answer.status == 200 else {}
                kept[chat].extendleft(reversed(page.get("data", [])))
                cursors[chat] = page.get("next_cursor")
                if cursors[chat] is None:
                    del cursors[chat]
        for chat, messages in kept.items():
            try:
                check_history(self.load, chat.check.chat, messages)
            except Wrong as wrong:
                self.is_wrong(chat, wrong)
            else:
                self.outcome.histories += 1

    async def _ask_all(self, requests: Sequence[bytes]) -> list[Answer]:
        """Spread over the replicas; answers in the order of the requests."""
        loop, answers = asyncio.get_running_loop(), dict[int, Answer]()
        all_came = asyncio.Event()

        def ask(number: int) -> None:
            sender = self._senders[number % len(self._senders)]
            sender.send(requests[number], lambda answer: answered(number, answer))

        def answered(number: int, answer: Answer) -> None:
            if answer.status in COME_AGAIN:
                loop.call_later(answer.retry_after_s or RETRY_S, ask, number)
                return
            answers[number] = answer
            if len(answers) == len(requests):
                all_came.set()

        for number in range(len(requests)):
            ask(number)
        try:
            async with asyncio.timeout(self.target.patience_s + len(requests) * 0.05):
                await all_came.wait()
        except TimeoutError:
            raise CannotRun(f"{len(requests) - len(answers)} requests got no answer.") from None
        return [answers[number] for number in range(len(requests))]


def _page(chat: WatchedChat, cursor: str | None) -> str:
    rest = "" if cursor is None else f"&cursor={cursor}"
    return f"/api/v1/chats/{chat.chat_id}/messages?limit={PAGE}{rest}"


def _said(answer: Answer) -> str:
    return f"{answer.status} {answer.body[:200].decode(errors='replace')}"
