"""OpenRouter's `reasoning_details`: entries that stream in pieces and go back whole, in order."""

from collections.abc import Sequence

from holdfast.adapters.providers.types import Object

_GROWING = ("text", "summary", "data")


def merged(details: Sequence[Object]) -> list[Object]:
    """The entries of a list of pieces."""
    entries: list[Object] = []
    for detail in details:
        last = entries[-1] if entries else None
        if last is None or not _continues(last, detail):
            entries.append(dict(detail))
            continue
        for key, value in detail.items():
            if key in _GROWING and isinstance(last.get(key), str) and value:
                last[key] += value
            elif value is not None:
                last[key] = value
    return entries


def _continues(last: Object, piece: Object) -> bool:
    """The same type, index and id is the same entry; a signature ends one."""
    if any(last.get(key) != piece.get(key) for key in ("type", "index")):
        return False
    ids = {entry["id"] for entry in (last, piece) if entry.get("id")}
    return len(ids) < 2 and not (last.get("signature") and piece.get("text"))
