"""Every provider fault as a turn on one replica, told to a reader on another."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.bootstrap import Adapters
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Bus, Hint
from holdfast.ports.models import Ask, Models, ModelStream
from holdfast_lab.chaos.faults.models.problems import retries_of
from holdfast_lab.chaos.faults.models.turns import (
    DELAY_S_MAX,
    LONG_S,
    Account,
    is_quick,
    play,
    script,
    settings_of,
)
from holdfast_lab.chaos.harness.people import OWNER
from holdfast_lab.chaos.harness.simulator import simulator_process
from holdfast_simulator.faults import Fault
from tests.support.database import temporary_database
from tests.support.replica import Elsewhere, Replicas, add_owners

TOGETHER_MAX: Final = 32
"""Turns at once: who is too busy to listen is told where things stand, not how they got there."""

LATECOMERS: Final = 2
"""Readers that come during a long wait."""
EARLY_S: Final = 0.005
LATE_S: Final = 15.0
"""How much later than promised things may happen, or be told: ten times the 1.5 s that a busy
machine was allowed before."""


class Attempts:
    """The models, and when each chat's attempts were really made."""

    def __init__(self, models: Models, times: "Times") -> None:
        self.cost_micros = models.cost_micros
        self.context_window = models.context_window
        self.route = models.route
        self._models = models
        self._times = times

    def stream(self, ask: Ask) -> ModelStream:
        self._times.attempts.setdefault(ask.chat_id, []).append(_now_s())
        return self._models.stream(ask)


class Waits:
    """The bus, and when each wait between two attempts was told to it."""

    def __init__(self, bus: Bus, times: "Times") -> None:
        self.append, self.read_live = bus.append, bus.read_live
        self.subscribe, self.subscribe_work = bus.subscribe, bus.subscribe_work
        self.subscribe_lists = bus.subscribe_lists
        self.counters = bus.counters
        self._bus = bus
        self._times = times

    async def publish(self, hints: Sequence[Hint]) -> None:
        for hint in hints:
            if b'"retry":{' in hint.inline:
                self._times.waits.setdefault(hint.chat_id, []).append(_now_s())
        await self._bus.publish(hints)


@dataclass
class Times:
    """What really happened, on the loop's clock, by chat."""

    attempts: dict[ChatId, list[float]] = field(default_factory=dict[ChatId, list[float]])
    waits: dict[ChatId, list[float]] = field(default_factory=dict[ChatId, list[float]])

    def around(self, adapters: Adapters) -> Adapters:
        return replace(
            adapters, models=Attempts(adapters.models, self), bus=Waits(adapters.bus, self)
        )


async def run(
    cell: Replicas,
    accounts: Sequence[Account],
    together_max: int = TOGETHER_MAX,
    delay_s_max: float = DELAY_S_MAX,
) -> None:
    """Many of them at once: one replica drives, and the readers are on another."""
    times, room = Times(), asyncio.Semaphore(together_max)

    async def one(account: Account) -> None:
        async with room:
            chat_id = await play(serves, account)
        account.waits_s = times.waits.get(chat_id, [])
        account.attempts_s = times.attempts.get(chat_id, [])

    given = settings_of(cell.simulator.url, delay_s_max)
    async with (
        cell.open(times.around, within_s=100, role="worker", **given),
        cell.open(within_s=100, role="api", **given) as serves,
        asyncio.TaskGroup() as group,
    ):
        for account in sorted(accounts, key=is_quick):
            group.create_task(one(account))


@asynccontextmanager
async def faulty_cell(template: str, folder: Path) -> AsyncGenerator[Replicas]:
    path = folder / "script.json"
    path.write_bytes(script())
    async with (
        temporary_database(template) as url,
        simulator_process("--script", str(path)) as simulator_url,
    ):
        await add_owners(url, OWNER)
        yield Replicas(url, Elsewhere(simulator_url))


def wait_problems(account: Account) -> Iterator[str]:
    """What is shown is what is slept (L46), and that is what the provider asked for (L45). A wait
    that the reader was not told of is compared with nothing; whether it may be missing, the check
    of the retries says."""
    states = [told for told in account.told if told.kind == EventType.CHAT_STATE]
    retries = [(told.data["retry"], told.at_s) for told in states if told.data["retry"]]
    if len(account.waits_s) != retries_of(account):
        yield f"{len(account.waits_s)} waits were published, not {retries_of(account)}"
        return
    for retry, at_s in retries:
        number: int = retry["attempt"]
        if not 0 < number <= len(account.waits_s):
            yield f"a wait after attempt {number}"
            continue
        delay_s, began_s = retry["delay_ms"] / 1000, account.waits_s[number - 1]
        hint_s = account.row.hint_s
        slack_s = 2.0 if account.row.fault is Fault.RATE_LIMIT_DATE else 0.0  # whole seconds
        longest_s = account.delay_s_max
        if not max(hint_s - slack_s, longest_s / 2) <= delay_s <= max(hint_s, longest_s):
            yield f"a delay of {delay_s} s"
        slept_s = account.attempts_s[number] - began_s
        if not delay_s - EARLY_S <= slept_s <= delay_s + LATE_S:
            yield f"slept {slept_s:.3f} s, told {delay_s} s"
        if not 0 <= at_s - began_s <= LATE_S:
            yield f"told {at_s - began_s:.3f} s late"
    if retries and account.row.hint_s >= LONG_S:
        in_time = LATECOMERS - account.came_after
        if account.latecomers != [retries[0][0]] * in_time:
            yield f"{in_time} readers that came during the wait were told {account.latecomers}"


def _now_s() -> float:
    return asyncio.get_running_loop().time()
