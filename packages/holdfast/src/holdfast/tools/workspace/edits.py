"""Change the files of the workspace: write and edit.

A write is *keyed* by what it writes: the next worker checks whether the file has this content, and
does not overwrite what another program may have written meanwhile. An edit is *once*: applied a
second time it may fit again, and do its work twice.
"""

from typing import Final, Literal

from pydantic import Field

from holdfast.adapters.workspaces.client import AgentRefused
from holdfast.ports.tools import Effect, Run, ToolOutput
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.texts import shown
from holdfast_agent.wire import Change, EditFiles, FaultCode, FileEdit, ReadFile, WriteFile

PATH: Final = "A path relative to the workspace's folder, such as `src/main.py`."
LINES_MAX: Final = 100_000
NOT_AS_WRITTEN: Final = (
    "Outcome unknown: the server restarted while this file was written, and it does not say now "
    "what was to be written. Read it before you write it again."
)


class Write(Arguments):
    path: str = Field(min_length=1, max_length=4096, description=PATH)
    text: str = Field(
        max_length=4 * 1024 * 1024, description="All of the file's text, 4 MiB at most."
    )
    how: Literal["any", "create", "replace"] = Field(
        default="any",
        description="`create`: only if there is no such file. `replace`: only if there is one.",
    )


async def _write(binding: Binding, run: Run, asked: Write) -> ToolOutput:
    if run.again:
        return await _written_before(binding, asked)
    return await _written(binding, WriteFile(path=asked.path, text=asked.text, how=asked.how))


async def _written(binding: Binding, wanted: WriteFile) -> ToolOutput:
    done = await binding.once(lambda agent: agent.write(wanted))
    verb = "created" if done.created else "replaced"
    return ToolOutput(f"{verb} {shown(done.path)}, {done.bytes_written} bytes\n{done.diff}".strip())


async def _written_before(binding: Binding, asked: Write) -> ToolOutput:
    """After a crash: the file itself tells whether it was written. Where there is none, writing it
    now loses no data."""
    try:
        wanted = ReadFile(path=asked.path, lines_max=LINES_MAX)
        found = await binding.use(lambda agent: agent.read(wanted))
    except AgentRefused as refused:
        if refused.code is not FaultCode.NOT_FOUND or asked.how == "replace":
            raise
        return await _written(binding, WriteFile(path=asked.path, text=asked.text, how="create"))
    size = len(asked.text.encode("utf-8", "surrogatepass"))
    if (found.text, found.bytes_total) == (asked.text, size):
        return ToolOutput(f"wrote {shown(found.path)}, {size} bytes")
    return ToolOutput(NOT_AS_WRITTEN, unknown=True)


class OneChange(Arguments):
    old: str = Field(
        min_length=1,
        description="The text to replace, as it stands in the file, with enough lines around it "
        "to be found in one place only.",
    )
    new: str = Field(description="What to put there instead. Empty: remove it.")
    every: bool = Field(default=False, description="True: replace it wherever it stands.")


class OneFile(Arguments):
    path: str = Field(min_length=1, max_length=4096, description=PATH)
    changes: tuple[OneChange, ...] = Field(
        min_length=1, max_length=1000, description="What to change in it, in this order."
    )


class Edit(Arguments):
    files: tuple[OneFile, ...] = Field(
        min_length=1, max_length=200, description="The files to change, each named once."
    )


async def _edit(binding: Binding, run: Run, asked: Edit) -> ToolOutput:  # noqa: ARG001
    wanted = EditFiles(
        files=tuple(
            FileEdit(
                path=each.path,
                changes=tuple(Change(old=c.old, new=c.new, every=c.every) for c in each.changes),
            )
            for each in asked.files
        )
    )
    done = await binding.once(lambda agent: agent.edit(wanted))
    told = [f"{shown(f.path)}: {_places(f.replaced)}\n{f.diff}" for f in done.files]
    return ToolOutput("\n".join(told).strip())


def _places(count: int) -> str:
    return "replaced in 1 place" if count == 1 else f"replaced in {count} places"


EDITS: Final = (
    offer(
        "write_file",
        """Write a whole file; missing folders are made. You get the difference to what was there.
        To change a part of a file, use edit_files.""",
        Write,
        _write,
        effect=Effect.KEYED,
    ),
    offer(
        "edit_files",
        """Replace text in one file or several. If one change does not fit, nothing is written and
        you are told which: read the file and try again. You get the differences. Files of 8 MiB at
        most; new ones are made with write_file.""",
        Edit,
        _edit,
        effect=Effect.ONCE,
    ),
)
