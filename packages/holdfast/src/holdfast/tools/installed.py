"""Tool sources of other distributions: each entry point of the group `holdfast.tools` is one."""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

from holdfast.domain.client_tools import TOOL_NAME
from holdfast.ports.tools import Toolbox, ToolContext, Tools

GROUP: Final = "holdfast.tools"
ToolFactory: TypeAlias = Callable[[], Tools]
"""The object that an entry point names. It is called once per process, when the server starts."""
_LOG: Final = logging.getLogger(__name__)


class SourceRefused(Exception):
    """An installed source that the server does not use; the words are for the operator."""


class UndeclaredTools(Exception):
    """A toolbox offers tools that are not among the `names` of its source: they are not reserved,
    and may be the names of other tools."""


class Declared:
    """A source that fails to open if it offers tools that it did not declare."""

    def __init__(self, source: Tools) -> None:
        self._source = source
        self.names = frozenset(source.names)

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        async with self._source.open(context) as toolbox:
            undeclared = toolbox.specs.keys() - self.names
            if undeclared:
                raise UndeclaredTools(", ".join(sorted(undeclared)))
            yield toolbox


def installed(beside: Mapping[str, Tools]) -> dict[str, Tools]:
    """The installed sources by name, in the order of their names. A source that cannot be loaded,
    or that has a name of a source or tool in `beside`, is left out and named in the log."""
    found: dict[str, Tools] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            found[entry.name] = _loaded(entry, {**beside, **found})
        except Exception as error:  # noqa: BLE001 - of a package that others wrote
            package = "unknown" if entry.dist is None else entry.dist.name
            _LOG.error(
                "tools: source %s of package %s is left out: %r",
                entry.name,
                package,
                error,
                exc_info=error,
            )
        else:
            _LOG.info("tools: source %s is loaded from %s", entry.name, entry.value)
    return found


def _checked(source: object) -> Tools:
    if not isinstance(source, Tools):
        raise SourceRefused(f"the factory returned {type(source).__name__}, which is no Tools")
    return source


def _loaded(entry: EntryPoint, others: Mapping[str, Tools]) -> Tools:
    if entry.name in others:
        raise SourceRefused(f"another source is called {entry.name}")
    factory: ToolFactory = entry.load()
    source = _checked(factory())
    for name in sorted(source.names):
        if not TOOL_NAME.fullmatch(name):
            raise SourceRefused(f"{name!r} is no name of a tool: 1 to 64 of A-Z, a-z, 0-9, _, -")
        owner = next((each for each, other in others.items() if name in other.names), None)
        if owner is not None:
            raise SourceRefused(f"the source {owner} has a tool called {name}")
    return Declared(source)
