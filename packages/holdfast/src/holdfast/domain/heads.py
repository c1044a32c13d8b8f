"""The head of a message: what the facts of a chat hold of a message that waits in the queue.

A queue may hold megabytes, and its facts are read for every command, acquire and reader. So they
hold the beginning of each message, and its size. The whole is read when the message is promoted or
taken out.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from holdfast.domain.chat import AWAITED_BYTES_MAX
from holdfast.domain.format import parts_to_json
from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import (
    Context,
    FileReference,
    JsonObject,
    JsonValue,
    Need,
    Part,
    Skill,
    Text,
    ToolCall,
)

HEAD_BYTES_MAX: Final = 600
"""As JSON. With a full queue this is about 50 KB, which a hint still carries."""


def head_of(body: MessageBody) -> tuple[MessageBody, bool]:
    """The beginning of a message, and whether something was cut off."""
    if stored_bytes(body.parts) <= HEAD_BYTES_MAX:
        return body, False
    room = HEAD_BYTES_MAX
    kept: list[Part] = []
    for part in body.parts:
        if isinstance(part, Context):
            continue  # for the model only: readers are never told of it
        beginning = _fitting(part, room)
        if beginning is not None:
            kept.append(beginning)
            room -= stored_bytes((beginning,))
        if beginning != part:
            break
    return replace(body, parts=tuple(kept)), True


def stored_bytes(parts: Iterable[Part]) -> int:
    """About what these parts take in the database: their JSON in UTF-8."""
    return _json_bytes(parts_to_json(parts))


def awaited_arguments(calls: Iterable[ToolCall]) -> dict[CallId, JsonObject]:
    """The arguments of calls that wait for an answer from outside, as far as they fit."""
    room, kept = AWAITED_BYTES_MAX, dict[CallId, JsonObject]()
    for call in calls:
        if call.needs is not Need.NOTHING:
            room -= _json_bytes(call.arguments)
            if room >= 0:
                kept[call.call_id] = call.arguments
    return kept


def _fitting(part: Part, room: int) -> Part | None:
    """The part, or its beginning, in so many bytes; None if not even that has room."""
    if stored_bytes((part,)) <= room:
        return part
    if not isinstance(part, Text | FileReference | Skill):
        return None
    without = replace(part, text="", native=None)
    room -= stored_bytes((without,)) + len(',"text":""')
    return replace(without, text=_cut(part.text, room)) if room > 0 else None


def _cut(text: str, room: int) -> str:
    text = text[:room]
    while (size := _json_bytes(text) - 2) > room:  # without its quotes
        text = text[: len(text) * room // size]
    return text


def _json_bytes(value: JsonValue) -> int:
    """Walk with a list of our own: a hostile depth must not meet Python's recursion limit."""
    size, pending = 0, [value]
    while pending:
        match pending.pop():
            case Mapping() as members:
                size += 2 + max(0, len(members) - 1) + len(members)
                pending += [*members.keys(), *members.values()]
            case list() | tuple() as elements:
                size += 2 + max(0, len(elements) - 1)
                pending += elements
            case scalar:
                dumped = json.dumps(scalar, ensure_ascii=False)
                size += len(dumped.encode("utf-8", "surrogatepass"))
    return size
