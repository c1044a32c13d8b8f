"""What a person sees of a chat, as a pure function of its events: `reduce(view, event) → view`.

In JSON as it came; `ChatView` has the same, typed.

Clients in other languages do the same; the fixtures in tests/golden/stream are theirs, too. The
rules are in docs/reference/events.md. What comes twice changes nothing, and a type that it does not
know is ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast_client.wire import loads

Data = dict[str, Any]
"""JSON as it comes off the wire."""


@dataclass(frozen=True, slots=True)
class WireEvent:
    """An event as a client reads it. `type` is text: a newer server may have more of them."""

    type: str
    data: Data
    cursor: str | None = None
    version: int | None = None
    final: bool = True

    @classmethod
    def from_json(cls, envelope: Data) -> "WireEvent":
        return cls(
            envelope["type"],
            envelope["data"],
            envelope["cursor"],
            envelope["version"],
            envelope["final"],
        )

    @classmethod
    def from_bytes(cls, envelope: bytes) -> "WireEvent":
        return cls.from_json(loads(envelope))


@dataclass(frozen=True, slots=True)
class Preview:
    """What is being said right now, not yet committed. `index`: of the last delta that was applied.

    `parts` by their index in the message to be; `outputs`: what running tools have shown, by call.
    """

    attempt: int
    index: int = 0
    parts: Mapping[int, Data] = field(default_factory=dict[int, Data])
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class WireView:
    """`older`: there are messages before this seq; page for them. `state`: the data of the last
    `chat.state`. `version`: the last commit that was told completely."""

    messages: tuple[Data, ...] = ()
    older: int | None = None
    preview: Preview | None = None
    state: Data | None = None
    queue: tuple[Data, ...] = ()
    queue_paused: bool = False
    cursor: str | None = None
    version: int = 0

    @property
    def status(self) -> str | None:
        return None if self.state is None else self.state["status"]

    @property
    def retry(self) -> Data | None:
        return None if self.state is None else self.state["retry"]

    @property
    def error(self) -> Data | None:
        return None if self.state is None else self.state["error"]

    @property
    def action_required(self) -> Data | None:
        return None if self.state is None else self.state["action_required"]


EMPTY: Final = WireView()


def reduce(view: WireView, event: WireEvent) -> WireView:
    handler = _HANDLERS.get(event.type)
    if handler is not None:
        view = handler(view, event.data)
    if event.final and event.version is not None:
        view = replace(view, version=event.version)
    return view if event.cursor is None else replace(view, cursor=event.cursor)


def as_json(view: WireView) -> Data:
    """A view as the shared fixtures write it."""
    preview = view.preview
    return {
        "messages": list(view.messages),
        "older_before_seq": view.older,
        "preview": None
        if preview is None
        else {
            "attempt": preview.attempt,
            "index": preview.index,
            "parts": [preview.parts[index] for index in sorted(preview.parts)],
            "outputs": dict(preview.outputs),
        },
        "state": view.state,
        "queue": list(view.queue),
        "queue_paused": view.queue_paused,
        "cursor": view.cursor,
        "version": view.version,
    }


def _history_reset(view: WireView, data: Data) -> WireView:
    first: int = data["from_seq"]
    older: int | None = data["older_before_seq"]
    if older is None and view.older is not None and first > 1:
        older = min(view.older, first)  # messages that were never loaded are still there
    kept = tuple(message for message in view.messages if message["seq"] < first)
    return replace(view, messages=kept, older=older, preview=None)


def _message_created(view: WireView, data: Data) -> WireView:
    if view.messages and data["seq"] <= view.messages[-1]["seq"]:
        return view  # known
    return replace(view, messages=(*view.messages, data), preview=None)


def _preview_reset(view: WireView, _data: Data) -> WireView:
    return replace(view, preview=None)


def _chat_state(view: WireView, data: Data) -> WireView:
    return replace(view, state=data)


def _queue_updated(view: WireView, data: Data) -> WireView:
    return replace(view, queue=tuple(data["messages"]), queue_paused=data.get("paused", False))


def _preview_delta(view: WireView, data: Data) -> WireView:
    preview = view.preview
    if preview is None or preview.attempt < data["attempt"]:
        preview = Preview(data["attempt"])
    if data["attempt"] != preview.attempt or data["index"] != preview.index + 1:
        return view  # known, or of an attempt that is over
    parts, outputs = dict(preview.parts), dict(preview.outputs)
    for delta in data["deltas"]:
        _add(parts, outputs, delta)
    return replace(view, preview=Preview(data["attempt"], data["index"], parts, outputs))


def _add(parts: dict[int, Data], outputs: dict[str, str], delta: Data) -> None:
    match delta["type"]:
        case "tool_output":
            call_id = delta["call_id"]
            outputs[call_id] = outputs.get(call_id, "") + delta["text"]
        case "text" | "reasoning" as kind:
            known = parts.get(delta["index"], {"type": kind, "text": ""})
            parts[delta["index"]] = known | {"text": known["text"] + delta["text"]}
        case "summary_started":
            parts[delta["index"]] = {"type": "summary", "text": "", "ended": False, "error": None}
        case "summary" if delta["index"] in parts:
            said = parts[delta["index"]]
            parts[delta["index"]] = said | {"text": said["text"] + delta["text"]}
        case "summary_ended" if delta["index"] in parts:
            ended = {"ended": True, "error": delta["error"]}
            parts[delta["index"]] = parts[delta["index"]] | ended
        case "tool_call":
            call = {
                "type": "tool_call",
                "call_id": delta["call_id"],
                "tool_name": delta["tool_name"],
            }
            parts[delta["index"]] = call | {"arguments": ""}
        case "arguments" if delta["index"] in parts:
            call = parts[delta["index"]]
            parts[delta["index"]] = call | {"arguments": call["arguments"] + delta["text"]}
        case _:
            pass


_HANDLERS: Final[Mapping[str, Callable[[WireView, Data], WireView]]] = {
    "history.reset": _history_reset,
    "message.created": _message_created,
    "preview.reset": _preview_reset,
    "chat.state": _chat_state,
    "queue.updated": _queue_updated,
    "preview.delta": _preview_delta,
}
