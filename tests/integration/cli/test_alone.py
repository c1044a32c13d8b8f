"""`holdfast worker --only-chat`, and the worker that starts it, as real processes."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from holdfast.bootstrap import Server
from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import ChatId, WorkerId
from holdfast_lab.chaos.stage.ports import quiet_port
from tests.integration.cli.test_worker import environment, models_of, ready, worker
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.replica import QUICK, Replicas, ask, at_rest, replicas
from tests.support.waits import HANG_S

LONG = "[[sim: count=600 | rate=10]]"
LONG_ENOUGH = "[[sim: count=60 | rate=10]]"
"""Six seconds of words: no worker that is killed at once comes to their end."""
SHORT_LEASE = {"lease_ttl_s": 4.0, "heartbeat_every_s": 1.0}
SLOW_S = 180.0
ATTEMPTS = 5
KILLER = f"""
import os, signal
import holdfast.domain.chat as chat
chat.ATTEMPTS_MAX = {ATTEMPTS}
from holdfast.providers.models import ConfiguredModels
stream = ConfiguredModels.stream
def killing(self, ask):
    if "kill me" in repr(ask.history):
        os.kill(os.getpid(), signal.SIGKILL)
    return stream(self, ask)
ConfiguredModels.stream = killing
"""
"""Loaded by every Python that is started with this folder on its path: a chat that kills."""


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with replicas(template) as shared:
        yield shared


@asynccontextmanager
async def alone(
    cell: Replicas, *chat_ids: ChatId, **more: Any
) -> AsyncGenerator[asyncio.subprocess.Process]:
    named = [word for chat_id in chat_ids for word in ("--only-chat", str(chat_id))]
    settings = {"database_url": cell.database_url, "models": models_of(cell), **QUICK, **more}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast", "worker", *named),
        env=environment(**settings),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def code_of(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(HANG_S):
        return await process.wait()


async def abandon(cell: Replicas, api: Server, *chats: Chat) -> WorkerId:
    """A worker acquires all that waits, and its lease lapses."""
    worker_id, leases = WorkerId(api.adapters.ids.new_chat_id()), api.adapters.leases
    await leases.join(worker_id, name="dead", ttl=timedelta(minutes=1))
    acquired = await leases.acquire(worker_id, limit=9, ring_start=worker_id)
    assert {each.chat_id for each in acquired.chats} == {each.chat_id for each in chats}
    connection = await asyncpg.connect(cell.database_url)
    await connection.execute("update workers set lease_until = now() where id = $1", worker_id)
    await connection.close()
    return worker_id


async def now(api: Server, chat: Chat) -> Chat:
    loaded = await api.adapters.store.load(chat.chat_id)
    assert loaded is not None
    return loaded.facts.chat


async def test_it_drives_its_chat_and_no_other_and_ends(cell: Replicas) -> None:
    async with cell.open(role="api") as api:
        mine, other = [await ask(api, user('[[sim: say "hello"]]')) for _ in range(2)]
        dead = await abandon(cell, api, mine, other)
        # The port that its parent serves its metrics at is taken.
        taken = socket.create_server(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with alone(cell, mine.chat_id, metrics_port=port) as process:
            assert await code_of(process) == 0
        taken.close()
        assert (await now(api, mine)).status is Status.IDLE
        left = await now(api, other)
        assert (left.status, left.worker_id) == (Status.RUNNING, dead)


async def test_it_ends_at_once_if_its_chat_was_released(cell: Replicas) -> None:
    async with cell.open(role="api") as api:
        waits = await ask(api, user("hello"))
        async with alone(cell, waits.chat_id) as process:
            assert await code_of(process) == 0
        left = await now(api, waits)
        assert (left.status, left.worker_id) == (Status.RUNNING, None)


@requirement("L72")
async def test_it_hands_over_and_ends_when_the_process_that_started_it_is_gone(
    cell: Replicas,
) -> None:
    async with cell.open(role="api") as api:
        chat = await ask(api, user(LONG))
        dead = await abandon(cell, api, chat)
        async with alone(cell, chat.chat_id) as process:
            async with asyncio.timeout(HANG_S):
                while (await now(api, chat)).worker_id == dead:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.05)
            assert process.stdin is not None
            process.stdin.close()  # as the death of its parent does
            assert await code_of(process) == 0
        left = await now(api, chat)
        assert (left.status, left.worker_id) == (Status.RUNNING, None)


@pytest.mark.nightly
@requirement("P3")
async def test_a_chat_that_kills_each_worker_fails_and_harms_no_other(
    cell: Replicas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three workers die of it; the fourth lives on, and the chat beside it is answered."""
    (tmp_path / "sitecustomize.py").write_text(KILLER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    port = quiet_port()
    settings = {"database_url": cell.database_url, "models": models_of(cell), **QUICK}
    settings |= {**SHORT_LEASE, "metrics_port": port}
    async with cell.open(within_s=2 * SLOW_S, role="api") as api:
        killer, innocent = await ask(api, user("kill me")), await ask(api, user(LONG_ENOUGH))
        for _ in range(3):
            async with worker(**settings) as process:
                await ready(process)
                assert await code_of(process) == -signal.SIGKILL
        assert (await now(api, innocent)).status is Status.RUNNING
        async with worker(**settings) as process:
            await ready(process)
            failed = await at_rest(api, killer.chat_id, SLOW_S)
            answered = await at_rest(api, innocent.chat_id, SLOW_S)
            assert process.returncode is None, "it did not die of the chat"
            metrics = await scraped(port)
            process.send_signal(signal.SIGTERM)
            assert await code_of(process) == 0
        assert (failed.status, answered.status) == (Status.FAILED, Status.IDLE)
        assert f"holdfast_worker_alone_died_total {ATTEMPTS - 3:.1f}" in metrics


async def scraped(port: int) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        return await answer.text()
