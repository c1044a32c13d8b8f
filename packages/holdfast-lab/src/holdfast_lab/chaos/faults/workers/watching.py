"""A reader that checks what it is told while it is told it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from holdfast.domain.ids import ChatId
from holdfast.stream.hub import Hub


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@dataclass
class Watching:
    """What one reader was told. `wrong` holds every breach of the promises, as sentences."""

    messages: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    status: dict[str, Any] = field(default_factory=dict[str, Any])
    kinds: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    missing: int = 0
    doubled: int = 0
    reordered: int = 0
    parts: int = 0
    shown: str = ""
    tool_output: str = ""
    keeps_words: bool = False
    """The bus is there all the time, and no model fails: what was shown becomes a message, even if
    a reset took it back before (L153)."""
    taken_back: str = ""
    resets: int = 0
    """Of text."""
    told_others: dict[tuple[int, int, int], Any] | None = None
    """What every reader of the chat was told, by message, attempt and number; shared by them."""
    _attempt: int = -1
    _seq: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, kind: str, data: dict[str, Any]) -> None:
        self.kinds.append(kind)
        match kind:
            case "preview.delta":
                self._take_part(data)
            case "message.created":
                self._take_message(data)
            case "preview.reset":
                if self.shown.strip():
                    self.taken_back = self.shown
                    self.resets += 1
                self._forget()
            case "history.reset":
                self._forget()
                self.messages = {s: m for s, m in self.messages.items() if s < data["from_seq"]}
            case "chat.state":
                self.status = data
            case _:
                pass
        self._news.set()

    def _take_part(self, data: dict[str, Any]) -> None:
        if self.keeps_words and self.taken_back:
            # By another attempt. Only a reader that was away may be told a reset, and then the
            # message follows at once.
            self.wrong.append(f"{self.taken_back!r} was shown and taken back (L153)")
            self.taken_back = ""
        attempt, seq = data["attempt"], data["index"]
        if (attempt, seq) != (self._attempt, self._seq + 1) and seq != 1:
            self.wrong.append(f"part {attempt}.{seq} after {self._attempt}.{self._seq}")
            known = self._seq if attempt == self._attempt else 0
            self.missing += max(0, seq - known - 1)
            self.doubled += seq == known
            self.reordered += seq < known
        if seq == 1 and self._seq and attempt == self._attempt:
            self.wrong.append(f"part {attempt}.1 twice")
            self.doubled += 1
        if seq == 1 and self._seq and attempt != self._attempt:
            self.wrong.append(f"part {attempt}.1 while {self._attempt}.{self._seq} is shown")
            self.missing += 1  # of a preview.reset
        self._attempt, self._seq = attempt, seq
        self.parts += 1
        if self.told_others is not None:
            place = (max(self.messages, default=0), attempt, seq)
            if self.told_others.setdefault(place, data["deltas"]) != data["deltas"]:
                self.wrong.append(f"part {place} is another for others (R7)")
        for delta in data["deltas"]:
            match delta["type"]:
                case "text":
                    self.shown += delta["text"]
                case "tool_output":
                    self.tool_output += delta["text"]
                case _:
                    pass

    def _take_message(self, data: dict[str, Any]) -> None:
        if data["seq"] in self.messages:
            self.wrong.append(f"message {data['seq']} twice")
            self.doubled += 1
        if self.messages and data["seq"] < max(self.messages):
            self.wrong.append(f"message {data['seq']} after {max(self.messages)}")
            self.reordered += 1
        if data["role"] == "assistant" and not text_of(data).startswith(self.shown):
            self.wrong.append(f"shown {self.shown!r} is not in message {data['seq']} (M4)")
        if data["role"] == "assistant":
            if self.keeps_words and not text_of(data).startswith(self.taken_back):
                said = f"{self.taken_back!r} was shown and taken back"
                self.wrong.append(f"{said}, and is not in message {data['seq']} (L153)")
            self.taken_back = ""
        self.messages[data["seq"]] = data
        self._forget()

    def _forget(self) -> None:
        self.shown, self._attempt, self._seq = "", -1, 0

    @property
    def is_idle(self) -> bool:
        return self.status.get("status") == "idle"

    async def until(self, holds: Callable[[], bool], within_s: float) -> None:
        async with asyncio.timeout(within_s):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def until_idle(self, messages: int, within_s: float) -> None:
        """Until so many messages are known and the chat is idle."""
        await self.until(lambda: len(self.messages) >= messages and self.is_idle, within_s)


@asynccontextmanager
async def watching(
    hub: Hub, chat_id: ChatId, seen: Watching | None = None
) -> AsyncGenerator[Watching]:
    seen = seen or Watching()

    async def follow() -> None:
        async with hub.follow(chat_id, None) as events:
            async for event in events:
                seen.take(event.kind.value, orjson.loads(event.data))

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follow())
        yield seen
        task.cancel()


def folded(messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same history with replies that broke off and what went on from them as one, for who
    compares it with what a model was told to say."""
    found: list[Mapping[str, Any]] = []
    for message in messages:
        last = found[-1] if found else None
        if (
            last is not None
            and last["finish_reason"] == "provider_error"
            and message["role"] == "assistant"
        ):
            parts = [*last["parts"], *message["parts"]]
            found[-1] = {**message, "seq": last["seq"], "parts": parts}
        else:
            found.append(message)
    return found
