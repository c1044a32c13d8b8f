"""What an attack is, and what it found."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Say = Callable[[str], None]
"""Told how it goes, a line at a time."""


class Profile(StrEnum):
    """How much of it: minutes, an hour, a night."""

    QUICK = "quick"
    FULL = "full"
    SOAK = "soak"


@dataclass(frozen=True)
class Order:
    """How often an attack is to be made, and what chance is drawn from."""

    count: int
    seed: int
    say: Say
    patience: float = 1.0
    """What a promised time is multiplied by: 1 for a proof, more for a test on a busy machine."""


@dataclass
class Found:
    """What became of it. `violations` are sentences; none: the promise held."""

    count: int
    """How often it really struck."""
    violations: list[str] = field(default_factory=list[str])
    figures: dict[str, float] = field(default_factory=dict[str, float])
    """What else there is to tell: the longest wait, bytes that were shown."""
    open_items: list[str] = field(default_factory=list[str])
    """Sentences about what is known not to hold yet. They are told, and break no promise."""


class CannotTry(Exception):
    """This machine lacks what the attack needs."""


@dataclass(frozen=True)
class Attack:
    """`promise`: what people are told. `unit`: what the count counts."""

    name: str
    promise: str
    attack: str
    unit: str
    sizes: Mapping[Profile, int]
    play: Callable[[Order], Awaitable[Found]]
    alone: bool = False
    """It stops what others play on, or counts what a busy machine would spoil."""


@dataclass(frozen=True)
class Mutant:
    """A protection taken away, and whether the attack that needs it noticed."""

    name: str
    attack: str
    notice: Callable[[], Awaitable[bool]]
    alone: bool = False
    """Nothing else may run beside it: it changes this very process, stops what others play on, or
    counts seconds."""
