"""`holdfast serve` and `holdfast admin init` as real processes."""

import asyncio
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

from holdfast.cli.process import FILES_OPEN_MAX
from tests.integration.cli.test_worker import ended, environment, models_of, ready
from tests.support.database import temporary_database
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas, replicas
from tests.support.waits import HANG_S
from tests.support.web import Client


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with temporary_database(template) as url, replicas(template) as shared:
        yield Replicas(url, shared.simulator)  # a database without users


@asynccontextmanager
async def holdfast(*command: str, **variables: Any) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "holdfast", *command),
        env=environment(**variables),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def create_first(cell: Replicas) -> tuple[int | None, str]:
    command = ("admin", "init", "--email", "ada@acme.example", "--password", PASSWORD)
    async with holdfast(*command, database_url=cell.database_url) as process:
        async with asyncio.timeout(HANG_S):
            said, _ = await process.communicate()
        return process.returncode, said.decode().strip()


async def test_from_an_empty_database_to_an_answer_and_a_clean_end(cell: Replicas) -> None:
    code, key = await create_first(cell)
    assert code == 0
    assert key.startswith("hfst_")
    assert (await create_first(cell))[0] == 1, "there is one first"

    settings = {"database_url": cell.database_url, "models": models_of(cell), "port": 0}
    async with holdfast("serve", **settings) as process, aiohttp.ClientSession() as http:
        line = await ready(process)
        assert line.startswith("Holdfast is ready at http://127.0.0.1:"), line
        client = Client(http, line.split()[-1]).as_(key)
        chat_id = await client.new_chat('[[sim: say "hello"]]')
        await client.until(chat_id, "idle")

        async with client.stream(chat_id) as events:
            seen = [await anext(events)]
            process.send_signal(signal.SIGTERM)
            seen += [event async for event in events]
        assert (seen[-1]["type"], seen[-1]["data"]["reason"]) == ("closed", "restart")
        code, errors = await ended(process)
    assert code == 0, errors
    for logged in errors.splitlines():
        assert orjson.loads(logged)["event"]
    assert "canary" not in errors
    assert key not in errors


@pytest.fixture
def few_files() -> Generator[None]:
    """What is started meanwhile may open 200, and allow itself more, as is the rule elsewhere."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("few_files")
async def test_the_first_admin_may_come_from_the_settings(
    cell: Replicas,
) -> None:
    settings = {
        "database_url": cell.database_url,
        "models": models_of(cell),
        "port": 0,
        "admin_email": "ada@acme.example",
        "admin_password": PASSWORD,
    }
    async with holdfast("serve", **settings) as process, aiohttp.ClientSession() as http:
        url = (await ready(process)).split()[-1]
        login = {"email": "ada@acme.example", "password": PASSWORD}
        assert (await Client(http, url).post("sessions", login)).status == 201
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert soft == (min(FILES_OPEN_MAX, hard) if hard >= 0 else FILES_OPEN_MAX) > 200


async def test_a_port_that_is_taken_is_said_in_a_sentence(cell: Replicas) -> None:
    taken = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    settings = {"database_url": cell.database_url, "models": models_of(cell), "port": port}
    async with taken, holdfast("serve", **settings) as process:
        code, errors = await ended(process)
    assert code == 2
    assert f"127.0.0.1:{port} cannot be used" in errors
