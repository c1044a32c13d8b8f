"""`holdfast chat`: line by line, by hand and from a pipe."""

import pytest

from tests.support.terminal import CTRL_C, CTRL_D, Cli, golden, masked
from tests.support.web import Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_talk_by_hand(cli: Cli, server: Cell) -> None:
    async with cli.on_terminal("chat", columns=80) as terminal:
        await terminal.until("›")
        terminal.press("hi\r")
        await terminal.until("Hello there.\n›")
        terminal.press("half a line" + CTRL_C)  # gives up the line, not the talk
        await terminal.until("half a line\n›")
        terminal.press("speak slowly\r")
        await terminal.until("kelp:1")
        terminal.press(CTRL_C)
        await terminal.until("d detaches")
        terminal.press(CTRL_C)
        await terminal.until("— interrupted")
        await terminal.until_prompt()
        terminal.press(CTRL_D)
        assert await terminal.ended() == 0
        assert "half a line" not in terminal.text.partition("— interrupted")[2]
    chat = (await server.admin.get("chats")).json["data"][0]
    assert chat["last_seq"] == 4


async def test_a_talk_from_a_pipe(cli: Cli, server: Cell) -> None:
    done = await cli.run("chat", stdin="hi\n\nbe busy\n/exit\nnever said\n")
    assert done.code == 0, done
    golden("chat-pipe-out", masked(done.out))
    golden("chat-pipe-err", masked(done.err))

    failing = await cli.run("chat", "--last", stdin="be refused\nnever said\n")
    assert failing.code == 7
    assert failing.out == "Hello there.\n\nNow I can.\n", "what was said before"
    chat = (await server.admin.get("chats")).json["data"][0]
    assert chat["last_seq"] == 5
