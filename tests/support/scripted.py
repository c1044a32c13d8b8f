"""A model that says exactly what a test wrote, and complains about what nobody asked for."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

import orjson

from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall
from holdfast.ports.models import (
    NO_ROUTE,
    ArgumentsDelta,
    Ask,
    CallStarted,
    Event,
    Malformed,
    ModelFailed,
    ReasoningDelta,
    Reply,
    Route,
    TextDelta,
    Usage,
    UsageSeen,
)
from tests.support.builders import NOW

USAGE = Usage(input=10, output=5)


@dataclass(frozen=True)
class End:
    """The provider declares the end."""

    ending: Ending = Ending.COMPLETE
    usage: Usage | None = USAGE


@dataclass(frozen=True)
class Hold:
    """Nothing more comes until somebody sets the event."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Pause:
    """Nothing comes for so long."""

    for_s: float


@dataclass(frozen=True)
class Whole:
    """A part that arrives whole, such as a call whose id repeats."""

    part: Part


class Failed(ModelFailed):
    def __init__(
        self,
        kind: ErrorKind = ErrorKind.OVERLOADED,
        *,
        retryable: bool = True,
        retry_after_s: float | None = None,
        own_deadline: bool = False,
        attempts_max: int | None = None,
    ) -> None:
        super().__init__(kind.value)
        self.kind = kind
        self.detail = kind.value
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.own_deadline = own_deadline
        self.attempts_max = attempts_max

    def turn_error(self) -> TurnError:  # pyright: ignore[reportImplicitOverride]
        return TurnError(kind=self.kind, sentence=f"It is {self.kind}.", retryable=self.retryable)


Item: TypeAlias = Event | End | Hold | Pause | Whole | Exception
Script: TypeAlias = Sequence[Item]


def says(*texts: str, usage: Usage | None = USAGE) -> list[Item]:
    """A whole reply of one text, in these deltas."""
    return [*(TextDelta(0, text) for text in texts), End(usage=usage)]


def calls(*names: str, text: str = "let me see") -> list[Item]:
    """A whole reply that asks for tools: `tool:call_id`, or `tool` with its name as the id."""
    items: list[Item] = [TextDelta(0, text)]
    for index, name in enumerate(names, start=1):
        tool, _, call_id = name.partition(":")
        items += call(index, tool, call_id or tool)
    return [*items, End()]


def call(index: int, tool: str, call_id: str, arguments: str = '{"n": 1}') -> list[Item]:
    half = len(arguments) // 2
    return [
        CallStarted(index, CallId(call_id), tool),
        ArgumentsDelta(index, arguments[:half]),
        ArgumentsDelta(index, arguments[half:]),
    ]


class ScriptedModels:
    """One script per attempt, in order."""

    def __init__(self, *scripts: Script, window: int | None = None) -> None:
        self._scripts = deque(scripts)
        self.window = window
        self.routes: dict[str | None, Route] = {}
        self.asked: list[Ask] = []

    @property
    def unconsumed(self) -> int:
        return len(self._scripts)

    def stream(self, ask: Ask) -> "ScriptedStream":
        self.asked.append(ask)
        assert self._scripts, f"attempt {len(self.asked)} is not in the script"
        return ScriptedStream(self._scripts.popleft())

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None if usage is None else usage.input + usage.output

    def context_window(self, model: str | None) -> int | None:
        return self.window

    def route(self, model: str | None) -> Route:
        return self.routes.get(model, NO_ROUTE)


class ScriptedStream:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._heard: dict[int, list[Any]] = {}
        self._whole: dict[int, Part] = {}
        self.opened = False
        self.closed = False
        self.usage: Usage | None = None
        self.final: Reply | None = None

    async def __aenter__(self) -> Self:
        await asyncio.sleep(0)
        if self._script and isinstance(self._script[0], ModelFailed):
            raise self._script[0]
        self.opened = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.closed = True

    async def __aiter__(self) -> AsyncIterator[Event]:
        for item in self._script:
            if isinstance(item, Pause):
                await asyncio.sleep(item.for_s)
                continue
            await asyncio.sleep(0)
            match item:
                case Exception():
                    raise item
                case Hold(until):
                    await until.wait()
                case End(ending, usage):
                    self.usage = usage
                    self.final = self._reply(ending)
                    return
                case Whole(part):
                    self._whole[len(self._heard) + len(self._whole)] = part
                case UsageSeen(usage):
                    self.usage = usage
                    yield item
                case _:
                    self._heard.setdefault(item.index, []).append(item)
                    yield item

    def _reply(self, ending: Ending) -> Reply:
        malformed: list[Malformed] = []
        parts: list[Part] = []
        for _, part, (call_id, tool, raw) in self._parts():
            if part is None:
                malformed.append(Malformed(CallId(call_id), raw))
            parts.append(part or ToolCall(CallId(call_id), tool, {}))
        return Reply(
            parts=tuple(parts),
            ending=ending,
            usage=self.usage,
            finish="stop",
            malformed=tuple(malformed),
        )

    def partial(self) -> tuple[Part, ...]:
        return tuple(part for _, part, _ in self._parts() if part is not None)

    def _parts(self) -> list[tuple[int, Part | None, tuple[str, str, str]]]:
        found: list[tuple[int, Part | None, tuple[str, str, str]]] = [
            (index, part, ("", "", "")) for index, part in self._whole.items()
        ]
        for index, events in self._heard.items():
            text = "".join(getattr(event, "text", "") for event in events)
            first = events[0]
            match first:
                case TextDelta():
                    found.append((index, Text(text), ("", "", "")))
                case ReasoningDelta():
                    found.append((index, Reasoning(text, NOW), ("", "", "")))
                case CallStarted(_, call_id, tool, runs_at):
                    part = _call(call_id, tool, text, runs_at)
                    found.append((index, part, (call_id, tool, text)))
                case _:
                    raise AssertionError(first)
        return sorted(found, key=lambda each: each[0])


def _call(call_id: CallId, tool: str, text: str, runs_at: Any) -> ToolCall | None:
    try:
        arguments: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(arguments, dict):
        return None
    return ToolCall(call_id, tool, cast("dict[str, Any]", arguments), runs_at=runs_at)
