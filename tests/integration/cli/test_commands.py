"""What the other commands print, and with which codes they end."""

import asyncio
from pathlib import Path

import orjson
import pytest

from tests.support.terminal import Cli, golden, masked
from tests.support.web import Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOBODYS = "01890000-0000-7000-8000-000000000000"


async def test_the_table_of_exit_codes(cli: Cli, server: Cell, tmp_path: Path) -> None:
    chat_id = await server.admin.new_chat("hi")
    await server.admin.until(chat_id, "idle")
    stranger = Cli(tmp_path, cli.url, "hf_wrong")
    nobody = Cli(tmp_path / "nobody")
    nowhere = Cli(tmp_path, "http://127.0.0.1:9", "hf_any")
    table: list[tuple[Cli, int, tuple[str, ...]]] = [
        (cli, 0, ("wait", chat_id)),
        (cli, 1, ("retry", chat_id)),
        (cli, 2, ("run", "--json", "--jsonl", "hi")),
        (cli, 2, ("run", "")),
        (cli, 2, ("ls", "--color", "pink")),
        (cli, 2, ("no-such-command",)),
        (cli, 5, ("show", NOBODYS)),
        (cli, 5, ("show", "no such title")),
        (cli, 5, ("admin", "users", "disable", "nobody@acme.example")),
        (cli, 7, ("run", "be refused")),
        (cli, 7, ("wait", "@last")),
        (cli, 124, ("run", "--timeout", "0.2", "speak slowly")),
        (cli, 124, ("wait", "--timeout", "0.2", "@last")),
        (stranger, 4, ("ls",)),
        (nobody, 4, ("ls",)),
        (nowhere, 1, ("ls",)),
    ]
    for who, code, command in table:
        done = await who.call(*command)

        assert done.code == code, (command, done)
        assert "Traceback" not in done.err
        assert code == 0 or done.err.strip(), command


async def test_lists_and_shows(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("What time is it?")
    await server.admin.until(chat_id, "idle")
    for command in (
        ("rename", chat_id, "The time of the day, as told by the clock of the server itself"),
        ("pin", chat_id),
        ("label", chat_id, "night", "clock"),
        ("label", chat_id, "--add", "bed"),
    ):
        await cli.told(*command)
    for columns in (60, 120):
        async with cli.on_terminal("ls", "-n", "1", columns=columns) as terminal:
            assert await terminal.ended() == 0
            golden(f"ls-terminal-{columns}", masked(terminal.text))
        async with cli.on_terminal("show", chat_id, columns=columns) as terminal:
            assert await terminal.ended() == 0
            golden(f"show-terminal-{columns}", masked(terminal.text))
    golden("ls-pipe", masked(await cli.told("ls", "-n", "1")))
    golden("show-pipe", masked(await cli.told("show", chat_id, "-n", "1")))
    golden("export", masked(await cli.told("export", chat_id)))
    assert await cli.told("ls", "--label", "bed", "--ids") == chat_id


async def test_a_title_is_matched_on_a_terminal_and_several_are_offered(
    cli: Cli, server: Cell
) -> None:
    made = [await server.admin.new_chat() for _ in range(2)]
    for number, chat_id in enumerate(made):
        body = {"title": f"Quarterly report {number}"}
        assert (await server.admin.ask("PUT", f"chats/{chat_id}/title", body)).status == 200

    async with cli.on_terminal("show", "report 1") as terminal:
        assert await terminal.ended() == 0
        assert made[1] in terminal.text
    async with cli.on_terminal("show", "quarterly", columns=100) as terminal:
        await terminal.until("Which one?")
        golden("choice", masked(terminal.text))
        terminal.press("2\n")
        assert await terminal.ended() == 0
        assert made[0] in terminal.text
    assert (await cli.call("show", "report 1")).code == 5, "a script must not depend on titles"


async def test_the_queue_is_seen_and_rearranged(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("speak slowly")
    for word in ("one", "two", "three"):
        assert (await cli.told("send", chat_id, word)).startswith("queued ")
    waiting = orjson.loads(await cli.told("queue", "ls", chat_id, "--json"))
    first, second, third = (str(each["queued_id"]) for each in waiting)

    await cli.told("queue", "mv", chat_id, third, "--before", first)
    assert await cli.told("queue", "take", chat_id, second) == "two"
    listed = (await cli.told("queue", "ls", chat_id)).splitlines()
    assert [line.split("\t")[2] for line in listed] == ["three", "one"]
    await cli.told("queue", "edit", chat_id, first, "uno")
    await cli.told("queue", "rm", chat_id, third)
    left = await cli.told("queue", "ls", chat_id)
    assert left.split("\t")[2] == "uno"
    await cli.told("queue", "promote", chat_id, left.split("\t")[0])

    assert await cli.told("wait", chat_id) == "Hello there."


async def test_chats_are_put_away_and_shared(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat()
    friend = await server.member("Bob")
    await cli.told("archive", chat_id)
    await cli.told("share", chat_id, "BOB@acme.example")
    assert chat_id in await cli.told("ls", "--archived", "--ids")
    assert chat_id not in await cli.told("ls", "--ids")
    assert "bob@acme.example" in await cli.told("share", chat_id)
    assert (await friend.get(f"chats/{chat_id}")).status == 200

    await cli.told("unarchive", chat_id[:18])
    await cli.told("share", chat_id, "bob@acme.example", "--off")
    assert (await friend.get(f"chats/{chat_id}")).status == 404


async def test_people_and_keys_are_administered(cli: Cli, server: Cell) -> None:
    user_id = await cli.told(
        "admin", "users", "create", "cy@acme.example", "Cy", "--password-stdin",
        stdin="a long enough passphrase\n",
    )  # fmt: skip
    await cli.told("admin", "users", "role", "cy@acme.example", "admin")
    await cli.told("admin", "users", "disable", user_id)
    listed = await cli.told("admin", "users", "ls")
    assert f"{user_id}\tdisabled\tcy@acme.example\tCy" in listed.splitlines()
    await cli.told("admin", "users", "enable", user_id)
    await cli.told("admin", "users", "reset", user_id, stdin="another long passphrase\n")

    secret = await cli.told("admin", "keys", "create", "for a test", "--scope", "read")
    reader = Cli(cli.folder, cli.url, secret)
    assert await reader.told("whoami") == "Ada <ada@acme.example>: admin, read"
    assert (await reader.call("run", "hi")).code == 5, "the key may only read"
    keys = (await cli.told("admin", "keys", "ls")).splitlines()
    key_id = next(line.split("\t")[0] for line in keys if line.endswith("for a test"))
    await cli.told("admin", "keys", "revoke", key_id)
    assert key_id in await cli.told("admin", "audit")


async def test_a_closed_pipe_is_no_error(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("speak slowly")
    async with cli.started("attach", chat_id, "--jsonl") as process, asyncio.timeout(60):
        assert process.stdout is not None
        assert process.stderr is not None
        await process.stdout.readline()
        process.stdout._transport.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        assert await process.wait() == 141
        assert await process.stderr.read() == b""
    await server.admin.post(f"chats/{chat_id}/interrupt")


async def test_models_and_versions(cli: Cli) -> None:
    assert await cli.told("models", "ls") == "sim *"
    said = (await cli.told("status")).splitlines()
    assert [line.split()[0] for line in said] == [
        "url", "server", "client", "user", "running", "awaiting", "failed",
    ]  # fmt: skip
    assert (await cli.told("version")).startswith("client ")
