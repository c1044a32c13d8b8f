"""JSON values of unknown shape: read them without trusting them.

A request body is whatever a client sent. These helpers answer with an empty value of the asked type
instead of raising, so that every rule can look at every body.
"""

from collections.abc import Iterator
from typing import Any, cast

import orjson

JsonObject = dict[str, Any]
JsonList = list[Any]


def obj(value: object) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def arr(value: object) -> JsonList:
    return cast(JsonList, value) if isinstance(value, list) else []


def objs(value: object) -> Iterator[JsonObject]:
    """The objects among the members of an array, in order."""
    for member in arr(value):
        if isinstance(member, dict):
            yield cast(JsonObject, member)


def txt(value: object) -> str:
    return value if isinstance(value, str) else ""


def whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dumps(value: object) -> bytes:
    return orjson.dumps(value)


def loads(data: bytes | str) -> object:
    """The value, or ValueError."""
    return cast(object, orjson.loads(data))


def is_obj(value: object) -> bool:
    return isinstance(value, dict)


def is_arr(value: object) -> bool:
    return isinstance(value, list)
