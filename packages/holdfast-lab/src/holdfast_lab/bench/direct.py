"""The same questions, put to the simulator itself: an answer without a server between."""

import asyncio
import time
from typing import Any, Final

import orjson

from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import CannotRun, Outcome
from holdfast_lab.bench.wire import AnswerStream, address, post

MODEL: Final = "claude-sonnet-5"
TOKENS_MAX: Final = 16_000
HEADERS: Final = "anthropic-version: 2023-06-01\r\n"
LOOKS_EVERY_S: Final = 0.25

now: Final = time.perf_counter


class _Voice:
    """Asks over a connection of its own, and reads what it is told. With every question it sends
    the history so far, as every client of a model must."""

    __slots__ = ("_asked_s", "_number", "_run", "_said", "_talk", "_told_s", "stream", "turn")

    def __init__(self, run: "DirectRun", number: int) -> None:
        self._run = run
        self._number = number
        self._asked_s = self._told_s = 0.0
        self._said = ""
        self._talk: list[dict[str, str]] = []
        self.turn = 0
        self.stream = AnswerStream(self, self._ended)

    def ask(self) -> None:
        self.turn += 1
        prompt = self._run.load.prompt(self._number, self.turn)
        self._talk.append({"role": "user", "content": prompt})
        body: dict[str, Any] = {"model": MODEL, "max_tokens": TOKENS_MAX, "stream": True}
        self._said = ""
        self._asked_s, self._told_s = now(), 0.0
        request = orjson.dumps({**body, "messages": self._talk})
        self.stream.ask(post("/v1/messages", "any", request, more=HEADERS))

    def event(self, kind: bytes, data: bytes) -> None:
        if kind != b"content_block_delta":
            return
        outcome, at = self._run.outcome, now()
        self._said += orjson.loads(data)["delta"]["text"]
        outcome.parts += 1
        if self._told_s:
            outcome.gap.add(at - self._told_s)
        else:
            outcome.first_part.add(at - self._asked_s)
        self._told_s = at

    def _ended(self) -> None:
        if self._said != self._run.load.answer(self._number, self.turn):
            self.cut(f"turn {self.turn} says {self._said[:80]!r}")
        else:
            self._talk.append({"role": "assistant", "content": self._said})
            self._run.is_done(self)

    def cut(self, reason: str) -> None:
        self._run.outcome.wrong.setdefault(f"direct {self._number}", reason)


class DirectRun:
    """Used once, as `LoadRun` is; what it measures is told in the same form."""

    def __init__(self, load: Load, url: str, patience_s: float) -> None:
        self.load = load
        self.outcome = Outcome()
        self._url = url
        self._patience_s = patience_s
        self._voices = [_Voice(self, number) for number in range(load.chats)]

    async def prepare(self) -> None:
        """Raises `CannotRun`."""
        loop, (host, port, ssl) = asyncio.get_running_loop(), address(self._url)
        for voice in self._voices:
            try:
                await loop.create_connection(lambda v=voice: v.stream, host, port, ssl=ssl)
            except OSError as error:
                raise CannotRun(f"The simulator cannot be reached: {error}") from None

    async def go(self) -> None:
        loop, every_s = asyncio.get_running_loop(), self.load.spread_s / self.load.chats
        for number, voice in enumerate(self._voices):
            loop.call_later(number * every_s, voice.ask)
        seen, since_s = -1, now()
        outcome = self.outcome
        while outcome.turns < self.load.all_turns and not outcome.wrong:
            if outcome.parts != seen:
                seen, since_s = outcome.parts, now()
            elif now() - since_s > self._patience_s:
                outcome.wrong["direct"] = f"{outcome.turns} of {self.load.all_turns} turns ended"
            await asyncio.sleep(LOOKS_EVERY_S)

    def is_done(self, voice: _Voice) -> None:
        """A turn of it."""
        self.outcome.turns += 1
        if voice.turn < self.load.turns:
            voice.ask()

    def close(self) -> None:
        for voice in self._voices:
            voice.stream.close()
