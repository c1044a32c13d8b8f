"""`holdfast serve` reads the file with its models again, without a restart."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.integration.cli.test_serve import cell as cell  # the fixture
from tests.integration.cli.test_serve import create_first, holdfast
from tests.integration.cli.test_worker import ended, models_of, ready
from tests.support.replica import Replicas
from tests.support.waits import HANG_S
from tests.support.web import Client

SECRET = "sk-of-the-second-file"
SLOWLY = '[[sim: hidden=5000 | say "at last"]]'


def write(path: Path, models: list[dict[str, Any]]) -> None:
    path.write_bytes(orjson.dumps(models))


async def names(client: Client) -> list[str]:
    return [each["id"] for each in (await client.get("models")).json["data"]]


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(HANG_S):
        while True:
            if await look():
                return
            await asyncio.sleep(0.05)


async def shows(client: Client, expected: list[str]) -> None:
    async def shown() -> bool:
        return await names(client) == expected

    await eventually(shown)


async def refused_once(client: Client) -> None:
    async def told() -> bool:
        return b"holdfast_models_refused_total 1.0" in (await client.get("/metrics")).raw

    await eventually(told)


async def answered_by(client: Client, chat_id: str) -> str:
    messages = (await client.get(f"chats/{chat_id}/messages")).json["data"]
    return messages[-1]["model"]


async def test_file_is_read_again_on_change_and_on_hangup(cell: Replicas, tmp_path: Path) -> None:
    _, key = await create_first(cell)
    (first,) = orjson.loads(models_of(cell))
    models = tmp_path / "models.json"
    write(models, [first])
    settings = {"database_url": cell.database_url, "models_file": models, "port": 0}
    async with holdfast("serve", **settings) as process, aiohttp.ClientSession() as http:
        client = Client(http, (await ready(process)).split()[-1]).as_(key)
        assert await names(client) == [first["name"]]
        running = await client.new_chat(SLOWLY)

        # The file changes: the next attempt asks the new model, the running one goes on.
        write(models, [{**first, "name": "second", "api_key": SECRET}])
        process.send_signal(signal.SIGHUP)
        await shows(client, ["second"])
        assert (await client.get(f"chats/{running}")).json["status"] == "running"
        later = await client.new_chat('[[sim: say "hello"]]')
        await client.until(later, "idle")
        await client.until(running, "idle")
        assert await answered_by(client, later) == "second"
        assert await answered_by(client, running) == first["name"]

        # A wrong file changes nothing.
        models.write_text(f'[{{"name": "third", "api_key": "{SECRET}"}}]')
        process.send_signal(signal.SIGHUP)
        await refused_once(client)
        assert await names(client) == ["second"]

        # A right one is noticed without a signal.
        write(models, [{**first, "name": "third"}, {**first, "name": "fourth"}])
        await shows(client, ["third", "fourth"])
        process.send_signal(signal.SIGTERM)
        code, errors = await ended(process)
    assert code == 0, errors
    lines = [orjson.loads(line) for line in errors.splitlines()]
    wrong = [line for line in lines if "the models stay as they were" in line["event"]]
    assert len(wrong) == 1, "one line for each state of the file"
    assert "HOLDFAST_MODELS_FILE" in wrong[0]["event"]
    again = [line["models"] for line in lines if "was read again" in line["event"]]
    assert again == [["second"], ["third", "fourth"]]
    assert SECRET not in errors
