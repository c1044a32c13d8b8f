"""Every provider fault, as a reader on another replica is told of it (T14).

The turns and what must hold for them are an attack of `holdfast lab prove`; here they run in one
process, where the waits between attempts can be measured (L45, L46).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast_lab.chaos.faults.models.documented import documented
from holdfast_lab.chaos.faults.models.outcomes import REPEATED
from holdfast_lab.chaos.faults.models.problems import problems as told_problems
from holdfast_lab.chaos.faults.models.turns import HURRIED, LONG_S, Account
from holdfast_simulator.faults import Fault
from tests.requirements import requirement
from tests.support.fault_turns import faulty_cell, run, wait_problems

WIRES_AGAIN = ("anthropic", "chat")
DELAY_S_MAX = 3.0
"""A wait that is over before its reader hears of it is not told: so long that most are."""
DEADLINE_S = 4.0
"""For the provider's answer. A busy machine must not miss it where the provider is at fault in
another way."""


def accounts() -> list[Account]:
    """Each fault once on each wire; and again at every attempt, if it is retried soon."""
    rows = [row for row in documented() if row.fault not in REPEATED]
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
    assert {account.row.fault for account in every} == set(Fault) - REPEATED
    async with faulty_cell(template, tmp_path) as cell:
        await run(cell, every, delay_s_max=DELAY_S_MAX)

    assert any(account.said("retry") for account in every)
    wrong = [f"{account.name}: {problem}" for account in every for problem in problems(account)]
    assert not wrong, "\n".join(wrong)


def problems(account: Account) -> Iterator[str]:
    yield from told_problems(account)
    yield from wait_problems(account)
