"""Change the files of the workspace: write, edit and patch.

A write is *keyed* by what it writes: the next worker checks whether the file has this content, and
does not overwrite what another program may have written meanwhile. An edit is *once*: applied a
second time it may fit again, and do its work twice.
"""

from collections.abc import Mapping
from typing import Final, Literal, cast

from pydantic import Field

from holdfast.adapters.workspaces.client import AgentRefused
from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.ports.tools import Effect, FreeForm, Run, ToolOutput
from holdfast.tools.workspace import patches
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.changes import edited, size_of, with_diff
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.plans import patches_plan, writes_plan
from holdfast.tools.workspace.texts import shown
from holdfast_agent.wire import (
    Change,
    EditFiles,
    FaultCode,
    FileEdit,
    Links,
    ReadFile,
    WriteFile,
    Written,
)

PATH: Final = "File, relative to the workspace."
LINES_MAX: Final = 100_000
NOT_AS_WRITTEN: Final = (
    "Outcome unknown: the server restarted while this file was written, and its content is not "
    "what this call was to write. Read it before you write it again."
)
ONE_FILE: Final = "Not run. edit_file changes one file. Make one call per file, in one reply:"


class Write(Arguments):
    path: str = Field(min_length=1, max_length=4096, description=PATH)
    content: str = Field(max_length=4 * 1024 * 1024, description="The complete text of the file.")
    mode: Literal["any", "create", "replace"] = Field(
        default="any",
        description="`any` (default), `create` (fail if it exists), `replace` (fail if it does "
        "not).",
    )


async def _write(binding: Binding, run: Run, asked: Write) -> ToolOutput:
    if run.again:
        return await _written_before(binding, run, asked)
    wanted = WriteFile(path=asked.path, text=asked.content, how=asked.mode, links=_links(run))
    return await _written(binding, wanted)


def _links(run: Run) -> Links:
    """In plan mode the plan is one file, and a link would make it another one."""
    return "refused" if run.chat.plan_mode else "followed"


async def _written(binding: Binding, wanted: WriteFile) -> ToolOutput:
    done = await binding.once(lambda agent: agent.write(wanted))
    if done.created:
        return ToolOutput(_head("Created", done), diff=done.diff)
    return with_diff([_head("Replaced", done)], done.diff)


def _head(verb: str, done: Written) -> str:
    return f"{verb} {shown(done.path)} ({size_of(done.lines, done.bytes_written)})."


async def _written_before(binding: Binding, run: Run, asked: Write) -> ToolOutput:
    """After a crash: the file itself tells whether it was written. Where there is none, writing it
    now loses no data."""
    try:
        wanted = ReadFile(path=asked.path, lines_max=LINES_MAX, links=_links(run))
        found = await binding.use(lambda agent: agent.read(wanted))
    except AgentRefused as refused:
        if refused.code is not FaultCode.NOT_FOUND or asked.mode == "replace":
            raise
        missing = WriteFile(path=asked.path, text=asked.content, how="create", links=_links(run))
        return await _written(binding, missing)
    size = len(asked.content.encode("utf-8", "surrogatepass"))
    if (found.text, found.bytes_total) == (asked.content, size):
        return ToolOutput(f"Wrote {shown(found.path)} ({size_of(found.lines_total, size)}).")
    return ToolOutput(NOT_AS_WRITTEN, unknown=True)


class OneEdit(Arguments):
    old_string: str = Field(min_length=1, description="Text to replace, exactly as in the file.")
    new_string: str = Field(description="Replacement; empty deletes.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


class Edit(Arguments):
    path: str = Field(min_length=1, max_length=4096, description=PATH)
    edits: tuple[OneEdit, ...] = Field(
        min_length=1, max_length=1000, description="Replacements, applied in this order."
    )


async def _edit(binding: Binding, run: Run, asked: Edit) -> ToolOutput:
    changes = tuple(
        Change(old=e.old_string, new=e.new_string, every=e.replace_all) for e in asked.edits
    )
    wanted = EditFiles(files=(FileEdit(path=asked.path, changes=changes),), links=_links(run))
    done = await binding.once(lambda agent: agent.edit(wanted))
    return edited(done)


class Patch(Arguments):
    patch: str = Field(
        min_length=1,
        max_length=4 * 1024 * 1024,
        description="The whole patch, from `*** Begin Patch` to `*** End Patch`.",
    )


async def _patch(binding: Binding, run: Run, asked: Patch) -> ToolOutput:
    try:
        files = patches.parse(asked.patch)
    except patches.BadPatch as bad:
        return ToolOutput(f"Not run. {bad}", failed=True)
    wanted = EditFiles(files=files, noun="hunk", links=_links(run))
    done = await binding.once(lambda agent: agent.edit(wanted))
    return edited(done, "Hunk")


def _several_files(given: JsonObject) -> str | None:
    """`files` with more than one file: the form of the tool `edit_files`."""
    files = given.get("files")
    if not isinstance(files, list):
        return None
    named = [cast("JsonObject", f).get("path") for f in files if _is(f)]
    calls = [
        f'edit_file({{"path": "{path}", "edits": [{{"old_string": "...", "new_string": "..."}}]}})'
        for path in named[:3]
    ]
    return f"{ONE_FILE} {' and '.join(calls)}" + (" and so on." if len(named) > 3 else ".")


def _is(value: JsonValue) -> bool:
    return isinstance(value, Mapping)


EDITS: Final = (
    offer(
        "write_file",
        """Create a file or replace its whole content; missing directories are created. For a change
        in an existing file edit it instead.""",
        Write,
        _write,
        effect=Effect.KEYED,
        in_plan_mode=writes_plan,
    ),
    offer(
        "edit_file",
        """Replace text in an existing file. Give old_string exactly as in the file, without line
        numbers, with enough surrounding lines to occur only once. All edits of a call are applied
        in order or none is; on failure you get the nearest lines of the file. Differences in
        indentation and line endings are tolerated and kept as in the file. For a new file or a
        complete rewrite use write_file.""",
        Edit,
        _edit,
        effect=Effect.ONCE,
        misuse=_several_files,
        edits_as="replace",
        in_plan_mode=writes_plan,
    ),
    offer(
        "apply_patch",
        """Add, update, move or delete files with a patch between `*** Begin Patch` and `*** End
        Patch`. Sections: `*** Add File: PATH`, each line with + in front; `*** Delete File: PATH`;
        `*** Update File: PATH`, if wanted `*** Move to: PATH`, then hunks: `@@ LINE` (a line above
        the change that tells where it is; may be left out), then lines with a space (stays), -
        (goes) or + (comes) in front. Give about 3 lines that stay around each change. Paths are
        relative to the workspace. All of it is applied or none; on failure you get the nearest
        lines of the file.""",
        Patch,
        _patch,
        effect=Effect.ONCE,
        edits_as="patch",
        in_plan_mode=patches_plan,
        normalise=patches.normalised_patch,
        free_form=FreeForm(patches.ARGUMENT, patches.GRAMMAR),
        judged_as=patches.judged_as,
    ),
)
