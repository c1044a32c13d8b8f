"""Waiting for a process while its output is shown as it comes.

No polling: the agent answers when there is output, or when the process has ended. A process that
writes all the time is asked at most so often, and each pause ends at once if it ends. Whatever
breaks while waiting, the process goes on: the next request gets its state (L101).
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.ports.tools import Emit, ToolOutput
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.texts import Shown, gap, kept, seconds_of, told
from holdfast_agent.wire import Look, Output, Process, State

LOOK_S: Final = 30.0
"""The longest single wait: also how often a workspace that is waited for is kept alive."""
PAUSE_S: Final = 0.03
PAUSE_S_MAX: Final = 0.5
KEPT_BYTES_MAX: Final = 32 * 1024
"""As much as an agent keeps. What is longer is asked for again, cut in the middle (L105)."""
SHOWN_BYTES_MAX: Final = 256 * 1024
LOOKS_TO_THE_END: Final = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """A process and its output. `output`: from where was asked, or all that is kept."""

    process: Process
    output: Shown
    end: int
    """The byte after the last one that was seen."""

    def reported(self, line: str, bytes_max: int) -> ToolOutput:
        """The result of a call about this process: a line with its state, its output, and the same
        as fields."""
        process, seconds = self.process, seconds_of(self.process)
        text, is_cut = told(line, self.output, process, bytes_max)
        return ToolOutput(
            text,
            failed=process.state is State.STOPPED,
            exit_code=process.exit_code,
            signal=None if process.signal is None else process.signal.removeprefix("SIG"),
            duration_ms=None if seconds is None else max(0, round(seconds * 1000)),
            process_id=process.id if process.state is State.RUNNING else None,
            truncated=is_cut,
            summary_lines=2 if "\n" in text else 1,
        )


@dataclass(slots=True)
class _OutputReader:
    after: int
    emit: Emit
    pieces: list[str] = field(default_factory=list[str])
    bytes_read: int = 0
    is_whole: bool = True

    def take(self, output: Output) -> None:
        if self.bytes_read < SHOWN_BYTES_MAX and (output.missed or output.text):
            self.emit(gap(output.missed) + output.text)
        self.bytes_read += output.end - output.begin
        self.is_whole = self.is_whole and not output.missed and self.bytes_read <= KEPT_BYTES_MAX
        if self.is_whole:
            self.pieces.append(output.text)
        self.after = max(self.after, output.end)


class Watched:
    """One process, as one call waits for it. `key`: the call's, or the short name of a process."""

    def __init__(self, binding: Binding, key: str, emit: Emit) -> None:
        self._binding = binding
        self._key = key
        self._emit = emit

    async def wait(self, wait_s: float, *, until: Literal["exit", "output"] = "exit") -> Seen:
        """All its output, from the first byte on, once it has ended or the time is up."""
        reader, look = await self._read(0, wait_s, until)
        if reader.is_whole:
            return Seen(look.process, Shown("".join(reader.pieces)), reader.after)
        whole = await self._look(-1, 0.0, "exit")
        return Seen(whole.process, kept(whole), whole.output.end)

    async def wait_after(
        self, after: int, wait_s: float, *, until: Literal["exit", "output"]
    ) -> Seen:
        """Only what follows a byte."""
        reader, look = await self._read(after, wait_s, until)
        if reader.is_whole:
            return Seen(look.process, Shown("".join(reader.pieces)), reader.after)
        again = await self._look(after, 0.0, "exit")
        rest = await self._look(again.output.end, 0.0, "exit")
        first, last = again.output, rest.output
        if not last.missed:
            shown = Shown("", first.missed, first.text + last.text)
        elif not first.missed:
            shown = Shown(first.text, last.missed, last.text)
        else:  # it writes faster than it is asked
            shown = Shown("", last.begin - after, last.text)
        return Seen(rest.process, shown, last.end)

    async def _read(
        self, after: int, wait_s: float, until: Literal["exit", "output"]
    ) -> tuple[_OutputReader, Look]:
        loop = asyncio.get_running_loop()
        ends_s, pause_s = loop.time() + wait_s, PAUSE_S
        reader = _OutputReader(after, self._emit)
        while True:
            left_s = max(0.0, ends_s - loop.time())
            look = await self._look(reader.after, min(left_s, LOOK_S), "output")
            reader.take(look.output)
            if _is_over(look, left_s) or (until == "output" and reader.bytes_read):
                return await self._drained(reader, look)
            # It writes: what comes in the next moment is shown together, unless it ends in it.
            left_s = max(0.0, ends_s - loop.time())
            look = await self._look(reader.after, min(left_s, pause_s), "exit")
            reader.take(look.output)
            if _is_over(look, left_s):
                return await self._drained(reader, look)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    async def _drained(self, reader: _OutputReader, look: Look) -> tuple[_OutputReader, Look]:
        """A look goes up to what the agent dropped; from there to the end it takes another."""
        for _ in range(LOOKS_TO_THE_END):
            if reader.after >= look.process.bytes_written:
                break
            look = await self._look(reader.after, 0.0, "exit")
            reader.take(look.output)
        return reader, look

    async def _look(self, after: int, wait_s: float, until: Literal["exit", "output"]) -> Look:
        return await self._binding.use(
            lambda agent: agent.look(
                self._binding.chat_id, self._key, after=after, wait_s=wait_s, until=until
            )
        )


def _is_over(look: Look, left_s: float) -> bool:
    return look.process.state is not State.RUNNING or left_s <= 0
