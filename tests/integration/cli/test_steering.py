"""Turns that wait for somebody, forks, and the list as it changes."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.support.terminal import CTRL_D, Cli, golden, masked
from tests.support.web import Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")
LOOK_UP: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks a word up.",
    "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
}


HIDDEN = "| to: Ada\\u{202e}lugraB"
"""As `pay` is asked for by the script: what would turn the line around is seen."""


async def asking(server: Cell) -> str:
    body = {"tools": [LOOK_UP], "message": {"text": "look it up"}}
    chat_id = (await server.admin.post("chats", body)).json["chat_id"]
    await server.admin.until(chat_id, "awaiting")
    return chat_id


async def test_a_call_that_waits_is_shown_and_answered(cli: Cli, server: Cell) -> None:
    chat_id = await asking(server)

    waiting = await cli.call("wait", chat_id)
    assert waiting.code == 3
    assert f"holdfast respond {chat_id}" in waiting.err
    attached = await cli.call("attach", chat_id)
    assert attached.code == 3
    golden("attach-awaiting-err", masked(attached.err))
    listed = await cli.call("respond", chat_id)
    assert listed.code == 3
    assert listed.out.split("\t")[1:] == ["result", "look_up\n"]

    assert (await cli.call("respond", chat_id, "no-such-call", "x")).code == 1
    assert (await cli.call("respond", chat_id, "{", "--text-is-json")).code == 2
    await cli.told("respond", chat_id, "a brown alga")
    assert await cli.told("wait", chat_id) == "So it is."
    exported = orjson.loads(await cli.told("export", chat_id, "--format", "json"))
    assert exported["messages"][2]["parts"][0]["output"] == "a brown alga"
    assert (await cli.call("respond", chat_id)).code == 5, "it waits for nobody"


@pytest.mark.parametrize(
    ("verb", "flags", "failed", "told"),
    [
        ("approve", ("--yes",), False, "paid"),
        ("deny", ("--reason", "Too dear."), True, "They said: Too dear."),
    ],
)
async def test_a_call_is_approved_or_denied(
    cli: Cli, server: Cell, verb: str, flags: tuple[str, ...], failed: bool, told: str
) -> None:
    done = await cli.call("run", "pay")
    assert done.code == 3
    assert "pay waits for approval: holdfast approve" in done.err

    piped = await cli.call("approve", "@last")
    assert piped.code == 2, "nobody is there to ask"
    golden("approve-pipe-err", masked(piped.err))
    assert (await cli.call(verb, "@last", "no-such-call", *flags)).code == 2
    assert (await cli.call("approve", "@last", "--yes", "--reason", "x")).code == 2
    assert (await cli.call("wait", "@last")).code == 3, "all that decided nothing"
    receipt = orjson.loads(await cli.told(verb, "@last", *flags, "--json"))
    assert receipt["version"] > 0
    assert await cli.told("wait", "@last") == "That is settled."
    exported = orjson.loads(await cli.told("export", "@last", "--format", "json"))
    result = exported["messages"][2]["parts"][0]
    assert result["is_error"] is failed
    assert result["output"].endswith(told)
    assert (await cli.call("approve", "@last")).code == 5


async def test_on_a_terminal_a_person_sees_the_call_and_decides(cli: Cli, server: Cell) -> None:
    assert (await cli.call("run", "pay")).code == 3
    async with cli.on_terminal("approve", "@last", columns=80) as terminal:
        await terminal.until("leave it:")
        golden("approve-terminal-80", masked(terminal.text))
        terminal.press("\r")
        assert await terminal.ended() == 3
        assert "it still waits" in terminal.text
    async with cli.on_terminal("approve", "@last", columns=80) as terminal:
        await terminal.until("leave it:")
        terminal.press("y\r")
        assert await terminal.ended() == 0
        assert "Approved: pay." in terminal.text
    assert await cli.told("wait", "@last") == "That is settled."


async def test_a_talk_asks_for_what_the_turn_waits_for(cli: Cli, server: Cell) -> None:
    async with cli.on_terminal("chat", columns=80) as terminal:
        await terminal.until("›")
        terminal.press("pay\r")
        await terminal.until("leave it:")
        assert HIDDEN in terminal.text
        terminal.press("y\r")
        await terminal.until("That is settled.")
        await terminal.until_prompt()
        terminal.press(CTRL_D)
        assert await terminal.ended() == 0


async def test_questions_are_shown_and_answered_one_by_one(cli: Cli, server: Cell) -> None:
    done = await cli.call("run", "ask me")
    assert done.code == 3
    assert "Which database?\n1. PostgreSQL: As now.\n2. SQLite\nWhich port?\n" in done.err
    assert "--answer ANSWER" in done.err
    listed = await cli.call("respond", "@last")
    assert listed.code == 3
    assert "2. SQLite\n" in listed.err

    assert (await cli.call("respond", "@last", "-a", "1")).code == 2, "there are two questions"
    assert (await cli.call("respond", "@last", "x", "y", "-a", "1")).code == 2
    assert (await cli.call("respond", "@last", "no-such-call", "-a", "1")).code == 5
    await cli.told("respond", "@last", "-a", "2", "-a", "5433")
    assert await cli.told("wait", "@last") == "So be it."
    exported = orjson.loads(await cli.told("export", "@last", "--format", "json"))
    assert exported["messages"][2]["parts"][0]["output"] == {
        "answers": [
            {"question": "Which database?", "chosen": ["SQLite"]},
            {"question": "Which port?", "text": "5433"},
        ]
    }


async def test_answers_are_for_questions_only(cli: Cli, server: Cell) -> None:
    chat_id = await asking(server)
    assert (await cli.call("respond", chat_id, "-a", "1")).code == 2
    await cli.told("respond", chat_id, "a brown alga")


async def test_a_talk_asks_one_question_after_the_other(cli: Cli, server: Cell) -> None:
    async with cli.on_terminal("chat", columns=80) as terminal:
        await terminal.until("›")
        terminal.press("ask me\r")
        await terminal.until("Answer (number or own words):")
        terminal.press("1\r")
        await terminal.until("Which port?")
        await terminal.until("Answer:")
        terminal.press("5432\r")
        await terminal.until("So be it.")
        await terminal.until_prompt()
        terminal.press(CTRL_D)
        assert await terminal.ended() == 0


async def test_a_fork_is_a_chat_of_its_own(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("hi")
    await server.admin.until(chat_id, "idle")

    forked = await cli.told("fork", chat_id)
    again = orjson.loads(await cli.told("fork", chat_id, "--json"))

    assert len({chat_id, forked, again["id"]}) == 3
    assert (await cli.told("show", forked)).endswith("› hi\nHello there.")


async def test_watching_tells_of_changes_line_by_line(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("hi")
    await server.admin.until(chat_id, "idle")
    async with (
        cli.started("watch", chat_id) as lines,
        cli.started("watch", "--jsonl") as events,
        asyncio.timeout(60),
    ):
        assert lines.stdout is not None
        assert events.stdout is not None
        first = (await lines.stdout.readline()).decode()
        assert [word for word in first.split() if word != "*"] == [chat_id[:17], "idle", "hi"]
        assert orjson.loads(await events.stdout.readline())["type"] == "chats.snapshot"
        await cli.told("rename", chat_id, "A new title")
        while b"A new title" not in (line := await lines.stdout.readline()):
            assert line, "it ended before the change"
        told = orjson.loads(await events.stdout.readline())
        assert (told["type"], told["data"]["id"]) == ("chat.updated", chat_id)
