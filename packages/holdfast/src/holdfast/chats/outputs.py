"""Tool outputs made fit: storable whatever a tool returned, and no longer than a model can bear."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import orjson

from holdfast.domain.parts import JsonValue

DEPTH_MAX: Final = 60
"""Below what the store takes: the output lies within a part, and a part within a message."""
NUMBER_MAX: Final = 2**63 - 1
TEXT_CHARS_MAX: Final = 10_000
"""Of what is no JSON, or lies too deep: only its text is kept."""
STORED_BYTES_MAX: Final = 1024 * 1024
OUTPUT_BYTES_MAX: Final = 32 * 1024
OUTPUT_SHARE: Final = 0.1
"""Of the model's context window: no single result may take more (L114)."""
BYTES_PER_TOKEN: Final = 4


def bytes_max(
    window_tokens: int | None, share: float = OUTPUT_SHARE, at_most: int = OUTPUT_BYTES_MAX
) -> int:
    """How much of a context window one result may take (L114)."""
    if window_tokens is None:
        return at_most
    return max(256, min(at_most, int(window_tokens * share * BYTES_PER_TOKEN)))


def storable(value: object, depth: int = 0) -> JsonValue:
    """The value as JSON that can be stored and read again (M5): what is none becomes its text."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return value if math.isfinite(value) and abs(value) <= NUMBER_MAX else str(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case Mapping() | list() | tuple() if depth < DEPTH_MAX:
            return _storable_inside(cast("Mapping[object, object]", value), depth + 1)
        case _:
            return str(value)[:TEXT_CHARS_MAX]


def _storable_inside(value: Mapping[object, object] | Sequence[object], depth: int) -> JsonValue:
    if isinstance(value, Mapping):
        return {str(key): storable(inner, depth) for key, inner in value.items()}
    return [storable(inner, depth) for inner in value]


def fitted(value: JsonValue, limit_bytes: int) -> tuple[JsonValue, bool]:
    """The value, cut to a number of bytes if it is longer; and whether it was."""
    if isinstance(value, str):
        return cut(value, limit_bytes)
    blocks = _blocks(value)
    if blocks is not None:
        shorter, was_cut = _fitted_blocks(blocks, limit_bytes)
        return (shorter, True) if was_cut else (value, False)
    text = _json(value)
    if len(text.encode("utf-8", "surrogatepass")) <= limit_bytes:
        return value, False
    return cut(text, limit_bytes)


def cut(text: str, limit_bytes: int) -> tuple[str, bool]:
    """Head and tail of a text with a marker between them, whole characters only."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit_bytes:
        return text, False
    marker = f"\n[… {len(data) - limit_bytes} bytes or more left out here …]\n"
    room = max(0, limit_bytes - len(marker.encode()))
    head, tail = room - room // 2, room // 2
    # `ignore` drops the halves of characters at the two edges, and lone surrogates with them.
    begins = data[:head].decode("utf-8", "ignore")
    ends = data[len(data) - tail :].decode("utf-8", "ignore") if tail else ""
    return f"{begins}{marker}{ends}", True


def _blocks(value: JsonValue) -> list[dict[str, Any]] | None:
    """The typed blocks of an output such as `{"content": [{"type": "text", …}]}`."""
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, list):
        return None
    blocks = cast("list[object]", content)
    if not all(isinstance(block, dict) and "type" in block for block in blocks):
        return None
    return cast("list[dict[str, Any]]", blocks)


def _fitted_blocks(blocks: list[dict[str, Any]], limit_bytes: int) -> tuple[JsonValue, bool]:
    """Text is cut to what is left of the limit; images are no text, but must be storable."""
    text_bytes, image_bytes, any_cut = limit_bytes, STORED_BYTES_MAX, False
    kept: list[JsonValue] = []
    for block in blocks:
        if block.get("type") == "image":
            image_bytes -= len(_json(block))
            fits = image_bytes >= 0
            kept.append(block if fits else {"type": "text", "text": "[image left out: too large]"})
            any_cut = any_cut or not fits
            continue
        text = block.get("text")
        said = text if isinstance(text, str) else _json(block)
        shorter, was_cut = cut(said, max(text_bytes, 128))
        kept.append({"type": "text", "text": shorter} if was_cut else block)
        any_cut = any_cut or was_cut
        text_bytes -= len(shorter.encode("utf-8", "surrogatepass"))
        if text_bytes <= 0 and len(kept) < len(blocks):
            kept.append({"type": "text", "text": "[the rest was left out]"})
            return {"content": kept}, True
    return {"content": kept}, any_cut


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate
        return str(value)
