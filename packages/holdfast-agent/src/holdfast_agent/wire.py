"""What the server and a workspace agent say to each other: JSON over HTTP, version 1.

The agent outlives the servers that ask it, so the caller names each process that it starts: a
process has the *key* of the tool call that asked for it, and the same key is the same process for
ever.

    GET    /v1/about                                        → About
    PUT    /v1/chats/{chat}/processes/{key}      Start      → Process
    GET    /v1/chats/{chat}/processes                       → Processes
    GET    /v1/chats/{chat}/processes/{key}?after&wait_s&until  → Look
    POST   /v1/chats/{chat}/processes/{key}/input   Input   → Process
    POST   /v1/chats/{chat}/processes/{key}/signal  Signal  → Process
    DELETE /v1/chats/{chat}/processes/{key}                 → Process
    DELETE /v1/chats/{chat}/processes                       → Processes
    POST   /v1/files/{read, write, edit, list, find, search}
    GET    /v1/guidance                                     → Guidance
    GET    /v1/skills/{name}                                → SkillText

`{key}` may also be the short `id` that the agent gave. A chat never finds another chat's processes:
they answer exactly like unknown ones. Whatever is refused is answered with a `Fault`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Key = Annotated[str, Field(min_length=1, max_length=200)]
Path = Annotated[str, Field(max_length=4096)]
"""Relative to the workspace's folder; `""` and `"."` are the folder itself. An absolute path that
begins with that folder is taken as the rest of it. A name with unprintable characters is told in
double quotes, with escapes, and may be said so."""


Links = Literal["followed", "refused"]
"""Whether a path may go through links. An agent of an older version follows those of folders."""


class Said(BaseModel):
    """Frozen, and deaf to fields that a newer side may add."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FaultCode(StrEnum):
    """What a program may branch on; each has one HTTP status, the same always."""

    BAD_REQUEST = "bad_request"  # 400
    UNAUTHORIZED = "unauthorized"  # 401
    NO_SHELL = "no_shell"  # 403: the sandbox leaks, or there is none; nothing is run
    OUTSIDE = "outside"  # 403: a path leads out of the workspace
    NOT_FOUND = "not_found"  # 404: a file, or a process of this chat
    KEY_TAKEN = "key_taken"  # 409: the same key with another command
    STOPPED = "stopped"  # 409: this key was stopped before it was started; it never will be
    CONFLICT = "conflict"  # 409: an edit does not fit the file; nothing was written
    NOT_RUNNING = "not_running"  # 409: input or a signal for a process that has ended
    TOO_LARGE = "too_large"  # 413
    TOO_MANY = "too_many"  # 429: processes of the workspace
    FAILED = "failed"  # 500: ours, or the operating system's; the message says what


class Fault(Said):
    code: FaultCode
    message: str
    """For the model and for people: what went wrong and, where there is one, what to do next."""


# Processes


class Start(Said):
    command: str = Field(min_length=1, max_length=256 * 1024)
    """For the shell that `About` names, inside the sandbox."""
    cwd: Path = ""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Beside what the agent sets itself (pagers, editors and colours are switched off)."""
    input: Literal["none", "open"] = "none"
    """`open`: the process waits for what `Input` brings."""
    background: bool = False
    """No caller waits for it; stored only to be returned again."""


class State(StrEnum):
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """Started by an agent that is gone: its outcome is unknown."""
    STOPPED = "stopped"
    """Stopped before it was started."""


class Process(Said):
    key: Key
    id: str
    """Short, unique within its chat: `p1`, `p2` …"""
    command: str
    cwd: Path
    background: bool
    state: State
    exit_code: int | None = None
    """When ended by itself."""
    signal: str | None = None
    """When ended by a signal: its name."""
    reason: str | None = None
    """Anything else there is to know: out of memory, too many processes."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    bytes_written: int = 0
    """Output so far, kept or not."""
    output_path: Path | None = None
    """The file of the workspace with its output, once that is long."""
    output_bytes: int = 0
    """Of the output, from its first byte on, in that file."""


class Processes(Said):
    processes: tuple[Process, ...]
    """Oldest first."""


class Output(Said):
    """Standard output and error, as one, from byte `begin` up to byte `end`.

    The agent keeps the first 16 KiB and the last 16 KiB. What lies between and was not fetched in
    time is gone: `missed` bytes before `begin`, counted from where was asked. No rune is cut: the
    bytes of one that is not whole yet wait for the rest, unless the process has ended.
    """

    begin: int
    end: int
    missed: int = 0
    text: str = ""


class Look(Said):
    """A process, and its output after a cursor: `?after=N`, a byte offset, 0 at first.

    `after=-1`: all that is kept, `head` and `output` around what was dropped.
    `wait_s`: answered at the latest then; sooner when `until` is met: `exit` (it has ended) or
    `output` (there is some after the cursor, or it has ended).
    """

    process: Process
    output: Output
    head: Output | None = None


class Input(Said):
    text: str = ""
    close: bool = False
    """Nothing will follow."""


class Signal(Said):
    name: Literal["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT"]
    """Sent to every process of the tree."""


# `DELETE` kills the whole tree and answers when none of it is alive. A key that was never started
# is remembered as stopped, so that a server that was frozen cannot start it later.


# Files


class ReadFile(Said):
    path: Path
    first_line: int = Field(default=1, ge=-(2**53), le=2**53)
    """Negative: counted from the end, -1 is the last line. 0 is 1."""
    lines_max: int = Field(default=2000, ge=1, le=100_000)
    text_bytes_max: int = Field(default=1 << 20, ge=1, le=1 << 20)
    """Of the text; the first line is sent even if it is longer."""
    images: bool = False
    """An image is sent as such; otherwise it is refused like any other binary file."""
    links: Links = "followed"


class Image(Said):
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    base64: str


class Lines(Said):
    path: Path
    text: str
    """With the file's own line endings; cut lines are marked."""
    first_line: int
    last_line: int
    lines_total: int
    bytes_total: int
    more: bool
    """Lines follow."""
    counted: bool = True
    """False: the file is so large that `lines_total` is only how far was counted."""
    image: Image | None = None
    """Then there is no text."""


class WriteFile(Said):
    path: Path
    text: str
    how: Literal["create", "replace", "any"] = "any"
    """`create` refuses a file that is there, `replace` one that is not."""
    links: Links = "followed"


class Written(Said):
    path: Path
    bytes_written: int
    lines: int = 0
    created: bool
    diff: str = ""


class Change(Said):
    """Text to replace. In an edit `old` must be in the file exactly once, or `every` is set.

    In a patch (`whole_lines`) the lines are looked for below the `anchors`, which follow one
    another, else behind the change before; empty `old`: `new` is put below the anchor, or at the
    end.
    `at_end`: the lines are the last of the file.
    """

    old: str
    new: str
    every: bool = False
    whole_lines: bool = False
    anchors: tuple[str, ...] = Field(default=(), max_length=20)
    at_end: bool = False


class FileEdit(Said):
    """`edit`: `changes` in this order, and then the file is moved if `move_to` is set. `add`: a new
    file with `text`. `delete`: the file is removed."""

    path: Path
    how: Literal["edit", "add", "delete"] = "edit"
    changes: tuple[Change, ...] = Field(default=(), max_length=1000)
    text: str = ""
    move_to: Path | None = None


class EditFiles(Said):
    """All of it happens, or none. `noun`: what an error calls one change."""

    files: tuple[FileEdit, ...] = Field(min_length=1, max_length=200)
    noun: Literal["edit", "hunk"] = "edit"
    links: Links = "followed"


class Edited(Said):
    files: tuple["EditedFile", ...]


class EditedFile(Said):
    """`lines`: where in the new text each replacement begins. `repairs`: for each change that did
    not fit exactly, its number and in what it differed."""

    path: Path
    replaced: int
    diff: str
    lines: tuple[int, ...] = ()
    repairs: tuple[tuple[int, tuple[str, ...]], ...] = ()
    how: Literal["edit", "add", "delete"] = "edit"
    moved_to: Path | None = None
    lines_total: int = 0
    bytes_total: int = 0


class ListFiles(Said):
    path: Path = ""
    depth: int = Field(default=1, ge=1, le=20)
    limit: int = Field(default=1000, ge=1, le=20_000)


class Entry(Said):
    path: Path
    kind: Literal["file", "folder", "link", "other"]
    bytes: int | None = None
    entries: int | None = None
    """Of a folder that was not listed because it is ignored or very large: how many it has."""
    ignored: bool = False


class Listed(Said):
    entries: tuple[Entry, ...]
    more: bool = False
    note: str = ""
    """What was left out and why: sentences, or nothing."""


class FindFiles(Said):
    pattern: str = Field(min_length=1, max_length=1000)
    """A glob: `**/*.py`. Without a slash it is looked for at any depth. Names that begin with a dot
    are found if the pattern or the path has such a name."""
    path: Path = ""
    ignored: bool = False
    """Also what `.gitignore` files name."""
    limit: int = Field(default=500, ge=1, le=20_000)


class Found(Said):
    paths: tuple[Path, ...]
    """Newest first."""
    more: bool = False
    note: str = ""
    """What was left out and why: sentences, or nothing."""


class SearchFiles(Said):
    """Looks into everything but `.git`, unless the path or the glob names that."""

    pattern: str = Field(min_length=1, max_length=4000)
    path: Path = ""
    glob: str | None = Field(default=None, max_length=1000)
    output: Literal["lines", "files"] = "lines"
    literal: bool = False
    ignore_case: bool = False
    ignored: bool = False
    """Also what `.gitignore` files name."""
    context: int = Field(default=0, ge=0, le=20)
    """Lines around a match."""
    limit: int = Field(default=200, ge=1, le=5000)
    """Matches; files if the output is `files`."""
    text_bytes_max: int = Field(default=1 << 20, ge=1, le=1 << 20)
    """Of all lines that are sent; the first match is sent even if it has more."""


class Match(Said):
    path: Path
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class FileCount(Said):
    path: Path
    count: int
    """Matching lines."""
    more: bool = False
    """The file has more: it was not counted to its end."""


class Matches(Said):
    matches: tuple[Match, ...] = ()
    files: tuple[FileCount, ...] = ()
    """If the output is `files`."""
    more: bool = False
    note: str = ""
    """What was left out and why: sentences, or nothing."""


# What the workspace says about itself


class Instruction(Said):
    path: Path
    text: str
    """Bounded; a cut is marked."""
    bytes: int = 0
    """Of the whole file."""


class NestedFile(Said):
    """An instruction file for a part of a project: it is read when there is work in that part."""

    path: Path
    bytes: int


class SkillInfo(Said):
    name: str
    description: str
    path: Path


class Guidance(Said):
    instructions: tuple[Instruction, ...] = ()
    nested: tuple[NestedFile, ...] = ()
    skills: tuple[SkillInfo, ...] = ()
    skills_left_out: int = 0
    branch: str | None = None
    """Checked out in the workspace's folder; empty: a repository whose branch is not known; None:
    no repository."""


class SkillText(Said):
    name: str
    path: Path
    folder: Path = ""
    text: str
    files: tuple[Path, ...] = ()
    """What lies beside it."""


# The agent itself


class SandboxReport(Said):
    mode: Literal["bubblewrap", "external"]
    works: bool
    """Only then is anything run."""
    attacks: int = 0
    escapes: tuple[str, ...] = ()
    """What got out, and how to mend it: a sentence each."""
    warnings: tuple[str, ...] = ()


class Surroundings(Said):
    """What commands find around them. The defaults are those of an agent that reports nothing."""

    os: str = ""
    arch: str = ""
    commands: tuple[str, ...] = ()
    """Well-known programs that are on the PATH."""
    network: Literal["unknown", "hosts", "none"] = "unknown"
    """`unknown`: the agent does not restrict it."""
    hosts: tuple[str, ...] = ()


class About(Said):
    version: str
    wire: int = 1
    boot_id: str
    """New with every start of the agent."""
    journal_id: str = ""
    """New with every empty journal: an agent with another one knows nothing of earlier keys."""
    root: str
    """The workspace's folder, as processes see it."""
    sandbox: SandboxReport
    surroundings: Surroundings = Surroundings()
    shell: str = "sh"
    """The program that runs commands: `bash` if the workspace has it, else `sh`."""
    tmp: Literal["workspace", "machine"] = "machine"
    """Whose `/tmp` and home directory commands have. `workspace`: its own, empty when its agent
    starts, kept while it runs, removed when it stops. `machine`: those of the container or machine
    that is the sandbox, which last as long as it does."""
