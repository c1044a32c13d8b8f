"""Every fault of the simulator on every wire, through the real client: what a caller sees."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.domain.parts import Part
from holdfast.ports import models
from holdfast.ports.models import Usage
from holdfast.turn import failures
from holdfast_lab.chaos.harness.simulator import simulator_process
from holdfast_simulator.faults import Fault
from tests.support.model import WIRE_NAMES, call_for, user
from tests.support.simulated import endpoint_at

PROMPT: Final = (
    'Will it rain? [[sim: think "The sky, then." | say "Let me see what the sky says today." '
    '| call clock {"city":"Oslo or Bergen, whichever is drier"}]]'
)
DEADLINES: Final = Deadlines(
    first_part_s=3.0, silence_s=3.0, progress_s=3.0, thinking_s=3.0, tail_s=0.5
)
"""For faults that a deadline ends."""
SLACK_S: Final = 20.0
"""For a machine that is busy with something else. A stream without a deadline ends at `HANG_S`."""
ENDS_WITHIN_S: Final = 3.0 + 3.0 + 0.5 + SLACK_S
PATIENT: Final = Deadlines(
    first_part_s=20.0, silence_s=20.0, progress_s=20.0, thinking_s=20.0, tail_s=0.5
)
"""For every other fault: a busy machine must not turn it into a timeout."""
HANG_S: Final = 30.0
TOGETHER_MAX: Final = 16
DIRECTED: Final[Mapping[Fault, Mapping[str, str]]] = {
    Fault.DRIP: {"x_sim_every": "0"},
    Fault.PINGS_FOREVER: {"x_sim_every": "50"},
    Fault.PINGS_MID: {"x_sim_every": "50"},
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One attempt, as its caller sees it."""

    wire: str
    final: models.Reply | None = None
    error: ProviderError | None = None
    partial: tuple[Part, ...] = ()
    usage: Usage | None = None
    took_s: float = 0.0
    logged_id: str | None = None
    """The request id in the log line that a turn writes of the failed attempt."""

    @property
    def hung(self) -> bool:
        return self.final is None and self.error is None


@dataclass(frozen=True, kw_only=True)
class Account:
    """What came of the whole run."""

    plain: Mapping[str, Seen]
    """Without any fault, by wire."""
    seen: Mapping[tuple[Fault, str], Seen]
    tasks_left: int
    sockets_left: int

    def late(self) -> list[str]:
        """What did not end within the deadlines; for a drip they have no bearing."""
        return [
            f"{fault} on {wire}: {seen.took_s:.1f} s"
            for (fault, wire), seen in self.seen.items()
            if seen.hung or (fault is not Fault.DRIP and seen.took_s > ENDS_WITHIN_S)
        ]


async def run(faults: Sequence[Fault] = tuple(Fault)) -> Account:
    tasks, sockets = asyncio.all_tasks(), open_sockets()
    plain: dict[str, Seen] = {}
    seen: dict[tuple[Fault, str], Seen] = {}
    async with simulator_process() as url, open_transport(now) as transport:
        for wire in WIRE_NAMES:
            plain[wire] = await attempt(transport, url, wire, None)
        room = asyncio.Semaphore(TOGETHER_MAX)

        async def one(fault: Fault, wire: str) -> None:
            async with room:
                seen[fault, wire] = await attempt(transport, url, wire, fault)

        async with asyncio.TaskGroup() as group:
            for fault in sorted(faults, key=_slow_first):
                for wire in WIRE_NAMES:
                    group.create_task(one(fault, wire))
    return Account(
        plain=plain,
        seen=seen,
        tasks_left=len(asyncio.all_tasks() - tasks),
        sockets_left=len(open_sockets() - sockets),
    )


def now() -> datetime:
    return datetime.now(UTC)  # the real time: a hint may be a date


def _slow_first(fault: Fault) -> bool:
    return not fault.startswith(("hang", "pings", "drip"))


def deadlines_of(fault: Fault | None) -> Deadlines:
    by_deadline = fault is not None and fault.startswith(("hang", "pings"))
    return DEADLINES if by_deadline else PATIENT


async def attempt(transport: Transport, url: str, wire: str, fault: Fault | None) -> Seen:
    directed = {} if fault is None else {"x_sim_fault": str(fault), **DIRECTED.get(fault, {})}
    # The same prompt for every fault: the simulator then gives the same ids and signatures.
    call = call_for(wire, [user(PROMPT)])
    stream = ProviderStream(
        transport, endpoint_at(url, wire, **directed), call, deadlines_of(fault)
    )
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    error: ProviderError | None = None
    with suppress(TimeoutError):
        try:
            async with asyncio.timeout(HANG_S), stream:
                async for _ in stream:
                    pass
        except ProviderError as raised:
            error = raised
    return Seen(
        wire=wire,
        final=stream.final,
        error=error,
        partial=stream.partial(),
        usage=stream.usage,
        took_s=loop.time() - began_s,
        logged_id=None if error is None else logged_id(error),
    )


def logged_id(error: ProviderError) -> str | None:
    """The request id in the line `turn: attempt failed` of this error."""
    log, lines = logging.getLogger(failures.__name__), list[logging.LogRecord]()

    def note(line: logging.LogRecord) -> bool:
        lines.append(line)
        return False  # 260 of them say nothing in the output of a test

    log.addFilter(note)
    try:
        failures.log_attempt(
            failures.FailedAttempt(
                failed=error,
                error=failures.error_of(error),
                model="m",
                host="simulator",
                attempt=1,
                then=None,
            )
        )
    finally:
        log.removeFilter(note)
    (line,) = lines
    return vars(line)["request_id"]


def open_sockets() -> set[str]:
    """The sockets of this process, by inode."""
    found: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(entry))
    return {name for name in found if name.startswith("socket:")}
