"""The stored form of parts: plain JSON values under a format number.

The number stands in a column of its own, never inside the parts, so that no part can look like an
older envelope (L90). A reader refuses what it does not know: to add a kind or a field, teach every
replica to read it, deploy, and only then let a replica write it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, cast, get_args

from holdfast.domain.chat import Chat
from holdfast.domain.errors import FormatUnknown
from holdfast.domain.parts import (
    Citation,
    JsonObject,
    JsonValue,
    Native,
    Need,
    Part,
    Synthetic,
    Text,
)

FORMAT: Final = 1
READS: Final = 2
"""The reader level of this version, compared with `chats.reads`. A version that adds a word to a
chat's facts or a format of messages raises it, and sets `chats.reads` to it in each commit that
writes the new word (`level_of`). Older versions then leave the chat to newer ones."""
_PLAN_MODE: Final = 2

_KINDS: Final[Mapping[str, type[Part]]] = {
    cast(str, fields(part)[-1].default): part for part in get_args(Part)
}
_NEVER: Final = object()
_DEFAULTS: Final[Mapping[type[Part], tuple[tuple[str, object], ...]]] = {
    part: tuple(
        (field.name, _NEVER if field.default is MISSING else field.default)
        for field in fields(part)
        if field.name != "kind"
    )
    for part in _KINDS.values()
}


def level_of(chat: Chat) -> int:
    """The reader level that a version needs for a chat. One that does not know plan mode would run
    what the mode refuses."""
    plans = chat.plan_mode or any(queued.head.plan_mode for queued in chat.queue)
    return _PLAN_MODE if plans else 1


def _native_from_json(value: JsonValue) -> Native:
    native = cast(Mapping[str, Any], value)
    return Native(wire=native["wire"], block=native["block"])


def _citations_from_json(value: JsonValue) -> tuple[Citation, ...]:
    return tuple(Citation(**each) for each in cast("list[dict[str, Any]]", value))


def citations_to_json(part: Text) -> list[JsonValue]:
    return [
        {"start": each.start, "end": each.end, "source_url": each.source_url}
        for each in part.citations
    ]


_READERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "native": _native_from_json,
    "citations": _citations_from_json,
    "needs": Need,
    "then": Need,
    "synthetic": Synthetic,
    "finished_at": datetime.fromisoformat,
}


def parts_to_json(parts: Iterable[Part]) -> list[JsonObject]:
    """Parts as JSON values; fields that hold their default are left out."""
    return [_part_to_json(part) for part in parts]


def _part_to_json(part: Part) -> JsonObject:
    stored: dict[str, JsonValue] = {"kind": part.kind}
    for name, default in _DEFAULTS[type(part)]:
        value = getattr(part, name)
        if default is not _NEVER and value == default:
            continue
        match value:
            case Native(wire, block):
                stored[name] = {"wire": wire, "block": block}
            case datetime():
                stored[name] = value.isoformat()
            case StrEnum():
                stored[name] = value.value
            case _:
                stored[name] = value
    if isinstance(part, Text) and part.citations:
        stored["citations"] = citations_to_json(part)
    return stored


def parts_from_json(format_: int, stored: Iterable[Mapping[str, Any]]) -> tuple[Part, ...]:
    """The parts that were stored under a format number; unknown forms fail loudly."""
    if format_ != FORMAT:
        raise FormatUnknown(f"message format {format_}; this version reads {FORMAT}")
    return tuple(_part_from_json(part) for part in stored)


def _part_from_json(stored: Mapping[str, Any]) -> Part:
    try:
        kind = _KINDS[stored["kind"]]
        return kind(
            **{
                name: _READERS[name](value) if name in _READERS else value
                for name, value in stored.items()
                if name != "kind"
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatUnknown(f"part of kind {stored.get('kind')!r}: {error}") from error
