"""Ask the process that finds and searches, and do not wait for it longer than is sensible."""

import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from holdfast_agent.faults import Refused
from holdfast_agent.files import look
from holdfast_agent.files.beneath import INSIDE, Beneath, Place, opened
from holdfast_agent.files.dialect import LINE_BREAK
from holdfast_agent.files.look import Query
from holdfast_agent.files.nearest import nearest_named
from holdfast_agent.files.refusals import refused_for
from holdfast_agent.sandbox.person import Person, ourselves, ourselves_again
from holdfast_agent.wire import (
    FaultCode,
    FileCount,
    FindFiles,
    Found,
    Match,
    Matches,
    SearchFiles,
)

ANSWER_BYTES_MAX: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Looker:
    """`ripgrep`: where it is, if it is to be used."""

    beneath: Beneath
    ripgrep: str | None
    seconds: float = 20.0
    person: Person = field(default_factory=ourselves)

    @classmethod
    def here(cls, beneath: Beneath, person: Person) -> "Looker":
        return cls(beneath, shutil.which("rg"), person=person)

    def find(self, asked: FindFiles) -> Found:
        place = self.beneath.place(asked.path)
        with self._start(place) as (root, start, one_file):
            if one_file:
                message = f"`{place.shown}` is a file. Give the directory in which to find."
                raise Refused(FaultCode.BAD_REQUEST, message)
            query = Query(
                kind="find",
                pattern=asked.pattern,
                root=root,
                start=start,
                top=place.path,
                ignored=asked.ignored,
                limit=asked.limit,
                walk_s=self.seconds * 0.75,
            )
            answer = self._ask(query)
        found = tuple(row["path"] for row in answer.rows)
        return Found(paths=found, more=answer.more, note=answer.note)

    def search(self, asked: SearchFiles) -> Matches:
        if "\n" in asked.pattern:
            raise Refused(FaultCode.BAD_REQUEST, LINE_BREAK)
        place = self.beneath.place(asked.path)
        with self._start(place) as (root, start, one_file):
            query = Query(
                kind="count" if asked.output == "files" else "search",
                pattern=asked.pattern,
                root=root,
                start=start,
                top=place.path,
                one_file=one_file,
                glob=asked.glob,
                literal=asked.literal,
                ignore_case=asked.ignore_case,
                ignored=asked.ignored,
                context=asked.context,
                limit=asked.limit,
                bytes_max=asked.text_bytes_max,
                ripgrep=self.ripgrep,
            )
            answer = self._ask(query)
        if query.kind == "count":
            counts = tuple(FileCount.model_validate(row) for row in answer.rows)
            return Matches(files=counts, more=answer.more, note=answer.note)
        matches = tuple(Match.model_validate(row) for row in answer.rows)
        return Matches(matches=matches, more=answer.more, note=answer.note)

    @contextmanager
    def _start(self, place: Place) -> Generator[tuple[int, int, bool]]:
        """The root's descriptor, that of where to look, and whether it is a file."""
        with nearest_named(self.beneath, place), self.beneath.root() as root:
            with refused_for(place.shown):
                spot = opened(root, place.encoded, os.O_PATH, INSIDE)
            is_folder = stat.S_ISDIR(os.fstat(spot).st_mode)
            os.close(spot)
            if is_folder:
                with self.beneath.folder(place) as folder:
                    yield root, folder, False
            else:
                with self.beneath.file(place) as file:
                    yield root, file.descriptor, True

    def _child(self, query: Query) -> subprocess.Popen[bytes]:
        # -I and the folder: a module that lies in the workspace must never be imported.
        argv = (*self.person.prefix(), sys.executable, "-I", "-m", look.__name__)
        # As ourselves: a program that is started by a thread with another user's files has lost
        # what lets it become that user.
        with ourselves_again():
            return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(query.root, query.start),
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
                start_new_session=True,  # so that ripgrep can be killed with it
            )

    def _ask(self, query: Query) -> "_Answer":
        answer = _Answer()
        with self._child(query) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            until = time.monotonic() + self.seconds
            try:
                with suppress(BrokenPipeError):  # it died at once; then there is no answer
                    child.stdin.write(orjson.dumps(asdict(query)))
                    child.stdin.close()
                for line in _lines(child.stdout.fileno(), until):
                    answer.take(orjson.loads(line))
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        return answer if answer.ended else answer.cut_short(late=time.monotonic() >= until)


def _lines(descriptor: int, until: float) -> Generator[bytes]:
    """Whole lines, until the end, the deadline or too many bytes."""
    rest = b""
    size = 0
    poll = select.poll()  # not select: the agent may have many descriptors
    poll.register(descriptor, select.POLLIN)
    while size < ANSWER_BYTES_MAX:
        ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
        block = os.read(descriptor, 1 << 16) if ready else b""
        if not block:
            return
        size += len(block)
        *lines, rest = (rest + block).split(b"\n")
        yield from lines


class _Answer:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.more = True
        self.note = ""
        self.ended = False

    def take(self, row: dict[str, Any]) -> None:
        if "bad" in row:
            raise Refused(FaultCode.BAD_REQUEST, row["bad"])
        if "end" in row:
            self.ended = True
            self.more = row["end"]["more"]
            self.note = " ".join(row["end"]["notes"])
        else:
            self.rows.append(row)

    def cut_short(self, *, late: bool) -> "_Answer":
        self.note = (
            f"Stopped: it {'took too long' if late else 'needed too much memory'}. The result is"
            " incomplete. Give a smaller path or a simpler pattern."
        )
        if not self.rows:
            raise Refused(FaultCode.TOO_LARGE, self.note)
        return self
