"""`holdfast attach`: replay and follow, each event once, whatever becomes of the connection."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pytest

from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_simulator.server import Config, running
from tests.integration.cli.conftest import SCRIPT
from tests.integration.cli.test_worker import environment, models_of, ready
from tests.support.database import temporary_database
from tests.support.identity import PASSWORD
from tests.support.replica import QUICK, Replicas
from tests.support.terminal import CTRL_C, Cli, golden, masked
from tests.support.web import ADMIN_EMAIL, Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_chat_is_replayed_on_a_terminal_and_on_pipes(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("What time is it?")
    await server.admin.until(chat_id, "idle")

    async with cli.on_terminal("attach", chat_id, columns=60) as terminal:
        assert await terminal.ended() == 0
        golden("attach-terminal-60", masked(terminal.text))
    piped = await cli.run("attach", "@last", COLUMNS="60")
    golden("attach-pipe-out", masked(piped.out))
    golden("attach-pipe-err-60", masked(piped.err))
    tail = await cli.run("attach", chat_id[:17], "--tail", "1")
    assert tail.out.startswith("It is **late**.")
    assert tail.err == ""


async def test_jsonl_is_exactly_the_stream_and_goes_on_from_a_cursor(
    cli: Cli, server: Cell
) -> None:
    chat_id = await server.admin.new_chat("What time is it?")
    await server.admin.until(chat_id, "idle")
    told = await stream_of(server, chat_id)

    assert await lines_of(cli, chat_id) == told
    assert list(told[0]) == ["type", "cursor", "version", "final", "data"]

    middle = told[len(told) // 2]["cursor"]
    assert await lines_of(cli, chat_id, "--after", middle) == await stream_of(
        server, chat_id, middle
    )
    assert await lines_of(cli, chat_id, "--after", told[-1]["cursor"]) == []


async def stream_of(server: Cell, chat_id: str, after: str | None = None) -> list[dict[str, Any]]:
    """What the server tells of a chat at rest: to the end of the last commit."""
    told: list[dict[str, Any]] = []
    async with server.admin.stream(chat_id, after) as events, asyncio.timeout(60):
        async for event in events:
            told.append(event)
            if event["final"]:
                break
    return told


async def lines_of(cli: Cli, *options: str) -> list[dict[str, Any]]:
    printed = await cli.told("attach", "--jsonl", *options)
    return [orjson.loads(line) for line in printed.splitlines()]


async def until_a_word(lines: asyncio.StreamReader) -> bytes:
    """All lines to the first with words of an answer, without which none would be committed."""
    read = b""
    while not words_in([orjson.loads(line) for line in read.splitlines()]):
        line = await lines.readline()
        assert line, f"it ended before the first word: {read!r}"
        read += line
    return read


async def test_two_attached_see_the_same_events(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("speak slowly")
    async with (
        cli.started("attach", chat_id, "--jsonl") as one,
        cli.started("attach", chat_id, "--jsonl") as other,
    ):
        assert one.stdout is not None
        assert other.stdout is not None
        async with asyncio.timeout(60):
            first = [await until_a_word(each.stdout) for each in (one, other) if each.stdout]
            await server.admin.post(f"chats/{chat_id}/interrupt")
            rest = [(await each.communicate())[0] for each in (one, other)]
    seen = [
        [orjson.loads(line) for line in (begin + end).splitlines()]
        for begin, end in zip(first, rest, strict=True)
    ]
    committed = [[each for each in events if each["type"] == "message.created"] for events in seen]
    assert committed[0] == committed[1]
    assert len(committed[0]) == 2
    for each in seen:
        assert said_in(committed[0][-1]).startswith(words_in(each))


async def test_ctrl_c_first_says_that_the_agent_keeps_running(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("speak slowly")
    async with cli.on_terminal("attach", chat_id, columns=100) as terminal:
        await terminal.until("speak slowly")
        terminal.press(CTRL_C)
        await terminal.until("d detaches")
        terminal.press("d")
        assert await terminal.ended() == 0
        assert "The agent keeps running: holdfast attach" in terminal.text
    assert (await server.admin.get(f"chats/{chat_id}")).json["status"] == "running"

    async with cli.on_terminal("attach", chat_id, columns=100) as terminal:
        await terminal.until("speak slowly")
        terminal.press(CTRL_C)
        await terminal.until("d detaches")
        terminal.press(CTRL_C)
        assert await terminal.ended() == 130
        assert "interrupted" in terminal.text
    assert (await server.admin.get(f"chats/{chat_id}")).json["status"] == "idle"


async def test_an_interrupt_is_told_also_before_the_first_word(cli: Cli, server: Cell) -> None:
    """Where no answer is committed that could say how it ended."""
    chat_id = await server.admin.new_chat("think first")
    async with cli.on_terminal("attach", chat_id, columns=100) as terminal:
        await terminal.until("think first")
        terminal.press(CTRL_C)
        await terminal.until("d detaches")
        terminal.press(CTRL_C)
        assert await terminal.ended() == 130
        assert "— interrupted" in terminal.text
    assert (await server.admin.get(f"chats/{chat_id}")).json["last_seq"] == 1


async def test_an_interrupt_by_somebody_else_is_told_also_before_the_first_word(
    cli: Cli, server: Cell
) -> None:
    chat_id = await server.admin.new_chat("think first")
    async with (
        cli.started("attach", chat_id, "--jsonl") as piped,
        cli.on_terminal("attach", chat_id, columns=100) as terminal,
    ):
        await terminal.until("think first")
        assert piped.stdout is not None
        async with asyncio.timeout(60):
            while b"running" not in (line := await piped.stdout.readline()):
                assert line, "it ended before the turn ran"
        await server.admin.post(f"chats/{chat_id}/interrupt")
        assert await terminal.ended() == 3
        assert "— interrupted" in terminal.text
        async with asyncio.timeout(60):
            await piped.communicate()
        assert piped.returncode == 3


async def test_without_a_terminal_ctrl_c_leaves_at_once(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("speak slowly")
    async with cli.started("attach", chat_id, "--jsonl") as process, asyncio.timeout(60):
        assert process.stdout is not None
        await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        await process.communicate()
        assert process.returncode == 130
    assert (await server.admin.get(f"chats/{chat_id}")).json["status"] == "running"
    await server.admin.post(f"chats/{chat_id}/interrupt")


@asynccontextmanager
async def a_server(cell: Replicas, port: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "holdfast", "serve"),
        env=environment(
            database_url=cell.database_url,
            models=models_of(cell),
            port=port,
            admin_email=ADMIN_EMAIL,
            admin_password=PASSWORD,
            **QUICK,
        ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await ready(process)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.nightly
async def test_a_server_killed_in_mid_answer_is_survived(template: str, tmp_path: Path) -> None:
    """`login` with a password, then `attach` on a terminal and on a pipe, over kill -9."""
    port = quiet_port()
    cli = Cli(tmp_path)
    async with (
        temporary_database(template) as url,
        running(Config(script=SCRIPT, hang_max_s=20)) as simulator,
    ):
        cell = Replicas(url, simulator)
        async with a_server(cell, port) as first:
            await log_in(cli, f"http://127.0.0.1:{port}")
            chat_id = await cli.told("run", "--detach", "speak slowly")
            async with (
                cli.started("attach", chat_id, "--jsonl") as piped,
                cli.on_terminal("attach", chat_id, columns=120) as terminal,
            ):
                await terminal.until("speak slowly")
                before = await until_parts(piped, 5)
                first.kill()
                await first.wait()
                async with a_server(cell, port):
                    await terminal.until("reconnected")
                    shown = words_in(before)
                    kept = await until_events(piped, is_cut)
                    # Else there is no answer yet that could be kept.
                    events = await until_parts(piped, 1)
                    await cli.told("interrupt", chat_id)
                    code = await terminal.ended()
                    seen = terminal.text
                    async with asyncio.timeout(60):
                        rest, errors = await piped.communicate()
        events += [orjson.loads(line) for line in rest.splitlines()]
    assert code == 3, seen
    assert piped.returncode == 3, errors
    assert b"reconnected" in errors
    assert said_in(kept[-1]).startswith(shown), "the words of the killed server are kept (L153)"
    placed = [each["cursor"] for each in before + kept + events if each["cursor"]]
    assert len(set(placed)) == len(placed), "an event came twice"
    answer = next(e for e in reversed(events) if e["type"] == "message.created")
    assert answer["data"]["role"] == "assistant"
    assert answer["data"]["finish_reason"] == "interrupted"
    # What the last attempt was seen to say is kept (M4).
    assert said_in(answer).startswith(words_in(events))


async def log_in(cli: Cli, url: str) -> None:
    async with cli.on_terminal("login", "--url", url, columns=120) as terminal:
        await terminal.until("E-mail")
        terminal.press(f"{ADMIN_EMAIL}\n")
        await terminal.until("Password")
        terminal.press(f"{PASSWORD}\n")
        assert await terminal.ended() == 0, terminal.text
        assert PASSWORD not in terminal.text
    kept = cli.folder / "config.toml"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in kept.read_text()
    assert re.search(r'api_key = "hfst_', kept.read_text())


Event: TypeAlias = dict[str, Any]


async def until_parts(process: asyncio.subprocess.Process, number: int) -> list[Event]:
    """Read so many parts."""
    events: list[Event] = []
    for _ in range(number):
        events += await until_events(process, lambda event: event["type"] == "preview.delta")
    return events


async def until_events(
    process: asyncio.subprocess.Process, is_last: Callable[[Event], bool]
) -> list[Event]:
    """Read up to this event."""
    events: list[Event] = []
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while not events or not is_last(events[-1]):
            events.append(orjson.loads(await process.stdout.readline()))
    return events


def is_cut(event: Event) -> bool:
    return event["type"] == "message.created" and event["data"]["finish_reason"] == "provider_error"


def words_in(events: list[dict[str, Any]]) -> str:
    """What the last attempt said live."""
    said: list[str] = []
    for event in events:
        if event["type"] in ("preview.reset", "history.reset"):
            said.clear()
        if event["type"] == "preview.delta":
            said += [each["text"] for each in event["data"]["deltas"] if each["type"] == "text"]
    return "".join(said)


def said_in(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["data"]["parts"] if part["type"] == "text")
