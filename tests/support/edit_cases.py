"""Calls of the file tools as a model writes them, run on real files without a server between.

The call is normalised, checked and told by the server's code, and done by the agent's functions:
all that is left out is HTTP.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import yaml
from typing_extensions import override

from holdfast.adapters.workspaces.client import AgentRefused
from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import JsonObject, ToolCall
from holdfast.ports.tools import Run, ToolOutput
from holdfast.tools.workspace.edits import EDITS
from holdfast.tools.workspace.offer import Offer
from holdfast_agent.faults import Refused
from holdfast_agent.files import editing, reading, writing
from holdfast_agent.files.beneath import Beneath
from holdfast_agent.wire import Edited, EditFiles, Lines, ReadFile, WriteFile, Written
from tests.support.builders import a_chat

FOLDER: Final = Path(__file__).parents[1] / "ergonomics"
OFFERS: Final[Mapping[str, Offer[Any]]] = {each.spec.name: each for each in EDITS}
CHAT: Final = a_chat(Status.RUNNING)

T = TypeVar("T")
Asked = TypeVar("Asked")
Told = TypeVar("Told")


class DirectAgent:
    """The agent's functions as its client offers them."""

    def __init__(self, root: Path) -> None:
        self._beneath = Beneath(root)

    async def edit(self, wanted: EditFiles) -> Edited:
        return _done(editing.edit, self._beneath, wanted)

    async def write(self, wanted: WriteFile) -> Written:
        return _done(writing.write, self._beneath, wanted)

    async def read(self, wanted: ReadFile) -> Lines:
        return _done(reading.read, self._beneath, wanted)


def _done(do: Callable[[Beneath, Asked], Told], beneath: Beneath, wanted: Asked) -> Told:
    try:
        return do(beneath, wanted)
    except Refused as refused:
        raise AgentRefused(refused.code, refused.message) from refused


class DirectBinding:
    def __init__(self, root: Path) -> None:
        self._agent = DirectAgent(root)

    async def once(self, ask: Callable[[DirectAgent], Awaitable[T]]) -> T:
        return await ask(self._agent)

    use = once


async def called(root: Path, tool: str, arguments: JsonObject) -> ToolOutput:
    """What a model reads after a call."""
    call = ToolCall(CallId("1"), tool, arguments)
    run = Run(chat=CHAT, call=call, key="2.1", emit=lambda _: None)
    binding = cast("Any", DirectBinding(root))
    try:
        return await OFFERS[tool].run(binding, run)
    except AgentRefused as refused:
        return ToolOutput(str(refused), failed=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One call in a file of cases. `becomes`: the files that are another after it; None: gone."""

    name: str
    tool: str
    files: Mapping[str, str]
    call: JsonObject
    says: str
    failed: bool
    becomes: Mapping[str, str | None]

    @override
    def __str__(self) -> str:
        return self.name


def cases(name: str) -> list[Case]:
    rows = cast("list[dict[str, Any]]", yaml.safe_load((FOLDER / name).read_text()))
    return [
        Case(
            name=row["name"],
            tool=row["tool"],
            files=row.get("files", {}),
            call=row["call"],
            says=row.get("says", ""),
            failed=row.get("failed", False),
            becomes=row.get("becomes", {}),
        )
        for row in rows
    ]


def laid_out(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(errors="surrogateescape"))


def found(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode(errors="surrogateescape")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def writes_golden() -> bool:
    return os.environ.get("HOLDFAST_GOLDEN") == "write"


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block, where YAML can; the same text twice is written twice."""

    @override
    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: Any, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dumped(rows: object) -> str:
    return yaml.dump(rows, Dumper=_Dumper, sort_keys=False, width=100)
