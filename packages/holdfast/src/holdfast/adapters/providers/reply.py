"""A reply in the making: the parts that a decoder has seen so far, finished or not.

Whatever the wire, a part's text is the exact concatenation of its deltas (L10), and `partial()` is
fit to be stored at any moment (L09, L11).
"""

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

import orjson

from holdfast.adapters.providers.errors import incomplete
from holdfast.adapters.providers.types import Object
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Citation, Native, Part, Reasoning, Source, Text, ToolCall
from holdfast.ports import models
from holdfast.ports.models import (
    ArgumentsDelta,
    CallStarted,
    Event,
    Malformed,
    PartFinished,
    ReasoningDelta,
    TextDelta,
    Usage,
)

DEPTH_MAX: typing.Final = 100

Handlers: TypeAlias = Mapping[str, Callable[[Any, Object, list[Event]], None]]
"""What a decoder does with which kind of event; others pass. Functions, not bound methods: a
decoder that kept those would be a cycle, and would stay until the collector comes to it."""


class Slot:
    """One part under way, or finished once `part` is set."""

    __slots__ = ("call_id", "citations", "index", "kind", "part", "pieces", "runs_at", "tool")

    def __init__(self, index: int, kind: Literal["text", "reasoning", "call", "other"]) -> None:
        self.index = index
        self.kind = kind
        self.pieces: list[str] = []
        self.citations: list[Citation] = []
        self.part: Part | None = None
        self.call_id = CallId("")
        self.tool = ""
        self.runs_at: Literal["here", "provider"] = "here"

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class ReplyBuilder:
    """Collects parts and says, as events, what changed."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.malformed: list[Malformed] = []
        self._sources: set[str] = set()
        self._cited: list[tuple[int, int, str, bool]] = []

    def _new(self, kind: Literal["text", "reasoning", "call", "other"]) -> Slot:
        slot = Slot(len(self.slots), kind)
        self.slots.append(slot)
        return slot

    def text(self) -> Slot:
        return self._new("text")

    def reasoning(self) -> Slot:
        return self._new("reasoning")

    def call(
        self,
        call_id: CallId,
        tool: str,
        events: list[Event],
        runs_at: Literal["here", "provider"] = "here",
    ) -> Slot:
        if type(call_id) is not str or type(tool) is not str:
            raise TypeError("a call without a name")
        slot = self._new("call")
        slot.call_id, slot.tool, slot.runs_at = call_id, tool, runs_at
        events.append(CallStarted(slot.index, call_id, tool, runs_at))
        return slot

    def grow(self, slot: Slot, text: str, events: list[Event]) -> None:
        """One delta; an empty one is none."""
        if type(text) is not str:  # it comes from outside: JSON may be anything
            raise TypeError(f"a delta of type {type(text).__name__}")
        if not text:
            return
        slot.pieces.append(text)
        if slot.kind == "text":
            events.append(TextDelta(slot.index, text))
        elif slot.kind == "reasoning":
            events.append(ReasoningDelta(slot.index, text))
        else:
            events.append(ArgumentsDelta(slot.index, text))

    def finish(self, slot: Slot, part: Part, events: list[Event]) -> None:
        slot.part = part
        events.append(PartFinished(slot.index, part))

    def finish_text(self, slot: Slot, native: Native | None, events: list[Event]) -> None:
        self.finish(slot, Text(slot.text, native), events)

    def finish_reasoning(self, slot: Slot, native: Native | None, events: list[Event]) -> None:
        self.finish(slot, Reasoning(slot.text, None, native), events)

    def finish_call(
        self, slot: Slot, arguments: Object | None, native: Native | None, events: list[Event]
    ) -> None:
        """`arguments` None: they were no JSON object. The call stays, to be answered, not run."""
        if arguments is None:
            self.malformed.append(Malformed(slot.call_id, slot.text))
            arguments, native = {}, None
        part = ToolCall(slot.call_id, slot.tool, arguments, runs_at=slot.runs_at, native=native)
        self.finish(slot, part, events)

    def add(self, part: Part, events: list[Event]) -> None:
        """A part that arrives whole."""
        self.finish(self._new("other"), part, events)

    def source(self, url: object, title: object, events: list[Event]) -> None:
        """Where something comes from, once per reply."""
        if isinstance(url, str) and url and url not in self._sources:
            self._sources.add(url)
            self.add(Source(url, title if isinstance(title, str) else ""), events)

    def cite(self, slot: Slot, start: object, end: object, url: object) -> None:
        """Some of a text part's code points rest on a source."""
        if isinstance(start, int) and isinstance(end, int) and isinstance(url, str):
            slot.citations.append(Citation(start, end, url))

    def cite_reply(
        self, start: object, end: object, url: object, *, in_bytes: bool = False
    ) -> None:
        """The same, counted from the beginning of all text of the reply; or in bytes of UTF-8."""
        if isinstance(start, int) and isinstance(end, int) and isinstance(url, str):
            self._cited.append((start, end, url, in_bytes))

    def _parts(self, now: datetime) -> Iterator[Part | None]:
        spread = self._spread() if self._cited else {}
        for slot in self.slots:
            part = _partial(slot, now)
            found = [*slot.citations, *spread.get(slot.index, ())]
            yield _with_citations(part, found) if found and isinstance(part, Text) else part

    def _spread(self) -> dict[int, list[Citation]]:
        """What was cited of the reply, by the text parts that it lies in."""
        slots = [slot for slot in self.slots if slot.kind == "text"]
        text = "".join(slot.text for slot in slots)
        encoded = text.encode("utf-8", "surrogatepass")
        spread: dict[int, list[Citation]] = {}
        for start, end, url, in_bytes in self._cited:
            if in_bytes:
                start, end = (_chars_in(encoded, max(0, place)) for place in (start, end))  # noqa: PLW2901
            at = 0
            for slot in slots:
                size = len(slot.text)
                first, last = max(start - at, 0), min(end - at, size)
                if first < last:
                    spread.setdefault(slot.index, []).append(Citation(first, last, url))
                at += size
        return spread

    def final(
        self,
        *,
        now: datetime,
        ending: Ending,
        usage: Usage | None,
        finish: str,
        response_id: str | None,
    ) -> models.Reply:
        cut = ending.is_cut
        if not cut and any(slot.part is None for slot in self.slots):
            raise incomplete("the stream ended inside a part")
        # Broken arguments at a length limit are a call cut in half; anywhere else they are the
        # model's mistake, which it is told about.
        halves = {bad.call_id for bad in self.malformed} if cut else set[CallId]()
        parts = tuple(
            part
            for part in self._parts(now)
            if part is not None and not (isinstance(part, ToolCall) and part.call_id in halves)
        )
        return models.Reply(
            parts=parts,
            ending=ending,
            usage=usage,
            finish=finish,
            response_id=response_id,
            malformed=() if cut else tuple(self.malformed),
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        broken = {bad.call_id for bad in self.malformed}
        return tuple(
            part
            for part in self._parts(now)
            if part is not None and not (isinstance(part, ToolCall) and part.call_id in broken)
        )


CITATIONS_MAX: typing.Final = 1_000


def _with_citations(part: Text, found: Iterable[Citation]) -> Text:
    """In order, each once, and only what lies within the text."""
    length = len(part.text)
    within = {each for each in found if 0 <= each.start < each.end <= length and each.source_url}
    ordered = sorted(within, key=lambda each: (each.start, each.end, each.source_url))
    return replace(part, citations=tuple(ordered[:CITATIONS_MAX]))


def _chars_in(encoded: bytes, count: int) -> int:
    """How many characters begin within so many bytes."""
    return len(encoded[:count].decode("utf-8", "ignore"))


def _stamped(part: Part, now: datetime) -> Part:
    if isinstance(part, Reasoning) and part.finished_at is None:
        return Reasoning(part.text, now, part.native)
    return part


def _partial(slot: Slot, now: datetime) -> Part | None:
    if slot.part is not None:
        return _stamped(slot.part, now)
    text = slot.text
    if slot.kind == "call":
        arguments = parsed_arguments(text) if text else None
        if arguments is None:
            return None
        return ToolCall(slot.call_id, slot.tool, arguments, runs_at=slot.runs_at)
    if not text:
        return None
    return Text(text) if slot.kind == "text" else Reasoning(text, now)


def parsed_arguments(text: str) -> Object | None:
    """A call's arguments; nothing at all means none. None: not a JSON object (L35)."""
    if not text.strip():
        return {}
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or not is_shallow(text, cast(object, value)):
        return None
    return cast(Object, value)


def is_shallow(text: str | bytes, value: object) -> bool:
    """Whether the value of a JSON text can be stored and sent again (M5).

    A decoder takes more levels than an encoder: what is too deep would poison its chat.
    """
    opened = (
        text.count("{") + text.count("[")
        if isinstance(text, str)
        else text.count(b"{") + text.count(b"[")
    )
    if opened <= DEPTH_MAX:
        return True
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return True
    return False


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast(dict[str, object], value).values()
    return cast(list[object], value) if isinstance(value, list) else ()
