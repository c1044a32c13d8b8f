"""The one border that text and JSON cross on the way to the database and back.

PostgreSQL stores neither NUL nor lone surrogates, and a message that cannot be stored is a poison
that no retry cures. So both are escaped, reversibly, behind U+E000:

    NUL      → U+E000 "0"
    U+E000   → U+E000 "e"
    U+D800…  → U+E000 "s" and four hex digits

JSON past a bound is refused with a typed error before it gets here a second time (M5, L88, L89).
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from holdfast.domain.errors import ContentRefused
from holdfast.domain.parts import JsonValue

DEPTH_MAX: Final = 100
JSON_BYTES_MAX: Final = 8 * 1024 * 1024
INTEGER_MAX: Final = 2**63 - 1

_LEAD: Final = "\ue000"
_LEAD_BYTES: Final = _LEAD.encode()
_UNSAFE: Final = re.compile("[\x00\ud800-\udfff\ue000]")
_ESCAPED: Final = re.compile(f"{_LEAD}(?:0|e|s([0-9a-f]{{4}}))")


def escape(text: str) -> str:
    """Text that PostgreSQL accepts, from which `unescape` makes the same text again."""
    return _UNSAFE.sub(_escape_one, text) if _UNSAFE.search(text) else text


def unescape(text: str) -> str:
    return _ESCAPED.sub(_unescape_one, text) if _LEAD in text else text


def text_of_bytes(data: bytes) -> str:
    """Bytes of any origin as text: what is not UTF-8 becomes U+FFFD (L89)."""
    return data.decode("utf-8", errors="replace")


def encode_json(value: JsonValue) -> str:
    """JSON text for a json or jsonb column; refuses what could not be read again."""
    _check_bounds(value)
    try:
        encoded = orjson.dumps(value)
    except TypeError:  # a lone surrogate: _check_bounds has refused everything else
        encoded = b"\\u0000"
    if b"\\u0000" in encoded or _LEAD_BYTES in encoded:
        encoded = orjson.dumps(_map_text(value, escape))
    if len(encoded) > JSON_BYTES_MAX:
        raise ContentRefused(f"{len(encoded)} bytes of JSON; at most {JSON_BYTES_MAX} are stored")
    return encoded.decode()


def decode_json(text: str) -> Any:  # noqa: ANN401  (JSON is checked where its shape is known)
    value = orjson.loads(text)
    return _map_text(value, unescape) if _LEAD in text else value


def _escape_one(found: re.Match[str]) -> str:
    match found[0]:
        case "\x00":
            return _LEAD + "0"
        case "\ue000":
            return _LEAD + "e"
        case surrogate:
            return f"{_LEAD}s{ord(surrogate):04x}"


def _unescape_one(found: re.Match[str]) -> str:
    if found[1] is not None:
        return chr(int(found[1], 16))
    return "\x00" if found[0][1] == "0" else _LEAD


def _check_bounds(value: JsonValue) -> None:
    """Walk with a list of our own: a hostile depth must not meet Python's recursion limit."""
    pending: list[tuple[JsonValue, int]] = [(value, 1)]
    while pending:
        current, depth = pending.pop()
        if isinstance(current, dict):
            members = cast(dict[Any, JsonValue], current)
            if not all(isinstance(key, str) for key in members):
                raise ContentRefused("a JSON object with a key that is not text")
            inside = members.values()
        elif isinstance(current, list | tuple):
            inside = cast(Sequence[JsonValue], current)
        else:
            _check_scalar(current)
            continue
        if depth > DEPTH_MAX:
            raise ContentRefused(f"JSON nested deeper than {DEPTH_MAX}")
        pending.extend([(inner, depth + 1) for inner in inside if type(inner) is not str])


def _check_scalar(value: JsonValue) -> None:
    if isinstance(value, str | bool | None):
        return
    if isinstance(value, int):
        if not -INTEGER_MAX <= value <= INTEGER_MAX:
            raise ContentRefused("an integer of more than 63 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ContentRefused(f"{value} is not a JSON number")
    else:
        raise ContentRefused(f"{type(value).__name__} is not JSON")


def _map_text(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """The same JSON with every text changed, keys included. Depth is bounded by now."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _map_text(inner, change) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_map_text(inner, change) for inner in value]
    return value
