"""What else `holdfast lab bench` measures: added latency, idle readers, growth, a soak."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import asyncpg
import orjson
import pytest

from holdfast_lab.bench.direct import DirectRun
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import LoadRun, Target
from holdfast_lab.bench.visits import VisitRun
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli
from tests.support.waits import HANG_S
from tests.support.web import OUR_ORIGIN, a_cell, uuid_of
from tests.support.workers import until

MINUTES = pytest.mark.timeout(240)


async def figures_of(folder: Path, *command: str) -> tuple[dict[str, Any], str]:
    """The figures of a run that ended well, and its page."""
    figures, page = folder / "bench.json", folder / "bench.html"
    options = ("--json", str(figures), "--html", str(page))
    async with Cli(folder).started("lab", "bench", *command, *options) as process:
        out, err = await process.communicate()
    assert process.returncode == 0, out.decode() + err.decode()
    return orjson.loads(figures.read_bytes()), page.read_text()


@pytest.mark.nightly
@MINUTES
@pytest.mark.requirement("F28")
async def test_what_is_added_to_an_answer_is_ours_less_the_simulators(tmp_path: Path) -> None:
    small = ("--streams", "3", "--words", "20", "--turns", "2", "--rounds", "1")
    found, page = await figures_of(tmp_path, "latency", *small)

    times = found["times_ms"]
    for what in ("first_part", "gap"):
        ours, bare = times["through"][what], times["direct"][what]
        assert found[f"added_{what}_median_ms"] == pytest.approx(
            ours["p50"] - bare["p50"], abs=0.01
        )
        assert found[f"added_{what}_p99_ms"] == pytest.approx(ours["p99"] - bare["p99"], abs=0.01)
    assert found["turns"] == 6
    # 30 words a second, as asked: half of that or twice it would be something else.
    assert 22 < times["direct"]["gap"]["p50"] < 50
    assert page.count("<svg") == 4


@pytest.mark.nightly
@MINUTES
@pytest.mark.requirement("F28")
async def test_readers_that_wait_are_weighed_beside_a_bare_app(tmp_path: Path) -> None:
    found, page = await figures_of(tmp_path, "idle", "--readers", "40", "--rest", "1")

    assert found["readers"] == 40
    assert found["bytes_per_idle_reader"] == pytest.approx(
        found["bytes_per_reader"] - found["bytes_per_reader_bare"], abs=1
    )
    assert found["messages"] == 20
    assert found["message_arrives_max_ms"] >= found["message_arrives_median_ms"] > 0
    assert "beyond the bare app" in page


@pytest.mark.nightly
@MINUTES
@pytest.mark.requirement("F28")
async def test_the_same_turns_are_measured_among_ever_more_chats(tmp_path: Path) -> None:
    sizes = ("--size", "4", "--size", "12")
    found, page = await figures_of(tmp_path, "growth", *sizes, "--speakers", "4", "--turns", "2")

    assert [size["chats"] for size in found["sizes"]] == [4, 12]
    first, last = found["sizes"]
    ratio = last["cpu_ms_per_turn"] / first["cpu_ms_per_turn"]
    assert found["growth_cpu_12_over_4"] == pytest.approx(ratio, abs=0.001)
    assert last["statements_per_turn"] > 4
    assert page.count("<svg") >= 2


@pytest.mark.nightly
@MINUTES
@pytest.mark.requirement("F28")
@pytest.mark.parametrize("bus", ["", "redis://127.0.0.1:6379"], ids=["postgres", "redis"])
async def test_half_of_the_readers_vanish_and_every_history_is_right(
    tmp_path: Path, bus: str
) -> None:
    short = ("--minutes", "0.1", "--per-minute", "100", "--sample", "0.5", "--turns", "1")
    found, page = await figures_of(tmp_path, "soak", *short, "--bus", bus)

    assert (found["chats"], found["vanished"], found["histories_checked"]) == (10, 5, 10)
    assert found["growing"] == [], "nothing can be said of so short a time"
    series = found["series"]
    for name in ("server memory", "worker memory", "server tasks", "worker tasks"):
        assert min(value for _, value in series[name]) > 0, name
    assert max(value for _, value in series["server files"]) > 10
    assert max(value for _, value in series["database connections"]) > 0
    assert max(value for _, value in series["bus entries"]) > 0
    assert max(value for _, value in series["stream readers"]) > 0
    assert page.count("<svg") >= 8


async def test_options_of_bench_are_refused_before_its_modes(tmp_path: Path) -> None:
    done = await Cli(tmp_path).call("lab", "bench", "--chats", "3", "idle")
    sizes = await Cli(tmp_path).call("lab", "bench", "growth", "--size", "10", "--size", "1000")

    assert done.code == 2
    assert "--chats belongs behind `idle`" in done.err
    assert sizes.code == 2
    assert "no less than --speakers" in sizes.err


@dataclass
class Place:
    target: Target
    database_url: str


@asynccontextmanager
async def a_place(template: str) -> AsyncGenerator[Place]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), origins=OUR_ORIGIN, within_s=100) as cell,
    ):
        key = cell.admin.headers["authorization"].split()[1]
        yield Place(Target(urls=[cell.admin.url], key=key, patience_s=HANG_S), url)


ANSWERS = "select count(*) from messages where role = 'assistant'"


@pytest.mark.parametrize("taken", ["turn", "word"])
async def test_a_turn_that_is_lost_behind_a_vanished_reader_is_found(
    template: str, taken: str
) -> None:
    # The last who vanishes does so at the eighth part; a busy machine puts words of seconds in one.
    load = Load(chats=4, turns=1, words=40, rate=10)
    statement = {
        "turn": "delete from messages where chat_id = $1 and role = 'assistant'",
        "word": "update messages set parts = replace(parts::text, ':2 ', ' ')::json"
        " where chat_id = $1 and role = 'assistant'",
    }[taken]
    async with a_place(template) as place:
        run = VisitRun(load, place.target, per_minute=600)

        async def go(_: LoadRun) -> None:
            await run.receive()
            database = cast(Any, await asyncpg.connect(place.database_url))
            async with asyncio.timeout(60):  # those who vanished did so in mid-answer
                while await database.fetchval(ANSWERS) < load.chats:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            done = await database.execute(statement, uuid_of(run.chat_ids[1]))
            await database.close()
            assert done.endswith(" 1"), done
            await run.check_histories()

        await run.run(go)
    assert run.vanished == 2
    assert run.outcome.histories == 3
    assert list(run.outcome.wrong) == [run.chat_ids[1]]


class OtherWords(Load):
    """Asks for one word less than is due."""

    def prompt(self, chat: int, turn: int) -> str:  # pyright: ignore[reportImplicitOverride]
        return super().prompt(chat, turn).replace(f":{self.words} ", f":{self.words - 1} ")


@pytest.mark.parametrize(("kind", "wrong"), [(Load, 0), (OtherWords, 2)])
async def test_answers_of_the_simulator_itself_are_checked(kind: type[Load], wrong: int) -> None:
    async with running(Config()) as simulator:
        run = DirectRun(kind(chats=2, turns=1, words=6), simulator.url, patience_s=HANG_S)
        await run.prepare()
        async with asyncio.timeout(HANG_S):
            await run.go()  # ends with the first wrong answer
            await until(lambda: run.outcome.turns + len(run.outcome.wrong) >= 2, HANG_S)
        run.close()

    assert len(run.outcome.wrong) == wrong
    assert run.outcome.turns == 2 - wrong
