"""Results as a model reads them: a line with the outcome, then the text itself.

Plain text and no JSON: a model reads lines, and every escaped line break would cost it tokens.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from holdfast.tools.workspace.terminal import plain
from holdfast_agent.wire import Look, Process, State

GAP_BYTES_MAX: Final = 200
"""For the line that says what is left out."""


def outcome(process: Process) -> str:
    """The state of a process, in a few words."""
    match process.state:
        case State.RUNNING:
            return "running"
        case State.LOST:
            return "lost: the workspace agent restarted while it ran"
        case State.STOPPED:
            return "stopped before it was started"
        case State.ENDED:
            return _ended(process)


def _ended(process: Process) -> str:
    if process.signal is not None:
        said = f"killed by signal {process.signal.removeprefix('SIG')}"
    elif process.exit_code is None:
        said = "not started"
    else:
        said = f"exit code {process.exit_code}"
    seconds = seconds_of(process)
    took = "" if seconds is None else f" ({_duration(seconds)})"
    return f"{said}{took}" + (f": {process.reason}" if process.reason else "")


def seconds_of(process: Process) -> float | None:
    """How long it ran; None if it has not ended."""
    began, ended = process.started_at, process.ended_at
    return None if began is None or ended is None else (ended - began).total_seconds()


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(0.0, seconds):.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


@dataclass(frozen=True, slots=True)
class Shown:
    """Output of a process as a model is told it. `end`: what comes behind `missed` bytes."""

    begin: str
    missed: int = 0
    end: str = ""

    @property
    def is_whole(self) -> bool:
        return not self.missed


def kept(look: Look) -> Shown:
    """All of the output that the agent still has, around what it dropped (L105)."""
    head = "" if look.head is None else look.head.text
    missed = dropped(look)
    return Shown(head, missed, look.output.text) if missed else Shown(head + look.output.text)


def dropped(look: Look) -> int:
    """How many bytes of output are missing in a look."""
    missed = look.output.missed
    return missed if look.head is None else max(missed, look.output.begin - look.head.end)


def told(line: str, shown: Shown, process: Process, bytes_max: int) -> tuple[str, bool]:
    """A line, a blank line, and the output, in so many bytes; and whether output is left out.

    Whole lines stay, from the beginning and from the end."""
    begin, end, missed = plain(shown.begin), plain(shown.end), shown.missed
    if not (begin or end or missed):
        return f"{line}, no output", False
    room = bytes_max - len(line.encode()) - GAP_BYTES_MAX
    if len(begin.encode()) + len(end.encode()) > room:
        text = begin if shown.is_whole else ""
        before = len(begin.encode()) + len(end.encode())
        begin, end = _first_lines(begin, room // 2), _last_lines(text or end, room // 2)
        missed += before - len(begin.encode()) - len(end.encode())
    text = begin + _gap(missed, process) + end if missed else begin
    return f"{line}\n\n{text}", bool(missed)


def _first_lines(text: str, bytes_max: int) -> str:
    kept = text.encode()[: max(0, bytes_max)].decode(errors="ignore")
    if len(kept) == len(text):
        return text
    return kept[: kept.rfind("\n") + 1] or kept


def _last_lines(text: str, bytes_max: int) -> str:
    data = text.encode()
    kept = data[max(0, len(data) - max(0, bytes_max)) :].decode(errors="ignore")
    if len(kept) == len(text):
        return text
    return kept[kept.find("\n") + 1 :] or kept


def gap(missed: int) -> str:
    """Between live parts."""
    return f"\n[... {missed:,} bytes omitted ...]\n" if missed > 0 else ""


def _gap(missed: int, process: Process) -> str:
    path, written = process.output_path, process.output_bytes
    if path is None:
        where = "; redirect long output to a file to read it whole"
    elif written < process.bytes_written:
        where = f"; the first {written:,} bytes: {path}"
    else:
        where = f"; full output: {path}"
    return f"\n[... {missed:,} bytes omitted{where} ...]\n"


def listed(processes: Iterable[Process]) -> str:
    lines = [_listed(process) for process in processes]
    return "\n".join(lines) if lines else "No processes. execute starts one."


def _listed(process: Process) -> str:
    command = process.command if len(process.command) <= 200 else f"{process.command[:200]}…"
    written = size(process.bytes_written)
    return f"{process.id}: {outcome(process)}; {written} of output; {shown(command)}"


def size(number: int) -> str:
    if number < 10_000:
        return f"{number} bytes"
    return f"{number / 1000:.0f} kB" if number < 10_000_000 else f"{number / 1e6:.0f} MB"


def shown(name: str) -> str:
    """A name on one line, whatever characters it holds."""
    plain = all(letter.isprintable() for letter in name)
    return name if plain else name.encode("unicode_escape").decode("ascii")
