"""`holdfast lab bench`: a correct run is green; another one says which chat is wrong, and why."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from holdfast.api.streaming import EventStream
from holdfast.bootstrap import Adapters
from holdfast.ports.bus import Bus, LivePart
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli
from tests.support.web import OUR_ORIGIN, Cell, a_cell

SMALL = ("--chats", "5", "--turns", "2")
MINUTES = pytest.mark.timeout(240)


class ToldOtherwise:
    """A bus on which what is said is changed on its way."""

    def __init__(self, bus: Bus, change: Callable[[str], str]) -> None:
        self._bus = bus
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    async def append(self, parts: Sequence[LivePart]) -> None:
        await self._bus.append([replace(part, payload=self._changed(part)) for part in parts])

    def _changed(self, part: LivePart) -> bytes:
        deltas = orjson.loads(part.payload)
        for delta in deltas:
            if delta["type"] == "text":
                delta["text"] = self._change(delta["text"])
        return orjson.dumps(deltas)


def saying(change: Callable[[str], str]) -> Callable[[Adapters], Adapters]:
    def around(adapters: Adapters) -> Adapters:
        bus: Any = ToldOtherwise(adapters.bus, change)
        return replace(adapters, bus=bus)

    return around


@asynccontextmanager
async def a_server(
    template: str, around: Callable[[Adapters], Adapters] | None = None
) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), around=around, origins=OUR_ORIGIN, within_s=100) as cell,
    ):
        yield cell


def cli_of(cell: Cell, folder: Path) -> Cli:
    return Cli(folder, cell.admin.url, cell.admin.headers["authorization"].split()[1])


@MINUTES
@pytest.mark.requirement("F28")
async def test_a_run_on_servers_of_its_own_is_green_and_told_three_times(tmp_path: Path) -> None:
    figures, page = tmp_path / "bench.json", tmp_path / "bench.html"
    options = ("--tools", "1", "--baseline", "1", "--json", str(figures), "--html", str(page))
    cli = Cli(tmp_path)

    async with cli.started("lab", "bench", *SMALL, *options) as process:
        out, err = await process.communicate()

    assert process.returncode == 0, err.decode()
    assert b"10 of 10 turns" in out
    assert err == b"", "on a pipe there is no bar"
    found = orjson.loads(figures.read_bytes())
    assert (found["turns"], found["lost"], found["wrong_chats"]) == (10, 0, 0)
    assert found["histories_checked"] == 5
    assert {"server", "worker", "postgresql", "simulator", "load generator", "all"} == {
        *found["cpu_ms_per_turn"]
    }
    assert found["statements_per_turn"] > 4
    assert found["bus_operations_per_turn"] > 2
    assert min(found["ratios"].values()) >= 0
    assert found["baselines"]["pgbench_turns_per_s"] > 1
    assert page.read_text().count("<svg") >= 4


@pytest.mark.requirement("F28")
async def test_a_server_that_runs_is_measured_in_a_storm(template: str, tmp_path: Path) -> None:
    figures = tmp_path / "bench.json"
    options = ("--storm", "--payload", "300", "--words", "30", "--json", str(figures))
    async with a_server(template) as cell:
        done = await cli_of(cell, tmp_path).call(
            "lab", "bench", *SMALL, *options, "--url", cell.admin.url
        )

    assert done.code == 0, done
    assert "every stream complete" in done.out
    found = orjson.loads(figures.read_bytes())
    assert found["turns"] == 10
    assert found["follow_up_stream_reads_per_turn"] >= 0
    assert found["storm_p99_to_idle"] > 0


def doubled(text: str) -> str:
    return re.sub(r"(\S+:2)\b", r"\1 \1", text)


def lost(text: str) -> str:
    return re.sub(r" ?\S+:2\b", "", text)


@pytest.mark.parametrize("change", [doubled, lost])
async def test_a_server_that_doubles_or_loses_a_word_fails_the_run(
    template: str, tmp_path: Path, change: Callable[[str], str]
) -> None:
    async with a_server(template, saying(change)) as cell:
        # Slowly, so that every answer is told live.
        done = await cli_of(cell, tmp_path).call(
            "lab", "bench", *SMALL, "--rate", "40", "--url", cell.admin.url
        )

    assert done.code == 1, done
    assert "FAILED: 5 of 5 chats" in done.out
    assert re.search(r"chat chat_[0-9a-f]{32}: what was told live: word [23] is", done.out)


async def test_a_server_that_tells_a_message_twice_fails_the_run(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = EventStream._write  # pyright: ignore[reportPrivateUsage]

    async def twice(self: EventStream, events: Any, send: Any) -> None:
        async def doubled(message: Any) -> None:
            await send(message)
            if b"event: message" in message["body"]:
                await send(message)

        await written(self, events, doubled)

    monkeypatch.setattr(EventStream, "_write", twice)
    async with a_server(template) as cell:
        done = await cli_of(cell, tmp_path).call("lab", "bench", *SMALL, "--url", cell.admin.url)

    assert done.code == 1, done
    assert "message 1 came where 2 was due" in done.out


async def test_a_server_that_refuses_us_is_a_sentence(template: str, tmp_path: Path) -> None:
    async with a_server(template) as cell:
        cli = Cli(tmp_path, cell.admin.url, "hfst_nobody")
        done = await cli.call("lab", "bench", *SMALL, "--url", cell.admin.url)
        without = await Cli(tmp_path).call("lab", "bench", "--url", cell.admin.url)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("No chat can be begun: 401")
    assert without.code == 2
    assert "--key" in without.err
    gone = await cli.call("lab", "bench", *SMALL, "--url", cell.admin.url)
    assert gone.code == 1
    assert "cannot be reached" in gone.err
