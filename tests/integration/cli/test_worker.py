"""`holdfast worker` as a real process."""

import asyncio
import gzip
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from typer.testing import CliRunner

from holdfast.adapters.postgres.migrate import newest_migration
from holdfast.cli.app import app
from holdfast.settings import Settings
from holdfast_lab.chaos.harness.ports import quiet_port
from tests.support.builders import user
from tests.support.replica import API_KEY, Replicas, ask, at_rest, replicas
from tests.support.waits import HANG_S

OWN_MODEL = {"name": "m", "vendor": "ollama", "api_key": "sk-canary-of-the-worker"}


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with replicas(template) as shared:
        yield shared


def environment(**variables: Any) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    named = {f"HOLDFAST_{name}".upper(): str(value) for name, value in variables.items()}
    return {**kept, **named}


@asynccontextmanager
async def worker(*flags: str, **variables: Any) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *flags,
        *("-m", "holdfast", "worker"),
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


async def ready(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(HANG_S):
        return (await process.stdout.readline()).decode()


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(HANG_S):
        _, errors = await process.communicate()
    return process.returncode, errors.decode()


def models_of(cell: Replicas) -> str:
    given = cell.settings().models[0].model_dump(exclude_none=True, exclude={"api_key"})
    return orjson.dumps([{**given, "api_key": API_KEY}]).decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_worker_becomes_ready_drives_and_ends_on_a_signal(
    cell: Replicas, number: signal.Signals
) -> None:
    port = quiet_port()
    async with worker(
        database_url=cell.database_url,
        models=models_of(cell),
        worker_name="the-one",
        metrics_port=port,
    ) as process:
        assert await ready(process) == "The worker the-one is ready.\n"
        async with cell.open(role="api") as api:
            chat = await ask(api, user('[[sim: say "hello"]]'))
            await at_rest(api, chat.chat_id)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics") as answer,
        ):
            assert "holdfast_worker_acquired_total 1.0" in await answer.text()
        began = time.monotonic()
        process.send_signal(number)
        code, errors = await ended(process)
        took_s = time.monotonic() - began
        assert code == 0
        # Ten times the second that was asserted before, and less than a drain may take (25 s).
        assert took_s < 10.0
        lines = [orjson.loads(line) for line in errors.splitlines()]
        events = [line["event"] for line in lines]
        assert [each for each in events if each.startswith(("server: ", "worker: "))] == [
            "server: started",
            "server: draining",
            "worker: draining",
            "worker: handed over",
            "server: stopped",
        ]
        started = lines[events.index("server: started")]
        assert (started["role"], started["server"], started["bus"]) == (
            "worker",
            "the-one",
            "postgresql",
        )
        assert started["version"] == version("holdfast")
        assert started["schema"] == newest_migration()
        assert float(started["postgres"]) >= 15
        assert "canary" not in errors


async def test_it_sends_its_traces(cell: Replicas) -> None:
    received: list[tuple[str, bytes]] = []

    async def take(request: web.Request) -> web.Response:
        received.append((request.path, await request.read()))
        return web.Response()

    collector = web.Application()
    collector.router.add_post("/{path:.*}", take)
    runner = web.AppRunner(collector)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", quiet_port())
    await site.start()
    async with worker(
        database_url=cell.database_url, models=models_of(cell), otlp_endpoint=site.name
    ) as process:
        await ready(process)
        async with cell.open(role="api") as api:
            chat = await ask(api, user('[[sim: say "hello"]]'))
            await at_rest(api, chat.chat_id)
        process.send_signal(signal.SIGTERM)
        assert (await ended(process))[0] == 0
    await runner.cleanup()
    assert {path for path, _ in received} == {"/v1/traces"}
    sent = b"".join(gzip.decompress(b) if b[:2] == b"\x1f\x8b" else b for _, b in received)
    assert b"attempt" in sent
    assert str(chat.chat_id).encode() in sent
    assert b"canary" not in sent


async def test_told_twice_it_ends_at_once(cell: Replicas) -> None:
    async with worker(database_url=cell.database_url, models=models_of(cell)) as process:
        await ready(process)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        code, _ = await ended(process)
        # Which of two that come together is heard first is not ours to say.
        assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)


async def test_wrong_settings_are_said_a_line_each() -> None:
    async with worker(worker_capacity=0, bus_url="http://canary") as process:
        code, errors = await ended(process)
    assert code == 2
    first, second = sorted(errors.splitlines())
    assert first.startswith("HOLDFAST_BUS_URL: should be empty or begin with redis")
    assert second.startswith("HOLDFAST_WORKER_CAPACITY: input should be greater than")
    assert "canary" not in errors


async def test_a_model_that_cannot_be_asked_is_a_wrong_setting() -> None:
    models = orjson.dumps([{**OWN_MODEL, "vendor": "acme"}]).decode()
    async with worker(models=models) as process:
        code, errors = await ended(process)
    assert (code, errors.count("\n")) == (2, 1)
    assert "no vendor is named 'acme'" in errors
    assert "canary" not in errors


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://u:canary-db@127.0.0.1:1/x", "The database cannot be used"),
        ("postgresql://127.0.0.1:5432/template1", "Run `holdfast db migrate` first."),
    ],
)
async def test_a_database_that_will_not_do_is_said_in_a_line(url: str, sentence: str) -> None:
    async with worker(database_url=url, models=orjson.dumps([OWN_MODEL]).decode()) as process:
        code, errors = await ended(process)
    assert (code, errors.count("\n")) == (1, 1), errors
    assert sentence in errors
    assert "canary" not in errors


async def test_it_does_not_run_without_its_asserts() -> None:
    async with worker("-O") as process:
        code, errors = await ended(process)
    assert code == 2
    assert "does not run under python -O" in errors


async def test_a_port_that_is_taken_is_a_wrong_setting(cell: Replicas) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    async with worker(
        database_url=cell.database_url, models=models_of(cell), metrics_port=port
    ) as process:
        code, errors = await ended(process)
    taken.close()
    assert code == 2
    assert f"HOLDFAST_METRICS_PORT: 127.0.0.1:{port} cannot be used: Address already" in errors


def test_a_fault_of_ours_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(settings: Settings) -> None:
        int(API_KEY)

    monkeypatch.setattr("holdfast.cli.worker._work", fail)
    monkeypatch.setenv(
        "HOLDFAST_MODELS", f'[{{"name": "m", "vendor": "v", "api_key": "{API_KEY}"}}]'
    )
    done = CliRunner().invoke(app, ["worker"])
    assert done.exit_code == 1
    line = orjson.loads(done.stderr)
    assert line["event"] == "server: the worker failed"
    assert "ValueError" in line["exception"]
    assert "canary" not in done.stderr
