"""What a person sees of a chat, as a pure function of its events: `reduce(view, event) → view`.

Clients in other languages do the same; the fixtures in tests/golden/stream are theirs, too. It is
forgiving: what comes twice changes nothing, and a kind that it does not know is ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

Data = dict[str, Any]
"""JSON as it comes off the wire."""


@dataclass(frozen=True, slots=True)
class WireEvent:
    """An event as a client reads it. `kind` is text: a newer server may have more of them."""

    kind: str
    data: Data
    cursor: str | None = None

    @classmethod
    def from_json(cls, envelope: Data) -> "WireEvent":
        return cls(envelope["event"], envelope["data"], envelope.get("id"))

    @classmethod
    def from_bytes(cls, envelope: bytes) -> "WireEvent":
        return cls.from_json(orjson.loads(envelope))


@dataclass(frozen=True, slots=True)
class Preview:
    """What is being said right now, not yet committed.

    `parts` by their index in the message to be; `outputs`: what running tools have shown, by call.
    """

    attempt: int
    seq: int = 0
    parts: Mapping[int, Data] = field(default_factory=dict[int, Data])
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatView:
    """`older`: there are messages before this seq; page for them. `lagged`: how often we were."""

    messages: tuple[Data, ...] = ()
    older: int | None = None
    preview: Preview | None = None
    status: Data | None = None
    retry: Data | None = None
    error: Data | None = None
    action: Data | None = None
    queue: tuple[Data, ...] = ()
    lagged: int = 0
    cursor: str | None = None


EMPTY: Final = ChatView()


def reduce(view: ChatView, event: WireEvent) -> ChatView:
    handler = _HANDLERS.get(event.kind)
    if handler is not None:
        view = handler(view, event.data)
    return view if event.cursor is None else replace(view, cursor=event.cursor)


def as_json(view: ChatView) -> Data:
    """A view as the shared fixtures write it."""
    preview = view.preview
    return {
        "messages": list(view.messages),
        "older": view.older,
        "preview": None
        if preview is None
        else {
            "attempt": preview.attempt,
            "seq": preview.seq,
            "parts": [preview.parts[index] for index in sorted(preview.parts)],
            "outputs": dict(preview.outputs),
        },
        "status": view.status,
        "retry": view.retry,
        "error": view.error,
        "action": view.action,
        "queue": list(view.queue),
        "lagged": view.lagged,
        "cursor": view.cursor,
    }


def _history_reset(view: ChatView, data: Data) -> ChatView:
    first: int = data["from"]
    older: int | None = data["older"]
    if older is None and view.older is not None and first > 1:
        older = min(view.older, first)  # an edit: what we never loaded is still there
    kept = tuple(message for message in view.messages if message["seq"] < first)
    return replace(view, messages=kept, older=older, preview=None)


def _message(view: ChatView, data: Data) -> ChatView:
    if view.messages and data["seq"] <= view.messages[-1]["seq"]:
        return view  # known
    return replace(view, messages=(*view.messages, data), preview=None)


def _preview_reset(view: ChatView, _data: Data) -> ChatView:
    return replace(view, preview=None)


def _status(view: ChatView, data: Data) -> ChatView:
    return replace(view, status=data, retry=None, error=None, action=None)


def _retry(view: ChatView, data: Data) -> ChatView:
    return replace(view, retry=data)


def _error(view: ChatView, data: Data) -> ChatView:
    return replace(view, error=data)


def _action_required(view: ChatView, data: Data) -> ChatView:
    return replace(view, action=data)


def _queue(view: ChatView, data: Data) -> ChatView:
    return replace(view, queue=tuple(data["messages"]))


def _lagged(view: ChatView, _data: Data) -> ChatView:
    return replace(view, lagged=view.lagged + 1)


def _part(view: ChatView, data: Data) -> ChatView:
    preview = view.preview
    if preview is None or preview.attempt < data["attempt"]:
        preview = Preview(data["attempt"])
    if data["attempt"] != preview.attempt or data["seq"] != preview.seq + 1:
        return view  # known, or of an attempt that is over
    parts, outputs = dict(preview.parts), dict(preview.outputs)
    for delta in data["deltas"]:
        _add(parts, outputs, delta)
    return replace(view, preview=Preview(data["attempt"], data["seq"], parts, outputs))


def _add(parts: dict[int, Data], outputs: dict[str, str], delta: Data) -> None:
    match delta["kind"]:
        case "tool_output":
            call_id = delta["call_id"]
            outputs[call_id] = outputs.get(call_id, "") + delta["text"]
        case "text" | "reasoning" as kind:
            known = parts.get(delta["index"], {"kind": kind, "text": ""})
            parts[delta["index"]] = known | {"text": known["text"] + delta["text"]}
        case "tool_call":
            call = {name: delta[name] for name in ("kind", "call_id", "tool")}
            parts[delta["index"]] = call | {"arguments": ""}
        case "arguments" if delta["index"] in parts:
            call = parts[delta["index"]]
            parts[delta["index"]] = call | {"arguments": call["arguments"] + delta["text"]}
        case _:
            pass


_HANDLERS: Final[Mapping[str, Callable[[ChatView, Data], ChatView]]] = {
    "history_reset": _history_reset,
    "message": _message,
    "preview_reset": _preview_reset,
    "status": _status,
    "retry": _retry,
    "error": _error,
    "action_required": _action_required,
    "queue": _queue,
    "part": _part,
    "lagged": _lagged,
}
