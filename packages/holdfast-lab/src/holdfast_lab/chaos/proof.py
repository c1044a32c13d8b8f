"""Runs attacks and mutants, several at once where that spoils nothing; keeps what came of it."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast_lab.chaos.attack import Attack, CannotTry, Found, Mutant, Order, Profile, Say
from holdfast_lab.chaos.harness.cluster import one_house

ATTACKS_AT_ONCE: Final = 3
MUTANTS_AT_ONCE: Final = 6
VIOLATIONS_SAID: Final = 10
"""Enough for the log of a failed gate to name the cause."""
_LOG: Final = logging.getLogger(__name__)


@dataclass
class Tried:
    """One attack: what it found, or why it could not be made."""

    attack: Attack
    found: Found | None
    why_not: str = ""
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        return self.found is not None and not self.found.violations

    @property
    def broken(self) -> bool:
        return self.found is not None and bool(self.found.violations)


@dataclass
class Proof:
    profile: Profile
    seed: int
    tried: list[Tried] = field(default_factory=list[Tried])
    noticed: dict[str, bool] = field(default_factory=dict[str, bool])
    """Mutants, by name; without those that this machine does not let us make."""

    @property
    def holds(self) -> bool:
        return not any(each.broken for each in self.tried) and all(self.noticed.values())


async def prove(
    attacks: Sequence[Attack],
    mutants: Sequence[Mutant],
    proof: Proof,
    say: Say,
    keep: Callable[[], None],
) -> None:
    """`keep`: called whenever there is more in `proof`; some attacks take half an hour."""
    async with one_house():
        await _try_all(attacks, proof, say, keep)
        found = await _notice_all(mutants, say)
    proof.noticed = {each.name: found[each.name] for each in mutants if each.name in found}
    keep()


async def _try_all(
    attacks: Sequence[Attack], proof: Proof, say: Say, keep: Callable[[], None]
) -> None:
    """Most of a small attack is waiting, for a lease to lapse: several at once. A large one keeps
    the machine busy by itself."""
    room = asyncio.Semaphore(ATTACKS_AT_ONCE if proof.profile is Profile.QUICK else 1)

    async def one(attack: Attack) -> None:
        async with room:
            proof.tried.append(await _try(attack, proof.profile, proof.seed, say))
            keep()

    async with asyncio.TaskGroup() as tasks:
        for attack in attacks:
            if not attack.alone:
                tasks.create_task(one(attack))
    for attack in attacks:
        if attack.alone:
            await one(attack)
    proof.tried.sort(key=lambda tried: attacks.index(tried.attack))


async def _try(attack: Attack, profile: Profile, seed: int, say: Say) -> Tried:
    count, began_s = attack.sizes[profile], time.monotonic()
    say(f"{attack.name}: {count} {attack.unit}")
    order = Order(count, seed, lambda said: say(f"{attack.name}: {said}"))
    try:
        tried = Tried(attack, await attack.play(order))
    except CannotTry as why:
        tried = Tried(attack, None, str(why))
    except Exception as error:  # noqa: BLE001 - a chat that hangs is what we look for, too
        _LOG.exception("prove: attack %s raised an exception", attack.name)
        tried = Tried(attack, Found(0, [f"it came to no end: {error!r}"]))
    tried.seconds = time.monotonic() - began_s
    say(f"{attack.name}: {verdict_of(tried)}")
    for violation in (tried.found.violations if tried.found else ())[:VIOLATIONS_SAID]:
        say(f"{attack.name}: broken: {violation}")
    return tried


def verdict_of(tried: Tried) -> str:
    if tried.found is None:
        return f"not tried: {tried.why_not}"
    found, more = tried.found, ""
    if found.figures:
        more = " (" + ", ".join(f"{name} {value:g}" for name, value in found.figures.items()) + ")"
    broken = f"{len(found.violations)} broken promises" if found.violations else "held"
    known = "".join(f"; known open item: {each}" for each in found.open_items)
    return f"{broken}, {found.count:,} {tried.attack.unit}{more}, {tried.seconds:.0f} s{known}"


async def _notice_all(mutants: Sequence[Mutant], say: Say) -> dict[str, bool]:
    """Most of each is waiting, for a lease to lapse: several at once, but for those that cannot."""
    found: dict[str, bool] = {}
    room = asyncio.Semaphore(MUTANTS_AT_ONCE)

    async def one(mutant: Mutant) -> None:
        async with room:
            await _notice(mutant, found, say)

    async with asyncio.TaskGroup() as tasks:
        for mutant in mutants:
            if not mutant.alone:
                tasks.create_task(one(mutant))
    for mutant in mutants:
        if mutant.alone:
            await _notice(mutant, found, say)
    return found


async def _notice(mutant: Mutant, found: dict[str, bool], say: Say) -> None:
    try:
        found[mutant.name] = await mutant.notice()
        seen = "noticed" if found[mutant.name] else "NOT NOTICED"
    except CannotTry as why:
        seen = f"not tried ({why})"
    except Exception as error:  # noqa: BLE001 - no proof: the attack must say what broke
        _LOG.exception("prove: mutant %s raised an exception", mutant.name)
        found[mutant.name], seen = False, f"NOT NOTICED ({error!r})"
    say(f"without a protection ({mutant.name}): {seen} by {mutant.attack}")
