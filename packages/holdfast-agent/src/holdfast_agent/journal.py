"""What the agent must not forget: which keys there were, whatever became of them.

One JSON object per line, appended; the last line of a key counts. What is *written* is on the disk
before anything is started, so that a key is never started twice, however often the agent dies. What
is *noted* (how it ended) may be lost with the machine: then the outcome is reported as unknown.
"""

import asyncio
import errno
import logging
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from holdfast_agent.faults import Refused
from holdfast_agent.wire import FaultCode, Process, Said, State

KEPT_MAX: Final = 10_000
"""Keys; the oldest that do not run are forgotten first."""
COMMAND_KEPT_MAX: Final = 400
"""Characters of a command that are remembered when it is over."""
_LOG: Final = logging.getLogger(__name__)

Name: TypeAlias = tuple[str, str]
"""Chat and key."""


class Remembered(Said):
    chat: str
    digest: str
    """Of what was asked, to tell the same from something else; empty if it was only stopped."""
    process: Process

    @property
    def name(self) -> Name:
        return self.chat, self.process.key


class Journal:
    """Made by `open_journal`."""

    def __init__(self, path: Path, fd: int, lines: dict[Name, Remembered], size: int) -> None:
        self._path = path
        self._fd = fd
        self._known = lines
        self._size = size
        self._lines_written = len(lines)
        self._broken = False
        self._syncing = 0

    def close(self) -> None:
        os.close(self._fd)

    async def write(self, remembered: Remembered) -> None:
        """On the disk when this returns. Raises `Refused` if it cannot be: then nothing may be
        started under this key."""
        self.note(remembered)
        self._syncing += 1
        try:
            await asyncio.to_thread(os.fdatasync, self._fd)
        except OSError as error:
            # After a failed sync the kernel may call pages clean that never reached the disk: what
            # the next one says proves nothing. Only a new agent reads what is really there.
            self._broken = True
            raise _not_remembered(error) from error
        finally:
            self._syncing -= 1

    def note(self, remembered: Remembered) -> None:
        if self._broken:
            raise _not_remembered(OSError("an earlier write failed; restart the agent"))
        try:
            self._append(_line(remembered))
        except OSError as error:
            raise _not_remembered(error) from error
        self._known.pop(remembered.name, None)
        self._known[remembered.name] = remembered
        # Not while another thread syncs the file that would be closed.
        if self._lines_written > 4 * KEPT_MAX and not self._syncing:
            self._rewrite()

    def _append(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
        except OSError:
            written = -1
        if written != len(line):
            # Half a line would swallow the next one.
            os.ftruncate(self._fd, self._size)
            raise OSError(errno.ENOSPC, "no space left, or the disk failed")
        self._size += len(line)
        self._lines_written += 1

    def _rewrite(self) -> None:
        self._known = forgetting(self._known.values())
        fd, size = _replace(self._path, self._known.values())
        os.close(self._fd)
        self._fd, self._size, self._lines_written = fd, size, len(self._known)


def open_journal(path: Path) -> tuple[Journal, list[Remembered]]:
    """The journal, and what stands in it: oldest first, nothing of it running any more."""
    known = forgetting(_lost_if_running(each) for each in _read(path))
    fd, size = _replace(path, known.values())
    return Journal(path, fd, known, size), list(known.values())


def open_journal_id(path: Path) -> str:
    """The name of the journal at `path`: made with it, kept as long as it is there.

    Ask before `open_journal`, which makes one that is missing."""
    named = path.with_suffix(".id")
    try:
        if path.exists():
            return named.read_text(encoding="ascii")
    except FileNotFoundError:
        pass  # a journal of an older version: it has a name from now on
    name = secrets.token_hex(16)
    named.write_text(name, encoding="ascii")
    _sync(named)
    return name


def forgetting(all_of: Iterable[Remembered], kept_max: int = KEPT_MAX) -> dict[Name, Remembered]:
    """The last word on each key; of too many, the oldest that do not run are left out."""
    known: dict[Name, Remembered] = {}
    for each in all_of:
        known.pop(each.name, None)
        known[each.name] = each
    surplus = len(known) - kept_max
    over = [name for name, each in known.items() if each.process.state is not State.RUNNING]
    for name in over[: max(surplus, 0)]:
        del known[name]
    return known


def _read(path: Path) -> Iterator[Remembered]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    *lines, torn = content.split(b"\n")
    # The agent died while it wrote its last line: before the sync, hence before the start.
    if torn:
        _LOG.warning(
            "agent: the last line of the journal is incomplete; no command was started for it"
        )
    for number, line in enumerate(lines, start=1):
        try:
            yield Remembered.model_validate_json(line)
        except ValidationError:
            _LOG.warning("agent: line %d of the journal cannot be read", number)


def _lost_if_running(remembered: Remembered) -> Remembered:
    if remembered.process.state is not State.RUNNING:
        return remembered
    lost = remembered.process.model_copy(update={"state": State.LOST, "reason": LOST_REASON})
    return remembered.model_copy(update={"process": lost})


LOST_REASON: Final = (
    "The workspace agent was restarted while this ran. It runs no more; how far it came is unknown."
)


def _replace(path: Path, known: Iterable[Remembered]) -> tuple[int, int]:
    """A new file in place of the old one, whole or not at all."""
    beside = path.with_suffix(".new")
    content = b"".join(map(_line, known))
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.fsync(fd)
    beside.replace(path)
    _sync(path.parent)
    return fd, len(content)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _line(remembered: Remembered) -> bytes:
    process = remembered.process
    short = process.model_copy(update={"command": process.command[:COMMAND_KEPT_MAX]})
    return remembered.model_copy(update={"process": short}).model_dump_json().encode() + b"\n"


def _not_remembered(error: OSError) -> Refused:
    why = error.strerror or str(error)
    return Refused(
        FaultCode.FAILED,
        f"The workspace agent cannot write its journal ({why}), so nothing is started. "
        "Make room on its disk, then try again.",
    )
