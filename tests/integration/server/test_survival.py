"""Real `holdfast serve` processes beside a database that refuses sessions or writes for seconds."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import aiohttp
import asyncpg
import pytest

from holdfast_simulator.server import Config, running
from tests.integration.cli.test_worker import environment, models_of, ready
from tests.requirements import requirement
from tests.support.database import on_server, temporary_database
from tests.support.replica import QUICK, Replicas
from tests.support.waits import HANG_S
from tests.support.web import ADMIN_EMAIL, OUR_ORIGIN, PASSWORD, Client

LINES_MAX = 20
"""Log lines that an outage of six seconds may cost."""
LONG_TURN = "[[sim: count=100 | rate=10]]"
"""About ten seconds of words: the turn is under way when the outage begins."""


@dataclass
class Served:
    process: asyncio.subprocess.Process
    log: Path
    admin: Client

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def check_alive(self) -> None:
        assert self.process.returncode is None, self.log.read_text()[-3000:]


@asynccontextmanager
async def serve(cell: Replicas, log: Path, **more: object) -> AsyncGenerator[Served]:
    settings = {
        "database_url": cell.database_url,
        "models": models_of(cell),
        "port": 0,
        "origins": OUR_ORIGIN,
        "admin_email": ADMIN_EMAIL,
        "admin_password": PASSWORD,
        **QUICK,
        **more,
    }
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "holdfast", "serve"),
            env=environment(**settings),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        try:
            line = await ready(process)
            assert line, "it did not start: see its log"
            async with aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True)
            ) as http:
                yield Served(process, log, await _admin(Client(http, line.split()[-1])))
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def _admin(nobody: Client) -> Client:
    return nobody.as_((await nobody.new_key("key", "read", "write", "admin"))["secret"])


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with temporary_database(template) as url, running(Config(hang_max_s=20)) as simulator:
        yield Replicas(url, simulator)


@asynccontextmanager
async def a_role(attributes: str) -> AsyncGenerator[str]:
    name = f"holdfast_test_{uuid4().hex[:12]}"
    await on_server(f'create role "{name}" login {attributes}')
    try:
        yield name
    finally:
        await on_server(f'drop role if exists "{name}"')


def _as_role(cell: Replicas, role: str) -> Replicas:
    url = cell.database_url.replace("://", f"://{role}@", 1)
    return Replicas(url, cell.simulator)


async def in_database(cell: Replicas, statement: str) -> None:
    connection = await asyncpg.connect(cell.database_url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def hang_up(cell: Replicas) -> None:
    name = cell.database_url.rsplit("/", 1)[1]
    await on_server(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        f" where datname = '{name}' and pid <> pg_backend_pid()"
    )


async def set_default(cell: Replicas, setting: str) -> None:
    name = cell.database_url.rsplit("/", 1)[1]
    await on_server(f'alter database "{name}" set {setting}')


async def sent(admin: Client, chat_id: str) -> int:
    """The status that a message sent now is answered with; an outage gives no 500."""
    answer = await admin.post(f"chats/{chat_id}/messages", {"text": "hello"})
    assert answer.status in (202, 503), answer.raw
    return answer.status


async def until_sent(admin: Client, chat_id: str, status: int) -> None:
    async with asyncio.timeout(HANG_S):
        while await sent(admin, chat_id) != status:  # noqa: ASYNC110 - the outage's own time
            await asyncio.sleep(0.1)


async def until_ready(admin: Client) -> None:
    async with asyncio.timeout(HANG_S):
        while (await admin.get("/readyz")).status != 200:  # noqa: ASYNC110 - the outage's own time
            await asyncio.sleep(0.1)


@requirement("L133")
async def test_a_role_that_may_not_log_in_for_seconds_costs_503s_only(
    cell: Replicas, tmp_path: Path
) -> None:
    async with (
        a_role("superuser") as role,
        serve(_as_role(cell, role), tmp_path / "log") as server,
    ):
        admin = server.admin
        idle = await admin.new_chat('[[sim: say "hello"]]')
        await admin.until(idle, "idle")
        async with admin.stream(idle) as events:
            await anext(events)
            running_chat = await admin.new_chat(LONG_TURN)
            before = len(server.lines)
            await on_server(f'alter role "{role}" nologin')
            await hang_up(cell)
            await until_sent(admin, idle, 503)
            assert (await admin.get("/readyz")).status == 503
            await asyncio.sleep(6)  # Real time: the outage lasts as long as its log is counted.
            lines = server.lines[before:]
            server.check_alive()
            await on_server(f'alter role "{role}" login')
            await until_sent(admin, idle, 202)
            await until_ready(admin)
            await admin.until(running_chat, "idle")
            server.check_alive()
    assert len(lines) <= LINES_MAX, "\n".join(lines)


@requirement("L133", "L134", "L136")
async def test_a_database_that_is_read_only_for_seconds_is_written_again_afterwards(
    cell: Replicas, tmp_path: Path
) -> None:
    async with serve(cell, tmp_path / "log") as server:
        admin = server.admin
        idle = await admin.new_chat('[[sim: say "hello"]]')
        await admin.until(idle, "idle")
        running_chat = await admin.new_chat(LONG_TURN)
        assert (await admin.get("/readyz")).status == 200
        before = len(server.lines)
        await set_default(cell, "default_transaction_read_only = on")
        await hang_up(cell)
        await until_sent(admin, idle, 503)
        for _ in range(12):  # clients that ask make the pool connect again
            answer = await admin.get("/readyz")
            assert (answer.status, answer.code) == (503, "unavailable")
            assert "cannot be written" in answer.json["detail"]
            assert await sent(admin, idle) == 503
            await asyncio.sleep(0.5)  # Real time: the outage lasts as long as its log is counted.
        lines = server.lines[before:]
        await set_default(cell, "default_transaction_read_only = off")
        await until_sent(admin, idle, 202)
        await until_ready(admin)
        await admin.until(running_chat, "idle")
        server.check_alive()
        # Every connection of the pool takes writes, not only the first one.
        assert Counter([await sent(admin, idle) for _ in range(10)]) == {202: 10}
    assert len(lines) <= LINES_MAX, "\n".join(lines)


@requirement("L133")
async def test_a_default_of_repeatable_read_refuses_no_contended_send(
    cell: Replicas, tmp_path: Path
) -> None:
    await set_default(cell, "default_transaction_isolation = 'repeatable read'")
    async with serve(cell, tmp_path / "log", rate_burst=10_000, rate_per_s=10_000) as server:
        admin = server.admin
        chat = await admin.new_chat('[[sim: say "hello"]]')
        await admin.until(chat, "idle")
        for _ in range(3):
            answers = await asyncio.gather(
                *(admin.post(f"chats/{chat}/messages", {"text": "more"}) for _ in range(12))
            )
            assert Counter(answer.status for answer in answers) == {202: 12}
        assert "could not serialize" not in server.log.read_text()


@requirement("L135")
async def test_the_chats_of_a_worker_that_cannot_commit_go_to_another_one(
    cell: Replicas, tmp_path: Path
) -> None:
    """Its lease is renewed all the while: the heartbeat writes another table."""
    async with a_role("") as role:
        try:
            await in_database(
                cell,
                f'grant all on schema public to "{role}";'
                f'grant all on all tables in schema public to "{role}";'
                f'grant all on all sequences in schema public to "{role}"',
            )
            async with serve(_as_role(cell, role), tmp_path / "ill") as ill:
                chat = await ill.admin.new_chat("[[sim: count=30 | rate=10]]")
                await in_database(cell, f'revoke insert on messages from "{role}"')
                async with serve(cell, tmp_path / "healthy") as healthy:
                    await healthy.admin.until(chat, "idle")
                    ill.check_alive()
                told = ill.log.read_text()
                assert "gives up its lease" in told
                assert "lost its lease" not in told
        finally:
            await in_database(cell, f'drop owned by "{role}"')
