"""The built-in system prompt (`default_prompt.md`).

A line of the file may begin with conditions in braces; without any it is always told:

- `{workspace}`: chats may have workspaces; `{chat}`: no template is configured;
- the name of a wire, such as `{gemini}`: only for models that are spoken to on it. Those lines are
  a section of their own: a chat that changes its model is told only these again.

The text depends on nothing else, so that a provider's prompt cache holds it for all chats.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

FILE: Final = "default_prompt.md"
_LINE: Final = re.compile(r"(?:\{([a-z ]+)\} )?(.*)")
_PLACES: Final = frozenset({"workspace", "chat"})


@dataclass(frozen=True, slots=True)
class DefaultPrompt:
    """`by_wire`: what models on one wire are told beside `text`."""

    text: str
    by_wire: Mapping[str, str]


@cache
def default_prompt(*, workspaces: bool) -> DefaultPrompt:
    """`workspaces`: whether a template is configured."""
    wanted = "workspace" if workspaces else "chat"
    common: list[str] = []
    by_wire: dict[str, list[str]] = {}
    for line in files("holdfast.turn").joinpath(FILE).read_text(encoding="utf-8").splitlines():
        found = _LINE.fullmatch(line)
        assert found is not None, "every line has this form"
        conditions = frozenset((found[1] or "").split())
        if conditions & _PLACES and wanted not in conditions:
            continue
        wires = conditions - _PLACES
        for wire in wires:
            by_wire.setdefault(wire, []).append(found[2])
        if not wires:
            common.append(found[2])
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(common)).strip()
    lines = {wire: "\n".join(told) for wire, told in by_wire.items()}
    return DefaultPrompt(text, MappingProxyType(lines))
