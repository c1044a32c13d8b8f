"""Results as a model reads them: a line that says how it stands, then the text itself.

Plain text and no JSON: a model reads lines, and every escaped line break would cost it tokens.
"""

from collections.abc import Iterable

from holdfast_agent.wire import Look, Process, State


def outcome(process: Process) -> str:
    """How a process stands, in a few words."""
    match process.state:
        case State.RUNNING:
            return "running"
        case State.LOST:
            return "lost: the workspace's agent restarted while it ran"
        case State.STOPPED:
            return "stopped before it was started"
        case State.ENDED:
            return _ended(process)


def _ended(process: Process) -> str:
    if process.signal is not None:
        said = f"ended by signal {process.signal.removeprefix('SIG')}"
    else:
        said = f"exit code {process.exit_code}"
    seconds = seconds_of(process)
    took = "" if seconds is None else f" after {_duration(seconds)}"
    return f"{said}{took}" + (f" ({process.reason})" if process.reason else "")


def seconds_of(process: Process) -> float | None:
    """How long it ran; None if it has not ended."""
    began, ended = process.started_at, process.ended_at
    return None if began is None or ended is None else (ended - began).total_seconds()


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def told(line: str, output: str) -> str:
    """A line, and the output below it."""
    return f"{line}\n{output}" if output else f"{line}, no output"


def kept(look: Look) -> str:
    """All of the output that the agent still has, around what it dropped (L105)."""
    head = "" if look.head is None else look.head.text
    return head + gap(dropped(look)) + look.output.text


def dropped(look: Look) -> int:
    """How many bytes of output are missing in a look."""
    missed = look.output.missed
    return missed if look.head is None else max(missed, look.output.begin - look.head.end)


def gap(missed: int) -> str:
    return f"\n[… {missed} bytes of output left out here …]\n" if missed > 0 else ""


def listed(processes: Iterable[Process]) -> str:
    lines = [_listed(process) for process in processes]
    return "\n".join(lines) if lines else "There are no processes."


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
