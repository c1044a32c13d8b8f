"""Every attack there is, with the promise that it tries to break and how often it is made."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast_agent.sandbox.bubblewrap import Ground
from holdfast_lab.chaos.attack import Attack, CannotTry, Found, Order, Profile
from holdfast_lab.chaos.faults.clocks import jumps
from holdfast_lab.chaos.faults.database import answers, crashes
from holdfast_lab.chaos.faults.fleet import dump, heads, primaries, sqlstates, unreadable
from holdfast_lab.chaos.faults.injections.campaign import INJECTIONS, plant
from holdfast_lab.chaos.faults.limits import connections, disk, flood, whales
from holdfast_lab.chaos.faults.models.campaign import fail
from holdfast_lab.chaos.faults.network import in_netns as abroad
from holdfast_lab.chaos.faults.network import storms, weather
from holdfast_lab.chaos.faults.permissions.matrix import cross
from holdfast_lab.chaos.faults.sandbox.wall import open_wall
from holdfast_lab.chaos.faults.streams import campaign as streams
from holdfast_lab.chaos.faults.streams.stalled import stall
from holdfast_lab.chaos.faults.streams.without import lose_bus
from holdfast_lab.chaos.faults.tools import campaign as commands
from holdfast_lab.chaos.faults.workers import campaign as turns
from holdfast_lab.chaos.faults.workers import interrupts
from holdfast_lab.chaos.faults.workers.trials import Blow
from holdfast_lab.chaos.harness.cluster import theatre

SCENES_MAX: Final = 20
TAKEOVER_MAX_S: Final = {"kill": 12.0, "term": 1.0}
ESCAPES: Final = 60
WAYS_IN: Final = 448


def sizes(quick: int, full: int, soak: int) -> Mapping[Profile, int]:
    return {Profile.QUICK: quick, Profile.FULL: full, Profile.SOAK: soak}


async def kill(order: Order) -> Found:
    return await _strike(order, "kill")


async def freeze(order: Order) -> Found:
    return await _strike(order, "freeze")


async def ask_to_leave(order: Order, mutant: str | None = None, **settings: Any) -> Found:
    return await _strike(order, "term", mutant, **settings)


async def _strike(order: Order, blow: Blow, mutant: str | None = None, **settings: Any) -> Found:
    tasks = turns.tasks_of(order.seed, **{blow: order.count})
    async with theatre() as stage:
        scenes = min(SCENES_MAX, order.count)
        done = await turns.run(
            stage, tasks, scenes, say=order.say, mutant=mutant, settings=settings
        )
    times = done.takeovers(blow)
    figures = {"takeover_max_s": round(max(times), 2), "continued": done.total("continued")}
    found = Found(done.struck(blow), done.wrong(), figures)
    limit = TAKEOVER_MAX_S.get(blow)
    if limit is not None and max(times) > limit * order.patience:
        found.violations.append(f"taken over after {max(times):.2f} s, {limit:.0f} s at most")
    return found


async def interrupt(order: Order) -> Found:
    swept = await interrupts.sweep(order.count, order.say)
    return Found(swept.chats, swept.wrong, {"bytes_shown": swept.bytes_shown})


async def watch(order: Order) -> Found:
    total = await streams.watch_all(order.count, order.seed, order.say)
    wrong = list(total.wrong)
    if total.resets:
        wrong.append(f"{total.resets} readers were told to begin anew")
    return Found(total.events, wrong, {"connections": total.connections, "turns": total.turns})


async def strike_commands(order: Order) -> Found:
    return commands.found(await commands.strike_servers(order), "kill", "term")


async def strike_agents(order: Order) -> Found:
    return commands.found(await commands.strike_agents(order), "agent")


async def stop_trees(order: Order) -> Found:
    stops = await commands.stop_trees(order)
    longest = max(stops.times_s, default=0.0)
    return Found(len(stops.times_s), stops.wrong, {"longest_s": round(longest, 2)})


async def escape(order: Order) -> Found:
    async with open_wall() as wall:
        if not isinstance(wall.ground, Ground):
            raise CannotTry(str(wall.ground))
        report = await wall.check()
    if not report.attacks:
        raise CannotTry(report.escapes[0])  # no wall can be built here; it would be refused
    few = [f"only {report.attacks} were tried"] if report.attacks < order.count else []
    return Found(report.attacks, [*report.escapes, *few])


ATTACKS: Final = (
    Attack(
        "kills",
        "After a crash the work goes on by itself, and none of it is lost.",
        "SIGKILL of the worker before and after every statement, effect and live part of a turn",
        "workers killed",
        sizes(24, 1060, 10_000),
        kill,
    ),
    Attack(
        "zombies",
        "A server that was frozen or cut off cannot overwrite newer work.",
        "SIGSTOP at every boundary; woken in the middle of its successor's turn",
        "workers frozen and woken",
        sizes(20, 1060, 10_000),
        freeze,
    ),
    Attack(
        "hand-overs",
        "A worker that is told to stop hands its work over within a second.",
        "SIGTERM at every boundary",
        "workers asked to leave",
        sizes(12, 210, 2_000),
        ask_to_leave,
        alone=True,
    ),
    Attack(
        "interrupts",
        "Stop ends the turn, and keeps the text that readers saw.",
        "interrupts at every part, in tools, and together with the death of the worker",
        "chats interrupted",
        sizes(1, 4, 40),
        interrupt,
    ),
    Attack(
        "streams",
        "Every reader gets every word once, in order.",
        "connections cut at random, all at once, and in the middle of an event; workers, replicas"
        " and the bus killed; 97-byte slices",
        "events checked",
        sizes(6_000, 110_000, 1_000_000),
        watch,
        alone=True,
    ),
    Attack(
        "bus loss",
        "The loss of the bus loses no stored data.",
        "the bus, on Redis and on PostgreSQL, emptied, paused, restarted and taken away in a turn",
        "turns disturbed",
        sizes(1, 20, 200),
        lose_bus,
        alone=True,
    ),
    Attack(
        "slow readers",
        "A slow reader has a bounded memory cost and does not delay others.",
        "readers that ask for long answers and never read them",
        "readers stalled",
        sizes(1, 10, 100),
        stall,
        alone=True,
    ),
    Attack(
        "database crashes",
        "An accepted message is never lost.",
        "immediate stops of PostgreSQL while users send messages",
        "crashes",
        sizes(6, 200, 2_000),
        crashes.crash,
        alone=True,
    ),
    Attack(
        "lost answers",
        "An accepted message is stored once.",
        "the answer to a commit is lost after it was made, for people and for workers",
        "answers lost",
        sizes(300, 10_000, 100_000),
        answers.lose,
    ),
    Attack(
        "commands",
        "A command runs exactly once, and its whole output is in the history.",
        "SIGKILL and SIGTERM of the server at every boundary around a running command",
        "servers struck",
        sizes(6, 200, 2_000),
        strike_commands,
    ),
    Attack(
        "agents",
        "A command whose outcome is unknown is not run again, and the chat says so.",
        "SIGKILL of the workspace's agent while a command runs",
        "agents killed",
        sizes(2, 20, 200),
        strike_agents,
    ),
    Attack(
        "process trees",
        "Nothing of a stopped command is alive five seconds later.",
        "interrupts of trees that fork twice, leave their session and ignore signals",
        "trees stopped",
        sizes(6, 100, 1_000),
        stop_trees,
    ),
    Attack(
        "escapes",
        "With bubblewrap, a command cannot leave its sandbox.",
        "attacks on the sandbox, from within",
        "ways out tried",
        sizes(ESCAPES, ESCAPES, ESCAPES),
        escape,
    ),
    Attack(
        "partitions",
        "A server that is cut off delays no other, and overwrites nothing when it is back.",
        "links of workers to the database, and of replicas to the bus and the database, taken down"
        " in the middle of a turn and mended in the middle of the successor's",
        "links cut",
        sizes(5, 100, 1_000),
        abroad.partition,
    ),
    Attack(
        "bad lines",
        "A bad connection costs time, and nothing else.",
        "connections to the database, the bus and the readers made slow, cut into slices of seven"
        " bytes,"
        " dead for a while, and cut in the middle of an answer",
        "troubles",
        sizes(12, 1_200, 12_000),
        weather.trouble,
    ),
    Attack(
        "storms",
        "Readers that reconnect all at once do not delay others.",
        "hundreds of readers cut off at once and back at once, in the middle of answers",
        "connections lost",
        sizes(600, 20_000, 200_000),
        storms.storm,
        alone=True,
    ),
    Attack(
        "clock jumps",
        "A wrong clock neither takes a chat from its worker nor keeps one.",
        "wall clocks of workers and replicas that jump by hours and drift in the middle of turns",
        "jumps",
        sizes(12, 1_000, 10_000),
        jumps.jump,
    ),
    Attack(
        "full disks",
        "A message that cannot be stored is refused.",
        "the disk of PostgreSQL's data, and that of its log, filled while users send messages",
        "disks filled",
        sizes(2, 40, 400),
        disk.fill,
    ),
    Attack(
        "used-up connections",
        "A request that cannot be served is refused soon.",
        "locks that every statement waits for, and every connection of the server taken by others",
        "times used up",
        sizes(2, 40, 400),
        connections.exhaust,
        alone=True,
    ),
    Attack(
        "whales",
        "One member's large chats delay no other member, and cost no more than their bound.",
        "full queues of messages of a megabyte that wait for a worker, and a history of 200 such"
        " messages, beside 40 chats of others",
        "whales",
        sizes(2, 12, 24),
        whales.swim,
        alone=True,
    ),
    Attack(
        "one floods",
        "One person's flood keeps no other person waiting.",
        "one person with more chats than a search looks at, who searches for a word that is nowhere"
        " with forty clients at once and opens too many streams, while nine others list and talk",
        "rounds of work beside it",
        sizes(2, 20, 200),
        flood.flood,
        alone=True,
    ),
    Attack(
        "borders",
        "A user can neither read nor change what belongs to others.",
        "every route, asked by a colleague, another organisation's admin, a key that may only read,"
        " keys that expired or were revoked, and no credential",
        "ways in tried",
        sizes(WAYS_IN, WAYS_IN, WAYS_IN),
        cross,
    ),
    Attack(
        "planted instructions",
        "What a model reads in files, tool results and web pages makes nothing leave its workspace"
        " without a person's click.",
        "a hostile repository, web page and ticket, and a model that does what they say: send a"
        " secret, write a hook, write outside, approve itself",
        "instructions",
        sizes(INJECTIONS, INJECTIONS, INJECTIONS),
        plant,
        alone=True,
    ),
    Attack(
        "failing models",
        "A failing model is asked again or named; text and cost of each reply are stored once.",
        "every fault of the simulator on every wire, once and at every attempt, in whole turns",
        "turns with a fault",
        sizes(24, 420, 4_200),
        fail,
    ),
    Attack(
        "changing primaries",
        "After a failover the server goes on by itself.",
        "the endpoint of the database led to a read-only standby and back, and to a promoted one;"
        " where chats have a stamp, also to one that had not received the last commits, with"
        " readers that had seen them",
        "changes of primary",
        sizes(2, 30, 300),
        primaries.change,
        alone=True,
    ),
    Attack(
        "unreadable rows",
        "A row that cannot be read harms its own chat only.",
        "messages, queued messages, waits and calls of a newer version, in the batches of healthy"
        " chats",
        "rows that cannot be read",
        sizes(8, 200, 2_000),
        unreadable.set_aside,
    ),
    Attack(
        "refused statements",
        "No error of the database ends a process.",
        "the statements of a server, in its loops and for people, and its connections, refused with"
        " an error of every SQLSTATE class; a worker whose commits alone are refused",
        "statements refused",
        sizes(300, 6_000, 60_000),
        sqlstates.refuse,
        alone=True,
    ),
    Attack(
        "migrations",
        "A migration stops no statement for longer than two seconds.",
        "`holdfast db migrate` beside a transaction that has read every chat and stays open",
        "migrations beside a dump",
        sizes(1, 20, 200),
        dump.migrate_beside,
    ),
    Attack(
        "endless heads",
        "A client without a credential cannot fill the memory of a process.",
        "100 MB of headers, addresses and trailers without an end, and many connections that send"
        " nothing",
        "times",
        sizes(5, 50, 500),
        heads.send_heads,
        alone=True,
    ),
)
