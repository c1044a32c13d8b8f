"""Files of the workspace.

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
from holdfast.tools.workspace.texts import entries, lines_of, matches, paths, shown
from holdfast_agent.wire import (
    Change,
    EditFiles,
    FaultCode,
    FileEdit,
    FindFiles,
    ListFiles,
    ReadFile,
    SearchFiles,
    WriteFile,
)

PATH: Final = "A path relative to the workspace's folder, such as `src/main.py`."
FOLDER: Final = "The folder to look in, relative to the workspace's. Empty: the workspace."
HIDDEN: Final = "True: also names that begin with a dot."
LINES_MAX: Final = 100_000
NOT_AS_WRITTEN: Final = (
    "Outcome unknown: the server restarted while this file was written, and it does not say now "
    "what was to be written. Read it before you write it again."
)


class Read(Arguments):
    path: str = Field(min_length=1, max_length=4096, description=PATH)
    first_line: int = Field(default=1, ge=1, description="The line to begin with; the first is 1.")
    lines_max: int = Field(
        default=2000, ge=1, le=10_000, description="How many lines to read, 10,000 at most."
    )


async def _read(binding: Binding, run: Run, asked: Read) -> ToolOutput:  # noqa: ARG001
    wanted = ReadFile(path=asked.path, first_line=asked.first_line, lines_max=asked.lines_max)
    found = await binding.use(lambda agent: agent.read(wanted))
    return ToolOutput(lines_of(found), truncated=found.more, summary_lines=1)


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


class List(Arguments):
    path: str = Field(default="", max_length=4096, description=FOLDER)
    depth: int = Field(
        default=1,
        ge=1,
        le=20,
        description="How deep to go: 1 is the folder, 2 also what its folders have.",
    )
    hidden: bool = Field(default=False, description=HIDDEN)
    limit: int = Field(default=500, ge=1, le=5000, description="How many to list, 5,000 at most.")


async def _list(binding: Binding, run: Run, asked: List) -> ToolOutput:  # noqa: ARG001
    wanted = ListFiles(path=asked.path, depth=asked.depth, hidden=asked.hidden, limit=asked.limit)
    found = await binding.use(lambda agent: agent.list(wanted))
    return ToolOutput(entries(found.entries, more=found.more), truncated=found.more)


class Find(Arguments):
    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description="A glob such as `*.py` or `src/**/test_*.py`. Without a slash it fits names in "
        "every folder.",
    )
    path: str = Field(default="", max_length=4096, description=FOLDER)
    hidden: bool = Field(default=False, description=HIDDEN)
    limit: int = Field(default=200, ge=1, le=5000, description="How many to find, 5,000 at most.")


async def _find(binding: Binding, run: Run, asked: Find) -> ToolOutput:  # noqa: ARG001
    wanted = FindFiles(
        pattern=asked.pattern, path=asked.path, hidden=asked.hidden, limit=asked.limit
    )
    found = await binding.use(lambda agent: agent.find(wanted))
    return ToolOutput(paths(found.paths, more=found.more), truncated=found.more)


class Search(Arguments):
    pattern: str = Field(
        min_length=1,
        max_length=4000,
        description="A regular expression, looked for line by line; plain text if literal is true.",
    )
    path: str = Field(
        default="",
        max_length=4096,
        description="The folder or file to search, relative to the workspace's folder. "
        "Empty: all of it.",
    )
    glob: str = Field(
        default="",
        max_length=1000,
        description="Only files whose name fits this glob, such as `*.py`. Empty: all.",
    )
    literal: bool = Field(
        default=False, description="True: the pattern is plain text, no regular expression."
    )
    ignore_case: bool = Field(default=False, description="True: `a` also finds `A`.")
    hidden: bool = Field(default=False, description=HIDDEN)
    context: int = Field(
        default=0, ge=0, le=20, description="How many lines to show before and after each match."
    )
    limit: int = Field(
        default=100, ge=1, le=2000, description="How many matches to show, 2,000 at most."
    )


async def _search(binding: Binding, run: Run, asked: Search) -> ToolOutput:  # noqa: ARG001
    wanted = SearchFiles(
        pattern=asked.pattern,
        path=asked.path,
        glob=asked.glob or None,
        literal=asked.literal,
        ignore_case=asked.ignore_case,
        hidden=asked.hidden,
        context=asked.context,
        limit=asked.limit,
    )
    found = await binding.use(lambda agent: agent.search(wanted))
    return ToolOutput(matches(found.matches, more=found.more), truncated=found.more)


FILES: Final = (
    offer(
        "read_file",
        """Read a text file, or some of its lines; 1 MiB at most. You get the text as it is, without
        line numbers, and, if there is more, the line to go on with.""",
        Read,
        _read,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
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
    offer(
        "list_files",
        """What lies in a folder: folders end in a slash, files come with their size. To look for
        something, use find_files or search_files.""",
        List,
        _list,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
    offer(
        "find_files",
        """Find files by their names. What .gitignore names is left out: list_files shows that,
        too.""",
        Find,
        _find,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
    offer(
        "search_files",
        """Find lines in files by what they say: `path:line: text` for each. Left out are binary
        files, those of more than 64 MiB, and what .gitignore names.""",
        Search,
        _search,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
)
