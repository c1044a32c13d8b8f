"""The processes of a workspace, by chat and key: started once, found again, stopped for good.

- A key is written into the journal *before* its process is started. After any crash the key is
  known, and what is known is never started again.
- Starts, and stops of what is unknown, go through one door. So a stop either finds the process or
  leaves a tombstone before it can be started.
- A chat's name is part of every key: what belongs to another chat is simply not there (L106).
"""

import asyncio
import hashlib
import logging
import re
import signal as signals
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Final, Literal, Self

from holdfast_agent.environment import environment
from holdfast_agent.faults import Refused
from holdfast_agent.journal import KEPT_MAX, Journal, Name, Remembered
from holdfast_agent.launching import Command, Launch, Launcher
from holdfast_agent.saved import SavedOutputs
from holdfast_agent.spawned import Spawned, spawn, strangers_gone
from holdfast_agent.trees import family
from holdfast_agent.wire import (
    FaultCode,
    Input,
    Look,
    Output,
    Process,
    SandboxReport,
    Signal,
    Start,
    State,
)

SHORT_ID: Final = re.compile(r"p[0-9]+")
COMMAND_BYTES_MAX: Final = 120 * 1024
"""The kernel takes 128 KiB for one argument."""
LISTED_MAX: Final = 200
GONE_OUTPUT: Final = "its output is no longer kept"
SAVED_OUTPUT: Final = "its output is in {path}"
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    running_max: int = 64
    finished_kept: int = 100
    """Of those that have ended, so many keep their output."""
    waits_max: int = 2000


@dataclass(slots=True, kw_only=True)
class Entry:
    """A key that is known, and its process as far as this agent has it."""

    chat: str
    digest: str
    process: Process
    outputs: SavedOutputs
    spawned: Spawned | None = None

    @property
    def remembered(self) -> Remembered:
        return Remembered(chat=self.chat, digest=self.digest, process=self.process)

    def now(self) -> Process:
        process = self.process
        if self.spawned is not None:
            seen: dict[str, object] = {"bytes_written": self.spawned.ring.total}
            if (file := self.spawned.file) is not None:
                seen |= {"output_path": file.path, "output_bytes": file.size}
            process = process.model_copy(update=seen)
        if process.output_path is None or self.outputs.has(process.output_path):
            return process
        return process.model_copy(update={"output_path": None, "output_bytes": 0})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What processes stand on."""

    launcher: Launcher
    report: SandboxReport
    base_env: dict[str, str]
    shell: str
    boot_id: str
    now: Callable[[], datetime]
    outputs: SavedOutputs
    git_guard: Callable[[], dict[str, str]] | None = None
    """Variables that keep git from running what a tree brings; reads files. None: it may."""
    limits: Limits = field(default_factory=Limits)


class Processes:
    def __init__(self, ground: Ground, journal: Journal, before: list[Remembered]) -> None:
        self._ground = ground
        self._journal = journal
        self._known: dict[Name, Entry] = {}
        self._ids: dict[str, int] = {}
        self._running: dict[Name, Entry] = {}
        self._finished: list[Entry] = []
        self._started = 0
        self._waits = 0
        self._door = asyncio.Lock()
        self._group = asyncio.TaskGroup()
        self._family = family()
        for each in before:
            self._known[each.name] = self._entry(each.chat, each.digest, each.process)
            if SHORT_ID.fullmatch(each.process.id):
                number = int(each.process.id[1:])
                self._ids[each.chat] = max(number, self._ids.get(each.chat, 0))

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for entry in list(self._running.values()):
                    tasks.create_task(self._kill_or_give_up(entry))
        finally:
            # Only a cancellation is the group's business, for it may be its own.
            if isinstance(error, asyncio.CancelledError):
                await self._group.__aexit__(kind, error, traceback)
            else:
                await self._group.__aexit__(None, None, None)
            self._journal.close()

    def _entry(self, chat: str, digest: str, process: Process) -> Entry:
        return Entry(chat=chat, digest=digest, process=process, outputs=self._ground.outputs)

    async def start(self, chat: str, key: str, start: Start) -> tuple[Process, bool]:
        """The process of this key, and whether it was started now."""
        if SHORT_ID.fullmatch(key):
            raise Refused(FaultCode.BAD_REQUEST, f"{key} has the form of an id. Use another key.")
        digest = _digest(start)
        async with self._door:
            entry = self._known.get((chat, key))
            if entry is None:
                return await self._start(chat, key, start, digest), True
        if entry.process.state is State.STOPPED:
            message = "This was stopped before it was started. It will not be started any more."
            raise Refused(FaultCode.STOPPED, message)
        if entry.digest != digest:
            message = "Another command was started under this key. Use another key."
            raise Refused(FaultCode.KEY_TAKEN, message)
        return entry.now(), False

    async def _start(self, chat: str, key: str, start: Start, digest: str) -> Process:
        self._may_start(start)
        command = Command(
            argv=(self._ground.shell, "-c", start.command),
            cwd=start.cwd,
            env=environment(self._ground.base_env, start.env, await self._guard()),
        )
        self._started += 1
        name = f"{self._ground.boot_id[:12]}-{self._started}"
        launched = False
        try:
            with self._ground.launcher.launch(command, name) as launch:
                launched = True
                entry = self._entry(chat, digest, self._process(chat, key, start))
                # Before the start, always: an agent that dies in between has started nothing, and
                # its successor says so. The other way round it would start it twice.
                await self._journal.write(entry.remembered)
                self._remember(entry)
                self._spawn(entry, launch, start, name)
        except BaseException:
            if launched:
                self._released(name)
            raise
        return entry.now()

    async def _guard(self) -> dict[str, str]:
        """Asked for anew each time: a tree that was unpacked by the last command counts, too."""
        guard = self._ground.git_guard
        return {} if guard is None else await asyncio.to_thread(guard)

    def _may_start(self, start: Start) -> None:
        report = self._ground.report
        if not report.works:
            why = " ".join(report.escapes) or "The sandbox does not work here."
            raise Refused(FaultCode.NO_SHELL, f"No command can run here. {why} Tell the user.")
        if len(self._running) >= self._ground.limits.running_max:
            raise Refused(
                FaultCode.TOO_MANY,
                f"{len(self._running)} processes run in this workspace, which is the limit. "
                "Stop some of them with process_signal, or wait until one exits.",
            )
        if len(start.command.encode()) > COMMAND_BYTES_MAX:
            message = "The command is longer than 120 KiB. Write it to a file and run the file."
            raise Refused(FaultCode.TOO_LARGE, message)
        if "\0" in start.command or "\0" in start.cwd:
            raise Refused(FaultCode.BAD_REQUEST, "A command cannot hold a zero byte. Remove it.")

    def _process(self, chat: str, key: str, start: Start) -> Process:
        number = self._ids[chat] = self._ids.get(chat, 0) + 1
        return Process(
            key=key,
            id=f"p{number}",
            command=start.command,
            cwd=start.cwd,
            background=start.background,
            state=State.RUNNING,
            started_at=self._ground.now(),
        )

    def _spawn(self, entry: Entry, launch: Launch, start: Start, name: str) -> None:
        try:
            spawned = spawn(launch, with_input=start.input == "open")
        except OSError as error:
            _LOG.warning("agent: command could not be started: %s", error)
            self._over(entry, name, reason=f"It could not be started: {error.strerror or error}.")
            return
        entry.spawned = spawned
        self._running[entry.remembered.name] = entry
        outputs, process_id = self._ground.outputs, entry.process.id
        spawned.watch(lambda: self._exited(entry, name), lambda: outputs.create(process_id))

    def _exited(self, entry: Entry, name: str) -> None:
        self._group.create_task(self._settle(entry, name), name=f"end of {name}")

    async def _settle(self, entry: Entry, name: str) -> None:
        """Its first process has ended. It is over when nothing of it is left."""
        spawned = entry.spawned
        assert spawned is not None
        await strangers_gone(self._roots, self._family)
        reason = self._released(name)
        # First the entry, then the bell: a waiter that it wakes must find the end.
        self._running.pop(entry.remembered.name, None)
        spawned.settle()
        if spawned.file is not None:
            self._ground.outputs.close(spawned.file)
        assert spawned.end is not None
        entry.process = entry.now().model_copy(
            update={"exit_code": spawned.end.exit_code, "signal": spawned.end.signal}
        )
        self._end(entry, reason)

    def _roots(self) -> set[int]:
        return {entry.spawned.pid for entry in self._running.values() if entry.spawned}

    def _released(self, name: str) -> str | None:
        try:
            return self._ground.launcher.ended(name)
        except Exception:  # noqa: BLE001 - told; one group that stays must not end the agent
            _LOG.exception("agent: resources of %s could not be released", name)
            return None

    def _over(self, entry: Entry, name: str, reason: str) -> None:
        self._released(name)
        self._end(entry, reason)

    def _end(self, entry: Entry, reason: str | None) -> None:
        entry.process = entry.process.model_copy(
            update={"state": State.ENDED, "ended_at": self._ground.now(), "reason": reason}
        )
        self._finished.append(entry)
        while len(self._finished) > self._ground.limits.finished_kept:
            self._finished.pop(0).spawned = None
        with suppress(Refused):  # The next start logs it, where it matters.
            self._journal.note(entry.remembered)

    def _remember(self, entry: Entry) -> None:
        self._known[entry.remembered.name] = entry
        if len(self._known) > KEPT_MAX:
            over = (name for name in self._known if name not in self._running)
            del self._known[next(over)]

    def all_of(self, chat: str) -> list[Process]:
        """Oldest first: all that run, and the last of those that do not. What never ran is not
        among them."""
        entries = [
            entry
            for (whose, _key), entry in self._known.items()
            if whose == chat and entry.process.state is not State.STOPPED
        ]
        older = [each for each in entries[:-LISTED_MAX] if each.process.state is State.RUNNING]
        return [entry.now() for entry in (*older, *entries[-LISTED_MAX:])]

    def find(self, chat: str, key: str) -> Entry:
        """By key or by id. Another chat's process is as unknown as one that never was."""
        entry = self._find(chat, key)
        if entry is None or entry.process.state is State.STOPPED:
            message = f"There is no process {key}. Call process_list to see the processes."
            raise Refused(FaultCode.NOT_FOUND, message)
        return entry

    def _find(self, chat: str, key: str) -> Entry | None:
        if not SHORT_ID.fullmatch(key):
            return self._known.get((chat, key))
        for (whose, _key), entry in self._known.items():
            if whose == chat and entry.process.id == key:
                return entry
        return None

    def look(self, entry: Entry, after: int) -> Look:
        if entry.spawned is None:
            written = entry.process.bytes_written
            missed = max(0, written - max(after, 0))
            output = Output(begin=written, end=written, missed=missed)
            return Look(process=_without_output(entry.now()), output=output)
        if after < 0:
            head, output = entry.spawned.ring.all_kept()
            return Look(process=entry.now(), output=output, head=head)
        return Look(process=entry.now(), output=entry.spawned.ring.since(after))

    async def wait(
        self, entry: Entry, after: int, until: Literal["exit", "output"], *, within_s: float
    ) -> bool:
        """Whether it came to pass in time."""
        spawned = entry.spawned
        if spawned is None or spawned.ended:
            return True
        if self._waits >= self._ground.limits.waits_max:
            message = "Too many calls wait for processes here. Call again with timeout_s=0."
            raise Refused(FaultCode.TOO_MANY, message)
        self._waits += 1
        try:
            if until == "exit":
                return await spawned.over.until(lambda: spawned.ended, within_s=within_s)
            return await spawned.wrote.until(
                lambda: spawned.ended or spawned.ring.has_after(after), within_s=within_s
            )
        finally:
            self._waits -= 1

    def write(self, entry: Entry, given: Input) -> Process:
        spawned = _running(entry)
        if given.text:
            spawned.feed(given.text.encode())
        if given.close:
            spawned.starve()
        return entry.now()

    def signal(self, entry: Entry, given: Signal) -> Process:
        _running(entry).signal(signals.Signals[f"SIG{given.name}"])
        return entry.now()

    async def stop(self, chat: str, key: str) -> Process:
        async with self._door:
            entry = self._find(chat, key)
            if entry is None and SHORT_ID.fullmatch(key):
                entry = self.find(chat, key)
            if entry is None:
                entry = self._entry(chat, "", _never(key))
                await self._journal.write(entry.remembered)
                self._remember(entry)
        await self._kill(entry)
        return entry.now()

    async def stop_all(self, chat: str) -> list[Process]:
        async with self._door:
            running = [entry for (whose, _), entry in self._running.items() if whose == chat]
        async with asyncio.TaskGroup() as tasks:
            for entry in running:
                tasks.create_task(self._kill(entry))
        return self.all_of(chat)

    async def _kill_or_give_up(self, entry: Entry) -> None:
        with suppress(Refused):
            await self._kill(entry)

    async def _kill(self, entry: Entry) -> None:
        if entry.spawned is None:
            return
        try:
            await entry.spawned.kill()
        except TimeoutError:
            message = f"{entry.process.id} was killed and is still there. Try again."
            raise Refused(FaultCode.FAILED, message) from None


def _running(entry: Entry) -> Spawned:
    if entry.spawned is None or entry.spawned.ended:
        message = f"{entry.process.id} has exited. Call process_output to see its output."
        raise Refused(FaultCode.NOT_RUNNING, message)
    return entry.spawned


def _never(key: str) -> Process:
    return Process(key=key, id="", command="", cwd="", background=False, state=State.STOPPED)


def _without_output(process: Process) -> Process:
    if not process.bytes_written:
        return process
    path = process.output_path
    where = GONE_OUTPUT if path is None else SAVED_OUTPUT.format(path=path)
    reason = "; ".join(filter(None, (process.reason, where)))
    return process.model_copy(update={"reason": reason})


def _digest(start: Start) -> str:
    body = start.model_copy(update={"env": dict(sorted(start.env.items()))}).model_dump_json()
    return hashlib.sha256(body.encode()).hexdigest()
