"""Runs attacks and mutants one after the other, and keeps what became of each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.prove.attack import Attack, CannotTry, Found, Mutant, Order, Profile, Say


@dataclass
class Tried:
    """One attack: what it found, or why it could not be made."""

    attack: Attack
    found: Found | None
    why_not: str = ""
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        return self.found is None or not self.found.violations


@dataclass
class Proof:
    profile: Profile
    seed: int
    tried: list[Tried] = field(default_factory=list[Tried])
    noticed: dict[str, bool] = field(default_factory=dict[str, bool])
    """Mutants, by name."""

    @property
    def holds(self) -> bool:
        return all(each.held for each in self.tried) and all(self.noticed.values())


async def prove(
    attacks: Sequence[Attack], mutants: Sequence[Mutant], profile: Profile, seed: int, say: Say
) -> Proof:
    proof = Proof(profile, seed)
    for attack in attacks:
        proof.tried.append(await _try(attack, profile, seed, say))
    for mutant in mutants:
        await _notice(mutant, proof, say)
    return proof


async def _try(attack: Attack, profile: Profile, seed: int, say: Say) -> Tried:
    count, began_s = attack.sizes[profile], time.monotonic()
    say(f"{attack.name}: {count} {attack.unit}")
    try:
        tried = Tried(attack, await attack.play(Order(count, seed, say)))
    except CannotTry as why:
        tried = Tried(attack, None, str(why))
    tried.seconds = time.monotonic() - began_s
    say(f"{attack.name}: {verdict_of(tried)}")
    return tried


def verdict_of(tried: Tried) -> str:
    if tried.found is None:
        return f"not tried: {tried.why_not}"
    found, more = tried.found, ""
    if found.figures:
        more = " (" + ", ".join(f"{name} {value:g}" for name, value in found.figures.items()) + ")"
    broken = f"{len(found.violations)} broken promises" if found.violations else "held"
    return f"{broken}, {found.count:,} {tried.attack.unit}{more}, {tried.seconds:.0f} s"


async def _notice(mutant: Mutant, proof: Proof, say: Say) -> None:
    try:
        proof.noticed[mutant.name] = await mutant.notice()
    except CannotTry:
        return
    seen = "noticed" if proof.noticed[mutant.name] else "NOT NOTICED"
    say(f"without a protection ({mutant.name}): {seen} by {mutant.attack}")
