"""Protections taken away, one at a time: the attack that needs each must notice.

An attack that finds nothing proves nothing until it has been seen to find something.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from holdfast.agent.sandbox.bubblewrap import Bubblewrap, Ground
from holdfast.prove.attack import CannotTry, Mutant, Order
from holdfast.prove.commits import answers
from holdfast.prove.hands import stopping
from holdfast.prove.hands import trials as commands
from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams.cell import Run, cell
from holdfast.prove.streams.stalled import QUIET
from holdfast.prove.turns import interrupts, trials
from holdfast.prove.walls.breached import MUTANTS as BREACHES
from holdfast.prove.walls.breached import attacked_through
from holdfast.prove.walls.wall import open_wall

TURNS: Final[dict[str, tuple[trials.Blow, str, str]]] = {
    "no fence": ("freeze", "before commit", "a zombie wrote"),
    "tools re-run blindly": ("kill", "after the effect of record_once", "once ran"),
    "publish before commit": ("kill", "before commit", "the reader's history is not"),
}
COMMANDS: Final[dict[str, tuple[commands.Blow, str, str]]] = {
    "stopped on hand-over": ("term", "after agent look", "not done to its end"),
    "no key": ("kill", "after agent start", "done twice"),
}


def mutants() -> list[Mutant]:
    return [
        *(Mutant(name, "kills and zombies", _turn(name)) for name in TURNS),
        Mutant("parts only in memory", "interrupts", _interrupt),
        Mutant("subscribe after snapshot", "streams", _stream),
        Mutant("no idempotency key", "lost answers", _answers),
        *(Mutant(name, "commands", _command(name)) for name in COMMANDS),
        Mutant("no tombstone", "commands", _tombstone),
        *(Mutant(f"wall: {name}", "escapes", _wall(name)) for name in BREACHES),
    ]


def _turn(name: str) -> Callable[[], Awaitable[bool]]:
    blow, boundary, noticed = TURNS[name]

    async def notice() -> bool:
        async with theatre() as stage, trials.scene(stage, "redis", name) as place:
            verdict = await trials.play(place, blow, 1, wake_at=4, name=boundary)
        return any(noticed in sentence for sentence in verdict.wrong)

    return notice


async def _interrupt() -> bool:
    found = interrupts.Sweep()
    async with theatre() as stage, trials.scene(stage, "redis", "parts only in memory") as place:
        victim = await stage.engage("victim", place.settings)
        await interrupts.interrupt_and_kill(place, victim, 4, found)
    return found.bytes_lost > 0


async def _stream() -> bool:
    mutant = "subscribe after snapshot"
    async with theatre() as stage, cell(stage, "redis", QUIET, mutant) as place:
        tally = await Run(place, QUIET).play()
    return tally.missing > 0


async def _answers() -> bool:
    found = await answers.lose(Order(20, 1, _quietly), forgets_keys=True)
    return any("are there" in sentence for sentence in found.violations)


def _command(name: str) -> Callable[[], Awaitable[bool]]:
    blow, boundary, noticed = COMMANDS[name]

    async def notice() -> bool:
        async with theatre() as stage, commands.place(stage, "postgres", name) as scene:
            verdict = await commands.play(scene, blow, 1, step_s=0.5, name=boundary)
        return any(noticed in sentence for sentence in verdict.wrong)

    return notice


async def _tombstone() -> bool:
    async with theatre() as stage, commands.place(stage, "postgres", "no tombstone") as scene:
        return await stopping.frozen_before_the_start(scene) != []


def _wall(name: str) -> Callable[[], Awaitable[bool]]:
    async def notice() -> bool:
        async with _standing() as wall:
            return bool((await attacked_through(wall, BREACHES[name])).escapes)

    return notice


@asynccontextmanager
async def _standing() -> AsyncGenerator[Bubblewrap]:
    async with open_wall() as wall:
        if not isinstance(wall.ground, Ground):
            raise CannotTry(str(wall.ground))
        yield wall


def _quietly(_said: str) -> None:
    pass
