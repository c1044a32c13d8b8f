"""`just bench-long-work`: compactions, the advisor and titles, proven and counted.

Writes benchmarks/long-work.md and .json. `--only NAME …` measures some parts and keeps what other
runs have measured.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import orjson

from benchmarks.report import FOLDER, stamp, write_json, write_page
from holdfast.bootstrap import Server
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import RequestCompaction, Restore, SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId, Version
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import Text
from tests.integration.server.test_chat_texts import named
from tests.model.harness import on_postgres, run_steps
from tests.support.advising import TERMS, advised
from tests.support.builders import reply, system, user
from tests.support.database import migrated_template
from tests.support.long_work import working_cell
from tests.support.replica import Replicas, ask, replicas, replicas_apart
from tests.support.scripted import Hold, Usage, says
from tests.support.stage import staged
from tests.support.struck import SCENES, strike
from tests.support.struck_advice import AdviceTrial, strike_advice
from tests.support.watch_cost import measure
from tests.support.windowed import WINDOW_TOKENS, UnknownWindow, WorkingModel, tokens_of
from tests.support.world import World, fake_world
from tests.unit.turn.test_compaction import boundaries, summary_types, working

Figures = dict[str, float | int | str]

STEPS: Final = 300
STEPS_COUNTED: Final = 120
KILLS_MIN: Final = 300
ON_POSTGRES: Final = 5
"""Every so manieth boundary, a worker of real PostgreSQL ends as well."""
QUIET_CHATS: Final = 40
QUIET_TURNS: Final = 25
CONSTRAINTS: Final = 20
TITLED: Final = 500
SENDS: Final = 50
"""Under way at once: the server would refuse more to one user. The turns run all at once."""
SLACK: Final = 1.25
"""A first part is late if it comes later than any of a run without titles, and a quarter more."""
MODEL_STEPS: Final = 50_000
PROCESSES: Final = 2
MUTANT_SUITES: Final = (
    (
        "tests/model/test_mutants.py",
        "summar or decision_without or request_outlives or one_request or advice or plan or _mode",
    ),
    ("tests/unit/turn/test_compaction_mutants.py", ""),
    ("tests/integration/chats/test_chat_texts.py", "test_mutant"),
    ("tests/unit/turn/test_plan_mode.py", "mutants_are_caught"),
    ("tests/unit/turn/test_plan_mode_kills.py", "otherwise_is_seen"),
    ("tests/unit/turn/test_advisor_kills.py", "otherwise_is_seen"),
)


# A long turn, and what bounds it.


async def turn() -> Figures:
    """300 steps on a small window; readers on another replica, one from the middle of a summary."""
    model = WorkingModel(STEPS, hold=Hold())
    async with (
        migrated_template() as template,
        replicas(template) as cell,
        working_cell(cell, model) as here,
    ):
        done = await here.long_turn()
    wrong = done.wrong() + (["a prompt was refused"] if model.refused else [])
    assert not wrong, wrong
    return {
        "steps_in_one_turn": len(done.work.done),
        "window_tokens": WINDOW_TOKENS,
        "compactions": done.compactions,
        "order_violations": len(done.whole) + len(done.joined),
        "prompt_tokens_max": max(map(tokens_of, model.asked)),
    }


async def kills() -> Figures:
    """On the store in memory, at each boundary, again until there are enough."""
    struck, wrong = await _strike_all(fake_world, 1, KILLS_MIN)
    assert not wrong, wrong
    return {"boundary_kills": struck, "boundary_violations": len(wrong)}


def kills_on_postgres() -> Figures:
    with on_postgres() as (runner, world):
        struck, wrong = runner.run(_strike_all(lambda: world, ON_POSTGRES, 0))
    assert not wrong, wrong
    return {"boundary_kills_postgres": struck, "boundary_violations_postgres": len(wrong)}


async def _strike_all(
    a_world: Callable[[], World], every: int, at_least: int
) -> tuple[int, list[str]]:
    struck, wrong = 0, list[str]()
    while True:
        for scene in SCENES:
            whole = await strike(scene, a_world(), ends_at=0)
            wrong += whole.wrong
            for number in range(1, whole.boundaries + 1, every):
                trial = await strike(scene, a_world(), number)
                struck += trial.ended_at is not None
                wrong += trial.wrong
                if trial.summaries != whole.summaries:
                    wrong.append(f"{trial.summaries} summaries, {scene.name}")
        if struck >= at_least:
            return struck, wrong


async def bounds() -> Figures:
    """A prompt that no summary makes shorter, and one of ten times the window."""
    endless = WorkingModel(50, summary_bytes=24_000)
    async with working(endless) as stage:
        chat = await stage.turn(user("Go."))
    assert chat.status is Status.FAILED
    ratios: list[float] = []
    for model in (WorkingModel(12), UnknownWindow(12)):
        said = [user("hello"), reply("x" * 150_000)]
        said += [user(f"Question {n}: " + "y" * 17_000) for n in range(11)]
        async with working(model) as stage:
            chat = await stage.turn(*said, user("Do the steps."))
        assert chat.status is Status.IDLE, chat.error
        texts = (part.text for body in said for part in body.parts if isinstance(part, Text))
        ratios.append(sum(len(text) // 4 for text in texts) / WINDOW_TOKENS)
    return {"irreducible_calls": endless.summaries, "rescued_ratio": round(min(ratios), 1)}


async def kept() -> Figures:
    """What a person asked for, after at least five compactions; and the prompt after an undo."""
    wanted = [f"Constraint {n}: keep the word «{n * 7919}»" for n in range(1, CONSTRAINTS + 1)]
    async with working(WorkingModel(180)) as stage:
        chat = await stage.turn(user("\n".join(["Do all the steps.", *wanted])))
        found = boundaries(await stage.history(chat))
        last = found[-1].body.parts[0]
    assert isinstance(last, Text)
    assert len(found) >= 5, len(found)
    return {
        "constraints_planted": CONSTRAINTS,
        "constraints_kept": sum(line in last.text for line in wanted),
        "constraints_compactions": len(found),
        "undo_prompt_equal": int(await _is_equal_after_undo()),
    }


async def _is_equal_after_undo() -> bool:
    scripts = says("hi", usage=Usage(input=100)), says("Summary."), says("Undone.")
    async with staged(*scripts, window=WINDOW_TOKENS) as stage:
        chat = await stage.turn(system("be brief"), user("hello"))
        await stage.world.do(chat.chat_id, RequestCompaction())
        chat = await stage.drive(await stage.again(chat))
        (boundary,) = boundaries(await stage.history(chat))
        await stage.world.do(chat.chat_id, Restore(Version(boundary.revision - 1)))
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        first, asked, again = stage.models.asked
    same = asked.history[:2] == first.history and again.history[:3] == asked.history[:3]
    return same and (again.system, again.tools) == (first.system, first.tools)


# What they cost.


async def quiet() -> Figures:
    told = sum([await _told_below_threshold() for _ in range(QUIET_CHATS)])
    return {"below_threshold_turns": QUIET_CHATS * QUIET_TURNS, "below_threshold_events": told}


async def _told_below_threshold() -> int:
    """Commits and live parts of compactions in one chat that needs none."""
    async with staged(*[says("Hi.")] * QUIET_TURNS, window=200_000) as stage:
        chat = await stage.turn(user())
        for number in range(QUIET_TURNS - 1):
            await stage.world.do(chat.chat_id, SendMessage(user(f"more {number}")))
            chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        more = stage.store.calls["commit"] - QUIET_TURNS
        return more + len(summary_types(stage)) + stage.counters.compactions


async def statements() -> Figures:
    """Of a plain turn, on the wire: those of driving it, and all from the message to idle; and what
    a turn with compactions has more than one without."""
    async with migrated_template() as template:
        plain = (await measure(template, "redis", readers=(0,), turns=20))[0]
        counts: list[int] = []
        compactions = 0
        async with replicas(template) as cell:
            for window in (WINDOW_TOKENS, 1_000_000):
                model = WorkingModel(STEPS_COUNTED, window=window)
                async with working_cell(cell, model) as here:
                    done = await here.long_turn(late=False)
                assert not done.wrong(), done.wrong()
                counts.append(done.commits_and_reads)
                compactions += done.compactions
    of_worker = plain.by_name - plain.speaking - plain.reading
    driven = of_worker.total() - of_worker["acquire_chats"]
    return {
        "statements_plain_turn": round(driven / plain.turns, 2),
        "statements_from_send_to_idle": max(plain.per_turn),
        "statements_compaction": round((counts[0] - counts[1]) / compactions, 2),
    }


# The advisor.


def advisor() -> Figures:
    """A turn that asks six times with a cap of two, whose worker ends at each boundary."""
    trials = asyncio.run(_strike_advice_all(fake_world, 1, KILLS_MIN))
    with on_postgres() as (runner, world):
        stored = runner.run(_strike_advice_all(lambda: world, ON_POSTGRES, 0))
    wrong = [each for trial in (*trials, *stored) for each in trial.wrong]
    assert not wrong, wrong
    return {
        "advisor_takeovers": _ended(trials),
        "advisor_takeovers_in_mid_advice": sum(trial.in_mid_advice for trial in trials),
        "advisor_takeovers_postgres": _ended(stored),
        "advisor_uses_over_cap": sum(trial.over_cap for trial in (*trials, *stored)),
        "advisor_violations": len(wrong),
        "advisor_store_calls_in_plain_turns": asyncio.run(_store_calls_added()),
    }


async def _strike_advice_all(
    a_world: Callable[[], World], every: int, at_least: int
) -> list[AdviceTrial]:
    trials: list[AdviceTrial] = []
    while True:
        whole = await strike_advice(a_world(), ends_at=0)
        trials.append(whole)
        numbers = range(1, whole.boundaries + 1, every)
        trials += [await strike_advice(a_world(), number) for number in numbers]
        if _ended(trials) >= at_least:
            return trials


def _ended(trials: Sequence[AdviceTrial]) -> int:
    return sum(trial.ended_at is not None for trial in trials)


async def _store_calls_added() -> int:
    """By an advisor that is on, to turns that do not ask it."""
    counts: list[int] = []
    for terms in (TERMS, None):
        async with advised(*[says("Hi.")] * QUIET_TURNS, terms=terms) as here:
            chat = await here.stage.turn()
            for number in range(QUIET_TURNS - 1):
                await here.stage.world.do(chat.chat_id, SendMessage(user(f"more {number}")))
                found = await here.stage.world.load(chat.chat_id)
                chat = await here.stage.drive(await here.stage.again(found))
            counts.append(sum(here.stage.store.calls.values()))
    return counts[0] - counts[1]


# Titles.


async def titles() -> Figures:
    """First messages of many chats at once: without titles, with a title model that hangs, and
    without again."""
    took: list[list[float]] = []
    hung = 0
    async with migrated_template() as template, replicas_apart(template) as cell:
        for mode in ("off", "titles", "off"):
            times, asked = await _first_parts(cell, mode)
            print(f"titles {mode}: the slowest after {times[-1]:.1f} s", flush=True)
            took.append(times)
            hung = max(hung, asked)
    limit_s = max(took[0][-1], took[2][-1]) * SLACK
    return {
        "title_turns": TITLED,
        "title_turns_delayed": sum(each > limit_s for each in took[1]),
        "title_calls_hanging": hung,
        **{
            f"title_first_part_{name}_s{without}": round(times[int(len(times) * share)], 2)
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
            for without, times in (
                ("", took[1]),
                ("_without", took[0]),
                ("_without_again", took[2]),
            )
        },
    }


async def _first_parts(cell: Replicas, mode: str) -> tuple[list[float], int]:
    hold, gate = Hold(), asyncio.Semaphore(SENDS)
    async with named(cell, lambda _: [hold, *says("Too late")], mode=mode) as here:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_first_part(here.api, n, gate)) for n in range(TITLED)]
        return sorted(task.result() for task in tasks), len(here.namer.asked)


async def _first_part(server: Server, number: int, gate: asyncio.Semaphore) -> float:
    async with gate:
        began_s = time.monotonic()
        chat = await _asked(server, user(f"Chat {number}"))
    await _until_told(server, chat.chat_id)
    return time.monotonic() - began_s


async def _asked(server: Server, message: MessageBody) -> Chat:
    """As a client does it: a database that is too busy to answer is asked again."""
    while True:
        with suppress(Unavailable):
            return await ask(server, message)


async def _until_told(server: Server, chat_id: ChatId) -> None:
    """Until the reader sees the first words; one whom a busy server refuses comes again."""
    while True:
        with suppress(Unavailable):
            if await _is_told(server, chat_id):
                return


async def _is_told(server: Server, chat_id: ChatId) -> bool:
    """As a part, or in a reply that is stored by then."""
    assert server.hub is not None
    async with server.hub.follow(chat_id, None) as events:
        async for event in events:
            if event.kind is EventType.PREVIEW_DELTA:
                return True
            data = orjson.loads(event.data)
            if event.kind is EventType.MESSAGE_CREATED and data["role"] == "assistant":
                return True
    return False


# The model test, and mutants.


def model() -> Figures:
    """Orders of events on PostgreSQL; a violation ends the run with its reason."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        share = -(-MODEL_STEPS // PROCESSES)
        steps = list(pool.map(_steps_of, range(PROCESSES), [share] * PROCESSES))
    return {"model_steps": sum(steps), "model_violations": 0}


def _steps_of(shard: int, steps_min: int) -> int:
    return run_steps(shard, steps_min)


def mutants() -> Figures:
    found = {"passed": 0, "failed": 0}
    for path, words in MUTANT_SUITES:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "0", "--tb=line", "-k", words, path],
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.splitlines()[-1]
        for number, kind in re.findall(r"(\d+) (passed|failed)", said):
            found[kind] += int(number)
    return {"mutants_total": sum(found.values()), "mutants_killed": found["passed"]}


# The page.


def _run(measured: Callable[[], Awaitable[Figures]]) -> Callable[[], Figures]:
    async def run() -> Figures:
        return await measured()

    return lambda: asyncio.run(run())


@dataclass(frozen=True)
class Part:
    name: str
    measured: Callable[[], Figures]


PARTS: Final = (
    Part("turn", _run(turn)),
    Part("kills", _run(kills)),
    Part("postgres", kills_on_postgres),
    Part("bounds", _run(bounds)),
    Part("kept", _run(kept)),
    Part("quiet", _run(quiet)),
    Part("statements", _run(statements)),
    Part("advisor", advisor),
    Part("titles", _run(titles)),
    Part("mutants", mutants),
    Part("model", model),
)


def write() -> None:
    figures: Figures = orjson.loads((FOLDER / "long-work.json").read_bytes())
    rows = "".join(f"| `{name}` | {value} |\n" for name, value in figures.items())
    page = (FOLDER / "long-work.template.md").read_text(encoding="utf-8")
    write_page("long-work", page.format(stamp=stamp(), rows=rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [part.name for part in PARTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    given = parser.parse_args()
    for part in PARTS:
        if part.name in given.only:
            began_s = time.monotonic()
            figures = part.measured()
            print(f"{part.name}: {figures}, {time.monotonic() - began_s:.0f} s", flush=True)
            write_json("long-work", figures)
    write()


if __name__ == "__main__":
    main()
