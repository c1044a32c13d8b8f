"""Look at the files of the workspace: read, list, find and search."""

from typing import Final, Literal

from pydantic import Field

from holdfast.ports.tools import Effect, Run, ToolOutput, looks
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.file_texts import (
    SKIPPED_FILES,
    SKIPPED_NAMES,
    FileText,
    counts_text,
    entries_text,
    image_value,
    lines_text,
    matches_text,
    paths_text,
)
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast_agent.wire import FindFiles, ListFiles, ReadFile, SearchFiles

DIRECTORY: Final = "Directory, relative to the workspace; default: the workspace."
OFFSET_MAX: Final = 1_000_000_000


def _output(text: FileText) -> ToolOutput:
    return ToolOutput(text.text, truncated=text.is_cut)


class Read(Arguments):
    path: str = Field(min_length=1, max_length=4096, description="File, relative to the workspace.")
    offset: int = Field(
        default=1,
        ge=-OFFSET_MAX,
        le=OFFSET_MAX,
        description="First line, default 1; negative counts from the end.",
    )
    limit: int = Field(default=2000, ge=1, le=100_000, description="Number of lines, default 2000.")


async def _read(binding: Binding, run: Run, asked: Read) -> ToolOutput:
    wanted = ReadFile(
        path=asked.path,
        first_line=asked.offset,
        lines_max=asked.limit,
        text_bytes_max=run.output_bytes_max,
        images=True,
    )
    found = await binding.use(lambda agent: agent.read(wanted))
    if found.image is not None:
        return ToolOutput(image_value(found, found.image))
    text = lines_text(found, lines_max=asked.limit, bytes_max=run.output_bytes_max)
    return ToolOutput(text.text, truncated=text.is_cut, summary_lines=1)


class List(Arguments):
    path: str = Field(default="", max_length=4096, description=DIRECTORY)
    depth: int = Field(default=1, ge=1, le=5, description="Levels, default 1, at most 5.")
    limit: int = Field(
        default=300, ge=1, le=5000, description="Number of entries, default 300, at most 5000."
    )


async def _list(binding: Binding, run: Run, asked: List) -> ToolOutput:
    wanted = ListFiles(path=asked.path, depth=asked.depth, limit=asked.limit)
    found = await binding.use(lambda agent: agent.list(wanted))
    return _output(entries_text(found, limit=asked.limit, bytes_max=run.output_bytes_max))


class Find(Arguments):
    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description="Glob such as `*.py` or `src/**/test_*.py`; without `/` it matches in every "
        "directory.",
    )
    path: str = Field(default="", max_length=4096, description=DIRECTORY)
    ignored: bool = Field(
        default=False, description="Also find hidden files and files named by .gitignore."
    )
    limit: int = Field(
        default=100, ge=1, le=5000, description="Number of files, default 100, at most 5000."
    )


async def _find(binding: Binding, run: Run, asked: Find) -> ToolOutput:
    wanted = FindFiles(
        pattern=asked.pattern, path=asked.path, ignored=asked.ignored, limit=asked.limit
    )
    found = await binding.use(lambda agent: agent.find(wanted))
    skipped = "" if asked.ignored else SKIPPED_NAMES
    return _output(paths_text(found, skipped, limit=asked.limit, bytes_max=run.output_bytes_max))


class Search(Arguments):
    pattern: str = Field(
        min_length=1,
        max_length=4000,
        description="Regular expression, or plain text if `literal` is true.",
    )
    path: str = Field(
        default="",
        max_length=4096,
        description="Directory or file, relative to the workspace; default: the workspace.",
    )
    glob: str = Field(
        default="", max_length=1000, description="Only these files, e.g. `*.{ts,tsx}`."
    )
    output: Literal["lines", "files"] = Field(
        default="lines",
        description="`lines` (default): matching lines. `files`: file names with counts.",
    )
    context: int = Field(
        default=0, ge=0, le=20, description="Lines around each match, default 0, at most 20."
    )
    ignore_case: bool = Field(default=False, description="Match upper and lower case alike.")
    literal: bool = Field(default=False, description="Pattern is plain text.")
    ignored: bool = Field(default=False, description="Also search files named by .gitignore.")
    limit: int = Field(
        default=100,
        ge=1,
        le=2000,
        description="Number of matches (of files with `files`), default 100, at most 2000.",
    )


async def _search(binding: Binding, run: Run, asked: Search) -> ToolOutput:
    wanted = SearchFiles(
        pattern=asked.pattern,
        path=asked.path,
        glob=asked.glob or None,
        output=asked.output,
        literal=asked.literal,
        ignore_case=asked.ignore_case,
        ignored=asked.ignored,
        context=asked.context,
        limit=asked.limit,
        text_bytes_max=run.output_bytes_max,
    )
    found = await binding.use(lambda agent: agent.search(wanted))
    to_text = counts_text if asked.output == "files" else matches_text
    skipped = "" if asked.ignored else SKIPPED_FILES
    return _output(to_text(found, skipped, limit=asked.limit, bytes_max=run.output_bytes_max))


FILES: Final = (
    offer(
        "read_file",
        """Read a file. Text comes with line numbers (`42`, a tab, the text); the numbers and
        the tab are not part of the file. Returns up to 2,000 lines or the size limit, always whole
        lines, and the offset to continue with. Images (png, jpeg, gif, webp) are shown as images.
        Read several files by several calls in one reply.""",
        Read,
        _read,
        effect=Effect.REPEATABLE,
        reads_only=True,
        in_plan_mode=looks,
    ),
    offer(
        "list_files",
        """List a directory: directories end in `/`, files have a size. Below the first level,
        ignored and very large directories are shown as one line with their number of entries. To
        locate something use find_files or search_files.""",
        List,
        _list,
        effect=Effect.REPEATABLE,
        reads_only=True,
        in_plan_mode=looks,
    ),
    offer(
        "find_files",
        """Find files by name, newest first. Files ignored by .gitignore are skipped unless
        `ignored` is true. Hidden files are skipped unless the pattern or the path names one, as in
        `.github/**`.""",
        Find,
        _find,
        effect=Effect.REPEATABLE,
        reads_only=True,
        in_plan_mode=looks,
    ),
    offer(
        "search_files",
        """Search file contents with a regular expression (ripgrep syntax: no look-around, no
        backreferences; one line at a time). Skips binary files, .git and what .gitignore names.
        Returns `path:line: text`; of a long line, the part around the match.""",
        Search,
        _search,
        effect=Effect.REPEATABLE,
        reads_only=True,
        in_plan_mode=looks,
    ),
)
