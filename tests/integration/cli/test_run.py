"""`holdfast run` as people see it on a terminal, and as scripts get it on pipes."""

import asyncio
from pathlib import Path

import orjson
import pytest

from tests.support.terminal import CTRL_C, Cli, golden, masked
from tests.support.web import Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")
QUESTION = "What time is it?"


@pytest.mark.parametrize("columns", [60, 120])
async def test_a_turn_on_a_terminal(cli: Cli, columns: int) -> None:
    async with cli.on_terminal("run", QUESTION, columns=columns) as terminal:
        assert await terminal.ended() == 0

        golden(f"run-terminal-{columns}", masked(terminal.text))
        assert b"\x1b[?1049h" not in terminal.raw, "the alternate screen"
        assert b"\x1b[2m" in terminal.raw, "dim"


async def test_a_turn_on_a_terminal_without_colours(cli: Cli) -> None:
    async with cli.on_terminal("run", QUESTION, columns=60, NO_COLOR="1") as terminal:
        assert await terminal.ended() == 0

        golden("run-terminal-60", masked(terminal.text))  # the same words
        assert b"\x1b" not in terminal.raw


async def test_a_turn_on_a_dumb_terminal(cli: Cli) -> None:
    async with cli.on_terminal("run", QUESTION, columns=60, term="dumb") as terminal:
        assert await terminal.ended() == 0

        golden("run-terminal-dumb", masked(terminal.text))
        assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("columns", ["60", "120"])
async def test_a_turn_on_pipes(cli: Cli, columns: str) -> None:
    done = await cli.run("run", QUESTION, COLUMNS=columns)

    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    golden("run-pipe-out", masked(done.out))  # an answer has no width
    golden(f"run-pipe-err-{columns}", masked(done.err))


async def test_a_retry_and_a_failure_are_told(cli: Cli) -> None:
    async with cli.on_terminal("run", "be busy", columns=100) as terminal:
        assert await terminal.ended() == 0
        golden("run-retry", masked(terminal.text))
        assert "brown" in terminal.styles("retrying in")  # pyte's name for yellow

    async with cli.on_terminal("run", "be refused", columns=100) as terminal:
        assert await terminal.ended() == 7
        golden("run-failed", masked(terminal.text))
        assert "red" in terminal.styles("error:")


async def test_the_forms_of_an_answer(cli: Cli, tmp_path: Path) -> None:
    quiet = await cli.call("run", "--quiet", QUESTION)
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.startswith("It is **late**.")

    document = orjson.loads(await cli.told("run", "--json", "hi"))
    assert (document["status"], document["text"]) == ("idle", "Hello there.")
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]

    kept = tmp_path / "answer.txt"
    into_file = await cli.call("run", "-o", str(kept), "hi")
    assert (into_file.code, into_file.out) == (0, "")
    assert kept.read_text() == "Hello there.\n"

    coloured = await cli.call("run", "--color", "always", "hi")
    assert "\x1b" in coloured.err
    assert coloured.out == "Hello there.\n"


async def test_what_is_said_comes_from_words_pipes_and_files(cli: Cli, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("from a file")

    done = await cli.run("run", "-d", "a word", "-f", str(notes), stdin="from a pipe\n")
    chat_id = done.out.strip()

    said = orjson.loads(await cli.told("wait", chat_id, "--json"))
    assert said["chat_id"] == chat_id
    exported = orjson.loads(await cli.told("export", chat_id, "--format", "json"))
    text = exported["messages"][0]["parts"][0]["text"]
    assert text == "a word\n\nfrom a pipe\n\nnotes.txt:\n\nfrom a file"


async def test_ctrl_c_ends_the_turn_softly_and_keeps_what_was_said(cli: Cli, server: Cell) -> None:
    async with cli.on_terminal("run", "speak slowly", columns=100) as terminal:
        await terminal.until("chat ")
        chat_id = terminal.text.split()[1]
        await _until_words(terminal.raw)
        terminal.press(CTRL_C)

        assert await terminal.ended() == 130
        assert "interrupted" in terminal.text
    chat = await server.admin.until(chat_id, "idle")
    assert chat["last_seq"] == 2


async def test_a_second_ctrl_c_leaves_the_turn_alone(cli: Cli, server: Cell) -> None:
    async with cli.on_terminal("run", "--on-sigint", "detach", "speak slowly") as terminal:
        await terminal.until("chat ")
        chat_id = terminal.text.split()[1]
        await _until_words(terminal.raw)
        terminal.press(CTRL_C)

        assert await terminal.ended() == 130
        assert "The agent keeps running: holdfast attach" in terminal.text
    assert (await server.admin.get(f"chats/{chat_id}")).json["status"] == "running"
    await cli.told("interrupt", chat_id)


async def test_a_run_that_takes_too_long_is_left_to_itself(cli: Cli, server: Cell) -> None:
    done = await cli.call("run", "--timeout", "0.5", "speak slowly")

    assert done.code == 124
    assert "keeps running" in done.err
    await cli.told("interrupt", "@last")


async def _until_words(raw: bytearray) -> None:
    async with asyncio.timeout(60):
        while raw.count(b" ") < 12:  # noqa: ASYNC110 - somebody else's buffer
            await asyncio.sleep(0.05)
