"""Mutants of a fleet, and the sentence by which each must be noticed."""

from collections.abc import Awaitable

from holdfast.db.migrate import MigrateOptions
from holdfast_lab.chaos.attack import Found, Mutant, Order
from holdfast_lab.chaos.fleet import dump, heads, primaries, sqlstates, unreadable

FEW_MB = 8.0
SOON_S = 12.0
ROUNDS_ERRORS = 600
"""For several rounds at each server."""


def fleet_mutants() -> list[Mutant]:
    return [
        Mutant("a standby is taken for a primary", "changing primaries", _standby, alone=True),
        Mutant("ready without writes", "changing primaries", _ready, alone=True),
        Mutant("cursors without a stamp", "changing primaries", _cursors, alone=True),
        Mutant("a batch is decoded whole", "unreadable rows", _batch),
        Mutant("a task ends its process", "refused statements", _crew),
        Mutant("a worker never gives up its lease", "refused statements", _lease),
        Mutant("no lock timeout", "migrations", _lock),
        Mutant("heads without a bound", "endless heads", _heads, alone=True),
    ]


async def _standby() -> bool:
    mutant = "a standby is taken for a primary"
    return await _sees(
        "nothing is taken any more",
        primaries.change(_one(), mutant, part="read only", settle_s=SOON_S),
    )


async def _ready() -> bool:
    mutant = "ready without writes"
    found = primaries.change(_one(), mutant, part="read only", settle_s=SOON_S)
    return await _sees("/readyz says 200", found)


async def _cursors() -> bool:
    mutant = "cursors without a stamp"
    found = primaries.change(_one(), mutant, part="lost commits", settle_s=SOON_S)
    return await _sees("that came back still shows lost words", found)


async def _batch() -> bool:
    found = unreadable.set_aside(_one(4), "a batch is decoded whole", within_s=SOON_S)
    return await _sees("a healthy chat is", found)


async def _crew() -> bool:
    # Some loops pause for longer than a round.
    codes, mutant = ("42P01",), "a task ends its process"
    found = sqlstates.refuse(_one(ROUNDS_ERRORS), codes, mutant, shares_fate=False)
    return await _sees("the server died of", found)


async def _lease() -> bool:
    mutant = "a worker never gives up its lease"
    found = sqlstates.refuse(_one(), (), mutant, within_s=3 * SOON_S)
    return await _sees("without commits is kept", found)


async def _lock() -> bool:
    found = dump.migrate_beside(_one(), MigrateOptions(lock_s=1000.0))
    return await _sees("for the migration", found)


async def _heads() -> bool:
    found = heads.send_heads(_one(), "heads without a bound", FEW_MB)
    return await _sees("MB to the process", found)


async def _sees(sentence: str, found: Awaitable[Found]) -> bool:
    return any(sentence in each for each in (await found).violations)


def _one(count: int = 1) -> Order:
    return Order(count, 1, _quietly)


def _quietly(_said: str) -> None:
    pass
