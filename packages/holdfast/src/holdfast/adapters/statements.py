"""Statements in files, each named where it stands (`-- name --` on a line of its own), and their
parameters, each named where it is used (`:name`). `{{name}}` stands for a text that the package
gives, or for the block of that name.

Beside `db` and `bus`, not in one of them: each has statements, and neither knows the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, LiteralString, cast

_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)\b")
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Query:
    """A statement of ours. Nothing from outside is ever part of one.

    `text` is what the server gets, with its parameters numbered; `names` is their order.
    """

    source: LiteralString
    text: LiteralString
    names: tuple[str, ...]

    @classmethod
    def compile(cls, source: LiteralString) -> "Query":
        names = tuple(dict.fromkeys(_PARAMETER.findall(source)))
        text = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", source)
        return cls(source, cast(LiteralString, text), names)

    def values(self, parameters: Mapping[str, object]) -> list[object]:
        """Those that the statement has, in its order."""
        return [parameters[name] for name in self.names]


class Statements:
    """The statements in the `*.sql` files of one package."""

    def __init__(self, package: str, filled: Mapping[str, str] | None = None) -> None:
        """`filled`: the texts that placeholders stand for."""
        self._package = package
        self._filled = filled or {}

    def load_query(self, *names: str) -> Query:
        """One statement, or several blocks put together to one."""
        source = "\n".join(self._fill(self._blocks[name]) for name in names)
        return Query.compile(cast(LiteralString, source))

    def block_names(self) -> frozenset[str]:
        return frozenset(self._blocks)

    def _fill(self, block: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self._text_of(found[1]), block)

    def _text_of(self, name: str) -> str:
        return self._filled[name] if name in self._filled else self._fill(self._blocks[name])

    @cached_property
    def _blocks(self) -> dict[str, str]:
        blocks: dict[str, str] = {}
        for path in files(self._package).iterdir():
            if not path.name.endswith(".sql"):
                continue
            sections = re.split(r"^-- (\w+) --$", path.read_text(), flags=re.MULTILINE)
            for name, block in zip(sections[1::2], sections[2::2], strict=True):
                assert name not in blocks, f"two statements are named {name}"
                lines = (line for line in block.splitlines() if not line.lstrip().startswith("--"))
                blocks[name] = "\n".join(lines).strip()
        return blocks
