"""Which lines of open files match: ripgrep where it is, else the standard library.

Both answer the same: the number of each matching line, where it begins, and where in it the first
match begins. Both take the patterns of `dialect`. The line's text is read
from the file afterwards, for both in the same way. ripgrep is given files that are already open,
by their descriptors, so it looks at nothing else; it is told to say no more than it must, because a
line may be as long as the file.
"""

import os
import re
import subprocess
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from holdfast_agent.files import dialect
from holdfast_agent.files.dialect import BadPattern

FILE_BYTES_MAX: Final = 64 << 20
BATCH_FILES_MAX: Final = 200
FAILED: Final = 2
"""How ripgrep ends if something went wrong."""
_ROW: Final = re.compile(rb"/proc/self/fd/(\d+)\0(\d+):(\d+):(\d+):")
_ERROR: Final = re.compile(r"^error: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hit:
    descriptor: int
    line: int
    offset: int
    """Of the line's first byte."""
    column: int = 0
    """Where the match begins: bytes from there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    pattern: str
    literal: bool
    ignore_case: bool
    limit: int
    """Per file."""


class Engine(Protocol):
    def hits(self, wanted: Wanted, files: Sequence[int]) -> Generator[Hit]:
        """In the order of the files, then of the lines. Raises `BadPattern`."""
        ...


class Ripgrep:
    def __init__(self, program: str) -> None:
        self._program = program

    def hits(self, wanted: Wanted, files: Sequence[int]) -> Generator[Hit]:
        if not wanted.literal:
            dialect.check(wanted.pattern)
        command = [
            self._program,
            *("--no-config", "--no-mmap", "--text", "--crlf", "--encoding=none", "--threads=1"),
            *("--no-heading", "--with-filename", "--null", "--line-number", "--column"),
            *("--byte-offset", "--no-messages", "--color=never", "--max-columns=1"),
            f"--max-count={wanted.limit}",
            *(["--fixed-strings"] if wanted.literal else []),
            *(["--ignore-case"] if wanted.ignore_case else []),
            *("--regexp", wanted.pattern, "--"),
            *(f"/proc/self/fd/{file}" for file in files),
        ]
        with subprocess.Popen(  # noqa: S603 - no shell; the pattern is an option's value
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(files),
            env={},
        ) as program:
            assert program.stdout is not None
            assert program.stderr is not None
            try:
                for row in program.stdout:
                    if found := _ROW.match(row):
                        descriptor, line, column, offset = found.groups()
                        yield Hit(int(descriptor), int(line), int(offset), int(column) - 1)
                said = program.stderr.read(2000).decode(errors="replace").strip()
                if program.wait() == FAILED and said:
                    raise _refusal(said)
            finally:
                program.kill()


def _refusal(said: str) -> BadPattern:
    if "multiline mode" in said:
        return BadPattern(dialect.LINE_BREAK)
    found = _ERROR.search(said)
    return dialect.wrong(found[1] if found else said.removeprefix("rg: ").strip())


class Standard:
    """Line by line with `re`. A pattern may take for ever: the caller has a deadline."""

    def hits(self, wanted: Wanted, files: Sequence[int]) -> Generator[Hit]:
        text = re.escape(wanted.pattern) if wanted.literal else dialect.python(wanted.pattern)
        try:
            pattern = re.compile(text, re.IGNORECASE if wanted.ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise dialect.wrong(str(error)) from error
        for file in files:
            yield from self._file(file, pattern, wanted.limit)

    def _file(self, file: int, pattern: re.Pattern[str], limit: int) -> Generator[Hit]:
        offset = found = 0
        with os.fdopen(os.dup(file), "rb") as lines:
            lines.seek(0)
            for number, line in enumerate(lines, start=1):
                text = line.removesuffix(b"\n").removesuffix(b"\r")
                said = text.decode(errors="surrogateescape")
                if found_at := pattern.search(said):
                    before = said[: found_at.start()].encode(errors="surrogateescape")
                    yield Hit(file, number, offset, len(before))
                    found += 1
                    if found == limit:
                        return
                offset += len(line)
