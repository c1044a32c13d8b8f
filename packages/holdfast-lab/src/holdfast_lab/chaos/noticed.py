"""Protections taken away, one at a time: the attack that needs each must notice.

An attack that finds nothing proves nothing until it has been seen to find something.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from holdfast.adapters.postgres.pool import BoundedPool
from holdfast.adapters.postgres.shares import Shares
from holdfast.stream.hub import Hub
from holdfast_agent.sandbox.bubblewrap import Bubblewrap, Ground
from holdfast_agent.sandbox.check import CannotAttack
from holdfast_lab.chaos.attack import CannotTry, Found, Mutant, Order
from holdfast_lab.chaos.attacks import ask_to_leave
from holdfast_lab.chaos.faults.clocks import jumps
from holdfast_lab.chaos.faults.database import answers, crashes
from holdfast_lab.chaos.faults.database.behind import answering_first
from holdfast_lab.chaos.faults.database.hopeful import hoping
from holdfast_lab.chaos.faults.fleet.noticed import fleet_mutants
from holdfast_lab.chaos.faults.injections.noticed import injection_mutants
from holdfast_lab.chaos.faults.limits import connections, disk, flood, whales
from holdfast_lab.chaos.faults.models.campaign import fail
from holdfast_lab.chaos.faults.models.documented import documented
from holdfast_lab.chaos.faults.network import weather
from holdfast_lab.chaos.faults.network.in_netns import play_abroad
from holdfast_lab.chaos.faults.network.storms import ONE_OF_EACH, storm_on
from holdfast_lab.chaos.faults.permissions.matrix import cross
from holdfast_lab.chaos.faults.permissions.unguarded import NOTICED_BY, UNGUARDED, unguarded
from holdfast_lab.chaos.faults.sandbox.breached import MUTANTS as BREACHES
from holdfast_lab.chaos.faults.sandbox.breached import attacked_through
from holdfast_lab.chaos.faults.sandbox.wall import open_wall
from holdfast_lab.chaos.faults.streams import needless, stalled, without
from holdfast_lab.chaos.faults.streams.cell import QUICK, Run, cell
from holdfast_lab.chaos.faults.streams.stalled import QUIET
from holdfast_lab.chaos.faults.tools import stopping
from holdfast_lab.chaos.faults.tools import trials as commands
from holdfast_lab.chaos.faults.workers import interrupts, trials
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.mutants import instead_of, nothing

TURNS: Final[dict[str, tuple[trials.Blow, str, str]]] = {
    "no fence": ("freeze", "before commit", "a zombie wrote"),
    "tools re-run blindly": ("kill", "after the effect of record_once", "once ran"),
    "publish before commit": ("kill", "before commit", "the reader's history is not"),
    "words made anew": ("kill", "before append", "was shown and taken back"),
}
PARTS_SHOWN: Final = 3
"""Before the worker dies, so that there is something to take back."""
COMMANDS: Final[dict[str, tuple[commands.Blow, str, str]]] = {
    "stopped on hand-over": ("term", "after agent look", "not done to its end"),
    "no key": ("kill", "after agent start", "done twice"),
}
MODELS: Final = {"half replies": "0 retries", "a running bill": "tokens are noted"}


def mutants() -> list[Mutant]:
    return [
        *(Mutant(name, "kills and zombies", _turn(name)) for name in TURNS),
        Mutant("parts only in memory", "interrupts", _interrupt),
        Mutant("subscribe after snapshot", "streams", _stream),
        Mutant("no idempotency key", "lost answers", _answers),
        *(Mutant(name, "commands", _command(name)) for name in COMMANDS),
        Mutant("no tombstone", "commands", _tombstone),
        *(Mutant(f"wall: {name}", "escapes", _wall(name)) for name in BREACHES),
        Mutant("no fence, cut off", "partitions", _cut_off),
        Mutant("no resume", "bad lines", _bad_lines),
        Mutant("each for itself", "storms", _storm),
        Mutant("leases by one's own clock", "clock jumps", _clock),
        Mutant("taken without being stored", "full disks", _hopeful),
        Mutant("heartbeat in the pool", "used-up connections", _starved, alone=True),
        Mutant("no places for people", "one floods", _no_places, alone=True),
        Mutant("no end to streams", "one floods", _no_end_to_streams, alone=True),
        Mutant("no end to waiting", "used-up connections", _endless, alone=True),
        Mutant("bodies in the facts", "whales", _whales, alone=True),
        *(Mutant(name, "borders", _border(name), alone=True) for name in UNGUARDED),
        *(Mutant(name, "failing models", _failing(name)) for name in MODELS),
        Mutant("no hand-over", "hand-overs", _hand_over, alone=True),
        Mutant("no safety poll", "bus loss", _bus, alone=True),
        Mutant("all is kept for readers", "slow readers", _readers),
        Mutant("answered before it is stored", "database crashes", _database, alone=True),
        Mutant("unknown is tried again", "agents", _agent),
        Mutant("only the first process", "process trees", _tree),
        *fleet_mutants(),
        *injection_mutants(),
    ]


def _turn(name: str) -> Callable[[], Awaitable[bool]]:
    blow, boundary, noticed = TURNS[name]

    async def notice() -> bool:
        async with theatre() as stage, trials.scene(stage, "redis", name) as place:
            number = PARTS_SHOWN + 1 if boundary == "before append" else 1
            verdict = await trials.play(place, blow, number, wake_at=4, name=boundary)
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
            try:
                attacked = await attacked_through(wall, BREACHES[name])
            except CannotAttack as why:
                raise CannotTry(str(why)) from None
            return bool(attacked.escapes)

    return notice


@asynccontextmanager
async def _standing() -> AsyncGenerator[Bubblewrap]:
    async with open_wall() as wall:
        if not isinstance(wall.ground, Ground):
            raise CannotTry(str(wall.ground))
        yield wall


async def _cut_off() -> bool:
    found = await play_abroad("unfenced", Order(1, 1, _quietly))
    return any("a zombie wrote" in sentence for sentence in found.violations)


async def _bad_lines() -> bool:
    found = Found(0)
    async with theatre() as stage:
        await weather.trouble_on(stage, "redis", Order(4, 1, _quietly), found, "no resume")
    return any("begin anew" in sentence for sentence in found.violations)


async def _storm() -> bool:
    found, order = Found(0), Order(1, 1, _quietly)
    async with theatre() as stage, cell(stage, "redis", ONE_OF_EACH, "each for itself") as place:
        await storm_on(place, 1, order, found)
    return any("reads for each" in sentence for sentence in found.violations)


async def _clock() -> bool:
    found = await jumps.jump(Order(12, 1, _quietly), "leases by one's own clock")
    return any("taken over from" in sentence for sentence in found.violations)


async def _hopeful() -> bool:
    found = await disk.fill(Order(1, 1, _quietly), hoping)
    return any("taken messages lost" in sentence for sentence in found.violations)


async def _starved() -> bool:
    found = await connections.exhaust(Order(1, 1, _quietly), "heartbeat in the pool")
    return any("lost their lease" in sentence for sentence in found.violations)


async def _endless() -> bool:
    with instead_of(BoundedPool, "acquire", asyncpg.Pool.acquire):
        found = await connections.exhaust(Order(1, 1, _quietly))
    return any("only after" in sentence for sentence in found.violations)


async def _whales() -> bool:
    found = await whales.swim(Order(1, 1, _quietly), "bodies in the facts")
    return any("of the queue of a whale" in sentence for sentence in found.violations)


async def _no_places() -> bool:
    with instead_of(Shares, "enter", nothing):
        found = await flood.flood(Order(1, 1, _quietly))
    return any("statements of one person at once" in said for said in found.violations)


async def _no_end_to_streams() -> bool:
    found = await flood.flood(Order(1, 1, _quietly), streams_per_user_max=0, streams_per_chat_max=0)
    return any("streams of one person are open" in said for said in found.violations)


def _border(name: str) -> Callable[[], Awaitable[bool]]:
    actor = NOTICED_BY.get(name, "colleague")

    async def notice() -> bool:
        with unguarded(name):
            found = await cross(Order(1, 1, _quietly), only=actor)
        return any(f"{actor} on" in sentence for sentence in found.violations)

    return notice


def _failing(name: str) -> Callable[[], Awaitable[bool]]:
    async def notice() -> bool:
        rows = [row for row in documented() if (row.fault, row.wire) == ("eof-mid", "chat")]
        found = await fail(Order(1, 1, _quietly), rows, name)
        return any(MODELS[name] in sentence for sentence in found.violations)

    return notice


async def _hand_over() -> bool:
    found = await ask_to_leave(Order(1, 1, _quietly), "no hand-over", **QUICK)
    return any("taken over after" in sentence for sentence in found.violations)


async def _bus() -> bool:
    found = Found(0)
    async with theatre() as stage, cell(stage, "redis", without.ONE_OF_EACH) as place:
        usual = await needless.play(place, needless.nothing)
        with instead_of(Hub, "_poll", nothing):
            await without.take_away(place, usual, found)
    return any("never told" in sentence for sentence in found.violations)


async def _readers() -> bool:
    mutant = "all is kept for readers"
    async with theatre() as stage, cell(stage, "redis", QUIET, mutant) as place:
        _, cost = await stalled.measure_alone(place)
    return any("that never reads costs" in sentence for sentence in stalled.wrong_with(cost))


async def _database() -> bool:
    found = await crashes.crash(Order(1, 1, _quietly), answering_first)
    return any("taken messages lost" in sentence for sentence in found.violations)


async def _agent() -> bool:
    mutant, boundary = "unknown is tried again", "after agent look"
    async with theatre() as stage, commands.place(stage, "postgres", mutant) as scene:
        verdict = await commands.play(scene, "agent", 3, step_s=0.2, name=boundary)
    return any("done twice" in sentence for sentence in verdict.wrong)


async def _tree() -> bool:
    stops, mutant = stopping.Stops(), "only the first process"
    async with theatre() as stage, commands.place(stage, "postgres", mutant) as scene:
        scene.kill_agents()  # a sound one; the next is started by a server with the mutant
        scene.successor.tell(do="open")
        await stopping.interrupt_tree(scene, "a session of its own", stops)
    return any("alive after" in sentence for sentence in stops.wrong)


def _quietly(_said: str) -> None:
    pass
