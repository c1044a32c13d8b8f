"""OpenRouter's `reasoning_details`: entries that stream in pieces and go back whole, in order."""

from collections.abc import Sequence
from typing import Final

from holdfast.adapters.providers.types import Object

_GROWING: Final = ("text", "summary", "data")
_FORMATS: Final = {
    "anthropic": "anthropic-",
    "google": "google-",
    "openai": "openai-",
    "x-ai": "xai-",
}
"""How the formats of companies begin whose reasoning is signed or encrypted."""


def merged(details: Sequence[Object]) -> list[Object]:
    """The entries of a list of pieces."""
    entries: list[Object] = []
    for detail in details:
        last = entries[-1] if entries else None
        if last is None or not _continues(last, detail):
            entries.append(dict(detail))
            continue
        for key, value in detail.items():
            if key in _GROWING and isinstance(last.get(key), str):
                last[key] += value or ""  # the piece with the signature has an empty text
            elif value is not None:
                last[key] = value
    return entries


def readable(details: Sequence[Object], model: str) -> list[Object]:
    """The entries for `company/model`: what one company has sealed is not for another."""
    company = model.partition("/")[0]
    if company == "openrouter":  # it chooses the model itself
        return list(details)
    return [entry for entry in details if _maker(entry) in (None, company)]


def _maker(entry: Object) -> str | None:
    form = entry.get("format") or ""
    return next((name for name, prefix in _FORMATS.items() if form.startswith(prefix)), None)


def _continues(last: Object, piece: Object) -> bool:
    """The same type, index and id is the same entry; a signature ends one."""
    if any(last.get(key) != piece.get(key) for key in ("type", "index")):
        return False
    ids = {entry["id"] for entry in (last, piece) if entry.get("id")}
    return len(ids) < 2 and not (last.get("signature") and piece.get("text"))
