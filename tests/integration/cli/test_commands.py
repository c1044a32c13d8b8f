"""What the other commands print, and with which codes they end."""

import asyncio
from pathlib import Path

import orjson
import pytest

from tests.support.identity import PASSWORD
from tests.support.terminal import Cli, golden, masked
from tests.support.web import Cell, uuid_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOBODYS = "chat_01890000000070008000000000000000"


async def test_the_table_of_exit_codes(cli: Cli, server: Cell, tmp_path: Path) -> None:
    chat_id = await server.admin.new_chat("hi")
    await server.admin.until(chat_id, "idle")
    stranger = Cli(tmp_path, cli.url, "hfst_wrong")
    nobody = Cli(tmp_path / "nobody")
    nowhere = Cli(tmp_path, "http://127.0.0.1:9", "hfst_any")
    table: list[tuple[Cli, int, tuple[str, ...]]] = [
        (cli, 0, ("wait", chat_id)),
        (cli, 1, ("retry", chat_id)),
        (cli, 2, ("run", "--json", "--jsonl", "hi")),
        (cli, 2, ("run", "")),
        (cli, 2, ("list", "--color", "pink")),
        (cli, 2, ("no-such-command",)),
        (cli, 5, ("show", NOBODYS)),
        (cli, 5, ("show", "no such title")),
        (cli, 5, ("admin", "users", "disable", "nobody@acme.example")),
        (cli, 7, ("run", "be refused")),
        (cli, 7, ("wait", "@last")),
        (cli, 124, ("run", "--timeout", "0.2", "speak slowly")),
        (cli, 124, ("wait", "--timeout", "0.2", "@last")),
        (stranger, 4, ("list",)),
        (nobody, 4, ("list",)),
        (nowhere, 1, ("list",)),
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
        ("label", chat_id, "bed"),
    ):
        await cli.told(*command)
    for columns in (60, 120):
        async with cli.on_terminal("list", "-n", "1", columns=columns) as terminal:
            assert await terminal.ended() == 0
            golden(f"list-terminal-{columns}", masked(terminal.text))
        async with cli.on_terminal("show", chat_id, columns=columns) as terminal:
            assert await terminal.ended() == 0
            golden(f"show-terminal-{columns}", masked(terminal.text))
    golden("list-pipe", masked(await cli.told("list", "-n", "1")))
    golden("show-pipe", masked(await cli.told("show", chat_id, "-n", "1")))
    golden("export", masked(await cli.told("export", chat_id)))
    assert await cli.told("list", "--label", "bed", "--ids") == chat_id


async def test_a_title_is_matched_on_a_terminal_and_several_are_offered(
    cli: Cli, server: Cell
) -> None:
    made = [await server.admin.new_chat() for _ in range(2)]
    for number, chat_id in enumerate(made):
        body = {"title": f"Quarterly report {number}"}
        assert (await server.admin.ask("PATCH", f"chats/{chat_id}", body)).status == 200

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
    waiting = orjson.loads(await cli.told("queue", "list", chat_id, "--json"))
    first, second, third = (str(each["queued_id"]) for each in waiting)

    await cli.told("queue", "move", chat_id, third, "--before", first)
    assert await cli.told("queue", "delete", chat_id, second) == "two"
    listed = (await cli.told("queue", "list", chat_id)).splitlines()
    assert [line.split("\t")[2] for line in listed] == ["three", "one"]
    await cli.told("queue", "edit", chat_id, first, "uno")
    assert await cli.told("queue", "rm", chat_id, third) == "three"
    left = await cli.told("queue", "list", chat_id)
    assert left.split("\t")[2] == "uno"
    await cli.told("queue", "send-now", chat_id, left.split("\t")[0])

    assert await cli.told("wait", chat_id) == "Hello there."


async def test_chats_are_put_away_and_shared(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat()
    friend = await server.member("Bob")
    await cli.told("archive", chat_id)
    await cli.told("share", chat_id, "BOB@acme.example")
    assert chat_id in await cli.told("list", "--archived", "--ids")
    assert chat_id not in await cli.told("list", "--ids")
    assert "bob@acme.example" in await cli.told("share", chat_id)
    assert (await friend.get(f"chats/{chat_id}")).status == 200

    await cli.told("unarchive", chat_id[:18])
    await cli.told("unshare", chat_id, "bob@acme.example")
    assert (await friend.get(f"chats/{chat_id}")).status == 404


async def test_an_id_is_taken_in_every_form(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat()
    as_uuid = str(uuid_of(chat_id))
    for given in (chat_id, chat_id[:17], chat_id[5:17], as_uuid, as_uuid[:13], as_uuid.upper()):
        assert orjson.loads(await cli.told("show", given, "--json"))["chat"]["id"] == chat_id
    other_type = await cli.call("show", chat_id.replace("chat_", "user_"))
    assert other_type.code == 5


async def test_people_and_keys_are_administered(cli: Cli, server: Cell) -> None:
    user_id = await cli.told(
        "admin", "users", "create", "cy@acme.example", "Cy", "--password-stdin",
        stdin="a long enough passphrase\n",
    )  # fmt: skip
    await cli.told("admin", "users", "set-role", "cy@acme.example", "admin")
    await cli.told("admin", "users", "disable", user_id)
    listed = await cli.told("admin", "users", "list")
    assert f"{user_id}\tdisabled\tcy@acme.example\tCy" in listed.splitlines()
    await cli.told("admin", "users", "enable", str(uuid_of(user_id)))
    await cli.told("admin", "users", "reset-password", user_id, stdin="another long passphrase\n")

    secret = await cli.told(
        "api-keys", "create", "for a test", "--scope", "read", stdin=f"{PASSWORD}\n"
    )
    reader = Cli(cli.folder, cli.url, secret)
    assert await reader.told("whoami") == "Ada <ada@acme.example>: admin, read"
    assert (await reader.call("run", "hi")).code == 5, "the key may only read"
    keys = (await cli.told("api-keys", "list")).splitlines()
    key_id = next(line.split("\t")[0] for line in keys if line.endswith("for a test"))
    await cli.told("api-keys", "revoke", key_id)
    assert key_id in await cli.told("admin", "audit")


async def test_labels_are_added_removed_and_set(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat()

    async def labels() -> list[str]:
        return (await cli.told("label", chat_id)).split()

    await cli.told("label", chat_id, "kelp", "sea")
    await cli.told("label", chat_id, "tide", "sea")
    assert await labels() == ["kelp", "sea", "tide"]
    await cli.told("label", chat_id, "--remove", "sea", "unknown")
    assert await labels() == ["kelp", "tide"]
    entry = orjson.loads(await cli.told("label", chat_id, "--set", "reef", "--json"))
    assert entry["labels"] == ["reef"]
    await cli.told("label", chat_id, "--set")
    assert await labels() == []


async def test_metadata_is_set_removed_and_searched_for(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat()

    async def pairs() -> list[str]:
        return (await cli.told("metadata", chat_id)).splitlines()

    await cli.told("metadata", chat_id, "order=4711", "cwd=/a=b")
    assert sorted(await pairs()) == ["cwd=/a=b", "order=4711"]
    entry = orjson.loads(
        await cli.told("metadata", chat_id, "order=4712", "--remove", "cwd", "--json")
    )
    assert entry["metadata"] == {"order": "4712"}
    begun = await cli.told("run", "-d", "--metadata", "order=4713", "hi")
    for value, found in (("4712", chat_id), ("4713", begun.strip()), ("4714", "")):
        listed = await cli.told("list", "--ids", "--metadata", f"order={value}")
        assert listed.strip() == found, value
    wrong = await cli.call("metadata", chat_id, "order")
    assert wrong.code == 2
    assert "KEY=VALUE" in wrong.err


def comparable(text: str | bytes) -> str:
    """JSON with sorted keys and without the digits of times."""
    document = orjson.loads(text)
    return masked(orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode())


async def test_json_is_that_of_the_api(cli: Cli, server: Cell) -> None:
    chat_id = await server.admin.new_chat("hi")
    await server.admin.until(chat_id, "idle")
    for command, path in (
        (("whoami", "--json"), "me"),
        (("models", "list", "--json"), "models"),
        (("label", chat_id, "--json"), f"chats/{chat_id}"),
        (("api", "get", f"/chats/{chat_id}"), f"chats/{chat_id}"),
    ):
        answer = (await server.admin.get(path)).json
        told = orjson.dumps(answer.get("data", answer))  # a list: its items
        assert comparable(await cli.told(*command)) == comparable(told), command
    for verb, state in (("pin", True), ("unpin", False)):
        assert orjson.loads(await cli.told(verb, chat_id, "--json"))["pinned"] is state
    archived = orjson.loads(await cli.told("archive", chat_id, "--json"))
    assert archived["chat_id"] == chat_id
    back = orjson.loads(await cli.told("unarchive", chat_id, "--json"))
    assert back["version"] > archived["version"]


async def test_a_script_sends_any_request(cli: Cli, server: Cell) -> None:
    body = '{"message": {"text": "hi"}}'
    once = ("api", "POST", "/chats", "--data", "-", "--idempotency-key", "script-1")
    made, again = [orjson.loads(await cli.told(*once, stdin=body)) for _ in range(2)]
    assert made["chat_id"] == again["chat_id"]
    found = await cli.told("api", "get", f"/api/v1/chats/{made['chat_id']}")
    assert orjson.loads(found)["id"] == made["chat_id"]
    missing = await cli.call("api", "GET", f"/chats/{NOBODYS}")
    assert (missing.code, missing.out) == (5, "")


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
    assert await cli.told("models", "list") == "sim *"
    said = (await cli.told("status")).splitlines()
    assert [line.split()[0] for line in said] == [
        "url", "server", "client", "user", "running", "awaiting", "failed",
    ]  # fmt: skip
    assert (await cli.told("version")).startswith("client ")
