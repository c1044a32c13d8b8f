"""Look at the files of the workspace: read, list, find and search."""

from typing import Final

from pydantic import Field

from holdfast.ports.tools import Effect, Run, ToolOutput
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.texts import entries, lines_of, matches, paths
from holdfast_agent.wire import FindFiles, ListFiles, ReadFile, SearchFiles

PATH: Final = "A path relative to the workspace's folder, such as `src/main.py`."
FOLDER: Final = "The folder to look in, relative to the workspace's. Empty: the workspace."
HIDDEN: Final = "True: also names that begin with a dot."


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
