"""Tool names and call ids in the one form that every provider takes: `[A-Za-z0-9_-]{1,64}`.

What fits is left alone. What does not is cleaned and given a hash of the original, so that the same
name has the same form in every request (prompt caches stay warm) and no two become one (L34).
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.adapters.providers.types import Tool
from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import ToolCall

FITTED_MAX: Final = 64
_FITS: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@lru_cache(maxsize=8192)
def fit(name: str) -> str:
    """`name` itself if every provider takes it, else a stand-in that is always the same."""
    if _FITS.match(name):
        return name
    return _suffixed(_UNFIT.sub("_", name), short_hash(name))


_SHORT_ID: Final = re.compile(r"[A-Za-z0-9]{9}\Z")
_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=8192)
def short_id(call_id: str) -> str:
    """A call id as nine letters and digits: itself if it is that, else always the same stand-in."""
    if _SHORT_ID.match(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
    return "".join(_LETTERS[number // 62**place % 62] for place in range(9))


def _suffixed(base: str, suffix: str) -> str:
    return f"{base[: FITTED_MAX - 1 - len(suffix)]}_{suffix}"


class Distinct:
    """Gives out each name once: `name`, then `name_2`, `name_3`, …"""

    __slots__ = ("_last", "taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self._last: dict[str, int] = {}  # so that a name asked for n times costs n, not n squared

    def give(self, name: str) -> str:
        chosen, number = name, self._last.get(name, 1)
        while chosen in self.taken:
            number += 1
            self._last[name] = number
            chosen = _suffixed(name, str(number))
        self.taken.add(chosen)
        return chosen


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The offered tools under the names that the model sees, and back."""

    by_tool: dict[str, str]
    by_name: dict[str, str]

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> "ToolNames":
        by_tool: dict[str, str] = {}
        by_name: dict[str, str] = {}
        names = Distinct()
        # Names that fit come first: a stand-in that looks like one of them must give way.
        for tool in sorted(tools, key=lambda tool: fit(tool.name) != tool.name):
            name = names.give(fit(tool.name))
            by_tool[tool.name] = name
            by_name[name] = tool.name
        return cls(by_tool, by_name)

    def name(self, tool: str) -> str:
        return self.by_tool.get(tool) or fit(tool)

    def tool(self, name: str) -> str:
        return self.by_name.get(name, name)


class CallIds:
    """Gives each call of a reply an id that no call of the chat has had.

    Some servers send none, some start again at `call_0` with every reply.
    """

    def __init__(self, history: Sequence[MessageBody]) -> None:
        self._history = history
        self._names: Distinct | None = None
        self._given = 0

    def give(self, raw: str | None, response_id: str | None) -> CallId:
        names = self._names
        if names is None:  # only for replies that call something
            names = self._names = Distinct(
                part.call_id
                for body in self._history
                for part in body.parts
                if isinstance(part, ToolCall)
            )
        self._given += 1
        chosen = fit(raw) if raw else ""
        if not chosen or chosen in names.taken:
            salt = short_hash(f"{response_id or len(self._history)}:{self._given}")
            chosen = _suffixed(chosen or "call", salt)
        return CallId(names.give(chosen))
