"""What is being said right now, as numbered live parts of an episode.

The first delta goes out at once, then at most one part every ~30 ms or 2 KB. Neighbouring deltas of
the same part and type become one. A part's payload is a JSON array of

    {"index": 0, "type": "text", "text": "…"}
    {"index": 1, "type": "reasoning", "text": "…"}
    {"index": 2, "type": "tool_call", "call_id": "…", "tool_name": "…", "executed_by": null}
    {"index": 2, "type": "arguments", "text": "…"}
    {"type": "tool_output", "call_id": "…", "text": "…"}
    {"index": 0, "type": "summary_started", "reason": "threshold"}
    {"index": 0, "type": "summary", "text": "…"}
    {"index": 0, "type": "summary_ended", "error": null}

where `executed_by` is `provider` if the provider runs the call itself, else null: the message will
tell. A summary is the whole output of its attempt: its text becomes the message `summary`, unless
it ends with an `error`. A summary in pieces begins anew with each `summary_started`.
"""

import asyncio
from typing import Final, TypeAlias

from holdfast.chats.hints import encode_data
from holdfast.domain.chat import Chat
from holdfast.domain.compaction import Compaction
from holdfast.domain.ids import CallId
from holdfast.ports.bus import Bus, Episode, LivePart
from holdfast.ports.models import (
    ArgumentsDelta,
    CallStarted,
    Event,
    PartFinished,
    ReasoningDelta,
    TextDelta,
    UsageSeen,
)
from holdfast.turn.counters import TurnCounters
from holdfast.turn.options import LiveOptions

Delta: TypeAlias = dict[str, int | str | None]
_TYPES: Final = {TextDelta: "text", ReasoningDelta: "reasoning", ArgumentsDelta: "arguments"}


class LiveReply:
    """One episode's voice. `say` and `emit` never wait; `run` sends what they leave behind."""

    def __init__(self, bus: Bus, chat: Chat, options: LiveOptions, counters: TurnCounters) -> None:
        self._bus = bus
        self._chat_id = chat.chat_id
        self._episode = Episode.of(chat)
        self._turn_seq = chat.turn_seq
        self._options = options
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._deltas: list[Delta] = []
        self._texts: list[str] = []  # of the last delta, which may still grow
        self._bytes = 0
        self._seq = 0
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._due = asyncio.Event()

    def say(self, event: Event) -> None:
        """One event of a model's stream."""
        match event:
            case TextDelta(index, text) | ReasoningDelta(index, text) | ArgumentsDelta(index, text):
                self._grow({"index": index, "type": _TYPES[type(event)]}, text)
            case CallStarted(index, call_id, tool, runs_at):
                self._seal()
                delta: Delta = {"index": index, "type": "tool_call"}
                executed_by = "provider" if runs_at == "provider" else None
                call: Delta = {"call_id": call_id, "tool_name": tool, "executed_by": executed_by}
                self._deltas.append(delta | call)
                self._added(64)
            case PartFinished() | UsageSeen():
                pass

    def emit(self, call_id: CallId, text: str) -> None:
        """What a running tool writes."""
        self._grow({"type": "tool_output", "call_id": call_id}, text)

    def _grow(self, head: Delta, text: str) -> None:
        if not text:
            return
        last = self._deltas[-1] if self._deltas else None
        if last is None or not self._texts or last != head:
            self._seal()
            self._deltas.append(head)
        self._texts.append(text)
        self._added(len(text))

    def _seal(self) -> None:
        """The last delta grows no more; its pieces are joined once, however many they were."""
        if self._texts:
            self._deltas[-1]["text"] = "".join(self._texts)
            self._texts = []

    def _added(self, size: int) -> None:
        self._bytes += size
        if self._bytes >= self._options.bytes_max or self._next_at <= self._loop.time():
            self._due.set()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._next_at, self._due.set)

    async def run(self) -> None:
        """Send parts as they fall due, until cancelled."""
        while True:
            await self._due.wait()
            await self.flush()

    async def flush(self) -> None:
        """Send what there is now."""
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._deltas:
            return
        self._seal()
        payload = encode_data(self._deltas)
        self._deltas = []
        self._bytes = 0
        self._seq += 1
        self._next_at = self._loop.time() + self._options.every_s
        self._counters.live_parts += 1
        part = LivePart(self._chat_id, self._episode, self._seq, payload, self._turn_seq)
        await self._bus.append((part,))

    def close(self) -> None:
        """Say nothing more, not even what is left."""
        if self._timer is not None:
            self._timer.cancel()


class LiveSummary(LiveReply):
    """The voice of a compaction: of all its calls of the model, in one episode."""

    async def begin(self, decided: Compaction) -> None:
        """Told before the slow call."""
        self._announce({"type": "summary_started", "reason": decided.reason.value})
        await self.flush()

    def begin_again(self, decided: Compaction) -> None:
        """The next piece: what the one before it said is replaced."""
        self._announce({"type": "summary_started", "reason": decided.reason.value})

    def say(self, event: Event) -> None:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        if isinstance(event, TextDelta):
            self._grow({"index": 0, "type": "summary"}, event.text)

    async def end(self, error: str | None) -> None:
        """Told before the boundary is committed. `error`: why there is none."""
        self._announce({"type": "summary_ended", "error": error})
        await self.flush()

    def _announce(self, delta: Delta) -> None:
        self._seal()
        self._deltas.append({"index": 0, **delta})
        self._added(64)
