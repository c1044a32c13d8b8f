"""One attempt at a reply: deltas to the readers as they come, and the whole at its end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opentelemetry import trace

from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Part, ToolCall
from holdfast.ports.bus import Bus
from holdfast.ports.models import Ask, ModelFailed, Models, ModelStream, Reply
from holdfast.turn.counters import TurnCounters
from holdfast.turn.failures import DETAIL_CHARS_MAX
from holdfast.turn.live import LiveReply, LiveSummary
from holdfast.turn.options import TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.recheck import Interruption, attend
from holdfast.turn.turn import Turn, UncommittedReply

tracer = trace.get_tracer(__name__)


class EndedEarly(ModelFailed):
    """A stream that came to its end without saying so (P1)."""

    def __init__(self, detail: str = "the stream ended without a declared end") -> None:
        super().__init__(detail)
        self.kind = ErrorKind.STREAM_CLOSED
        self.detail = detail
        self.retryable = True
        self.retry_after_s = None
        self.own_deadline = False

    def turn_error(self) -> TurnError:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        sentence = "The model's answer ended before it was complete."
        return TurnError(kind=self.kind, sentence=sentence, retryable=True)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What came of an attempt. One of the three; a reply that ended goes before a nudge."""

    reply: Reply | None = None
    failed: ModelFailed | None = None
    nudged: Interruption | None = None


class Generation:
    def __init__(
        self,
        reading: TurnReader,
        bus: Bus,
        models: Models,
        options: TurnOptions,
        counters: TurnCounters,
    ) -> None:
        self.reading = reading
        self._bus = bus
        self._models = models
        self._options = options
        self.counters = counters

    def summary_voice(self, turn: Turn) -> LiveSummary:
        """Of a compaction; closed by its step."""
        return LiveSummary(self._bus, turn.chat, self._options.live, self.counters)

    async def attempt(
        self, turn: Turn, ask: Ask, *, summary: LiveSummary | None = None
    ) -> AttemptResult:
        """Call the model once. What it said stays in `turn.said`, however this ends (M4).

        `summary`: readers are told of a summary. Nothing of it stays unless its step commits it.
        """
        self.counters.attempts += 1
        turn.said = UncommittedReply(turn.episode)
        with tracer.start_as_current_span("attempt") as span:
            span.set_attribute("holdfast.attempt", turn.chat.attempt)
            span.set_attribute("holdfast.model", ask.model or "")
            with turn.nudges.replying():
                heard = await self._attempt(turn, ask, summary)
            if heard.failed is not None:
                span.set_attributes(self._told_of(heard.failed, ask))
        return heard

    def _told_of(self, failed: ModelFailed, ask: Ask) -> dict[str, str | int | float]:
        """The attributes of a span: those of the log line."""
        error = failed.turn_error()
        told = {
            "error.type": failed.kind.value,
            "server.address": self._models.route(ask.model).host,
            "http.response.status_code": error.status_code,
            "holdfast.provider": error.provider,
            "holdfast.detail": failed.detail[:DETAIL_CHARS_MAX],
            "holdfast.request_id": failed.request_id,
            "holdfast.retry_after_s": failed.retry_after_s,
        }
        return {name: value for name, value in told.items() if value is not None}

    async def _attempt(self, turn: Turn, ask: Ask, summary: LiveSummary | None) -> AttemptResult:
        live = summary or LiveReply(self._bus, turn.chat, self._options.live, self.counters)
        stream = self._models.stream(ask)
        episode = turn.episode
        try:
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(_listen(stream, live))
                watching = group.create_task(
                    attend(turn, self.reading, pause_s=self._options.pause_s)
                )
                sending = group.create_task(live.run())
                await asyncio.wait({listening, watching}, return_when=asyncio.FIRST_COMPLETED)
                nudged = watching.result() if watching.done() else None
                for task in (listening, watching, sending):
                    task.cancel()
        finally:
            if summary is None:
                usage = stream.usage if stream.opened else None  # (L12)
                turn.said = UncommittedReply(episode, unique_calls(stream.partial(), turn), usage)
                live.close()
        if stream.final is not None:
            await live.flush()
            return AttemptResult(reply=stream.final)
        if nudged is not None:
            return AttemptResult(nudged=nudged)
        failed = None if listening.cancelled() else listening.result()
        return AttemptResult(failed=failed or EndedEarly())


async def _listen(stream: ModelStream, live: LiveReply) -> ModelFailed | None:
    try:
        async with stream:
            async for event in stream:
                live.say(event)
    except ModelFailed as failed:
        return failed
    return None


def unique_calls(parts: Sequence[Part], turn: Turn) -> tuple[Part, ...]:
    """The same parts with call ids that neither repeat among them nor in the prompt."""
    if not any(isinstance(part, ToolCall) for part in parts):
        return tuple(parts)
    seen = turn.prompt.call_ids if turn.prompt is not None else set[CallId]()
    unique: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall) and part.runs_at == "here":
            call_id, number = part.call_id, 1
            while call_id in seen:
                number += 1
                call_id = CallId(f"{part.call_id}_{number}")
            seen.add(call_id)
            if call_id != part.call_id:
                part = replace(part, call_id=call_id)  # noqa: PLW2901 - the renamed one
        unique.append(part)
    return tuple(unique)
