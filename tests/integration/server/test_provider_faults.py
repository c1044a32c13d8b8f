"""Every provider fault, as a reader on another replica is told of it (T14).

The turns and what must hold for them are an attack of `holdfast prove`; here they are made in one
process, where the waits between attempts can be measured (L45, L46).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.domain.events import EventKind
from holdfast_lab.chaos.models.documented import documented
from holdfast_lab.chaos.models.problems import problems as told_problems
from holdfast_lab.chaos.models.turns import HURRIED, LONG_S, Account
from holdfast_simulator.faults import Fault
from tests.requirements import requirement
from tests.support.fault_turns import faulty_cell, run

WIRES_AGAIN = ("anthropic", "chat")
EARLY_S = 0.005
DELAY_S_MAX = 3.0
"""A wait that is over before its reader hears of it is not told: longer than a busy machine is
late."""
DEADLINE_S = 4.0
"""For the provider's answer. A busy machine must not miss it where the provider is at fault in
another way."""
LATE_S = 15.0
"""How much later than promised things may happen, or be told: ten times the 1.5 s that a busy
machine was allowed before."""


def accounts() -> list[Account]:
    """Each fault once on each wire; and again at every attempt, if it is retried soon."""
    rows = documented()
    again = [
        row for row in rows if row.retryable and row.hint_s < LONG_S and row.wire in WIRES_AGAIN
    ]
    return [
        *(Account(row, always=False, delay_s_max=DELAY_S_MAX) for row in rows),
        *(Account(row, always=True, delay_s_max=DELAY_S_MAX) for row in again),
    ]


@requirement("T14", "P1", "P2", "L43", "L45", "L46", "L47", "L50", "L51", "L53")
@pytest.mark.timeout(300)
async def test_every_fault_is_told_as_documented_on_another_replica(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in HURRIED:
        monkeypatch.setitem(HURRIED, name, DEADLINE_S)
    every = accounts()
    assert {account.row.fault for account in every} == set(Fault)
    async with faulty_cell(template, tmp_path) as cell:
        await run(cell, every, delay_s_max=DELAY_S_MAX)

    wrong = [f"{account.name}: {problem}" for account in every for problem in problems(account)]
    assert not wrong, "\n".join(wrong)


def problems(account: Account) -> Iterator[str]:
    yield from told_problems(account)
    yield from wait_problems(account)


def wait_problems(account: Account) -> Iterator[str]:
    """What is shown is what is slept (L46), and that is what the provider asked for (L45)."""
    retries = [told for told in account.told if told.kind == EventKind.RETRY]
    if len(account.waits_s) != len(retries):
        yield f"{len(account.waits_s)} waits were published"
        return
    for number, told in enumerate(retries):
        delay_s = told.data["delay_ms"] / 1000
        hint_s = account.row.hint_s
        slack_s = 2.0 if account.row.fault is Fault.RATE_LIMIT_DATE else 0.0  # whole seconds
        longest_s = account.delay_s_max
        if not max(hint_s - slack_s, longest_s / 2) <= delay_s <= max(hint_s, longest_s):
            yield f"a delay of {delay_s} s"
        slept_s = account.attempts_s[number + 1] - account.waits_s[number]
        if not delay_s - EARLY_S <= slept_s <= delay_s + LATE_S:
            yield f"slept {slept_s:.3f} s, told {delay_s} s"
        if not 0 <= told.at_s - account.waits_s[number] <= LATE_S:
            yield f"told {told.at_s - account.waits_s[number]:.3f} s late"
    if account.row.hint_s >= LONG_S and account.latecomers != [retries[0].data] * 2:
        yield f"who came during the wait was told {account.latecomers}"
