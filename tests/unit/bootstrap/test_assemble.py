"""The same graph over fakes, in virtual time: nothing of it talks to the world by itself."""

import asyncio
import random
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from holdfast.bootstrap import Adapters, ServerOptions, assemble
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Create
from holdfast.domain.messages import Role
from holdfast.domain.parts import Text
from holdfast.ports.leases import Leases
from holdfast.tools.builtin import Builtin
from holdfast.worker.heartbeat import on_this_loop
from holdfast.worker.local_dispatch import LocalDispatch
from tests.support.builders import ORG, OWNER, user
from tests.support.doubles import SeededIds
from tests.support.fake_bus import FakeBusServer
from tests.support.fake_store import FakeStore
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.virtual import LoopClock, run_virtually


@asynccontextmanager
async def fakes(models: ScriptedModels) -> AsyncGenerator[Adapters]:
    clock = LoopClock()
    store = FakeStore(clock)

    @asynccontextmanager
    async def open_leases() -> AsyncGenerator[Leases]:
        yield store

    async with FakeBusServer().open() as bus:
        yield Adapters(
            store=store,
            history=store,
            leases=store,
            bus=bus,
            models=models,
            tools=Builtin(clock),
            clock=clock,
            ids=SeededIds(),
            open_leases=open_leases,
        )


async def a_turn() -> tuple[list[str], str, float]:
    """What was said, the metrics, and how long it took, in virtual seconds."""
    models = ScriptedModels(calls("clock"), says("it is ", "late"))
    async with fakes(models) as adapters:
        chance = random.Random(7).random
        options = ServerOptions()
        async with assemble(adapters, options, chance=chance, beat_beside=on_this_loop) as server:
            await server.ready()
            chat = Chat(chat_id=adapters.ids.new_chat_id(), org_id=ORG, owner_id=OWNER)
            await server.ledger.create(chat, Create((user("how late is it?"),)))
            assert server.hub is not None
            async with server.hub.follow(chat.chat_id, None) as events:
                async for event in events:
                    if b'"idle"' in event.data:
                        break
            await asyncio.sleep(3600)  # an hour of heartbeats, polls and sweeps
            server.drain()
            await server.run()
            loaded = await adapters.store.load(chat.chat_id)
            assert loaded is not None
            assert loaded.facts.chat.status is Status.IDLE
        page = await adapters.history.page(chat.chat_id, limit=10)
    said = [
        part.text
        for message in page.messages
        if message.body.role is Role.ASSISTANT
        for part in message.body.parts
        if isinstance(part, Text)
    ]
    return said, server.metrics.text().decode(), asyncio.get_running_loop().time()


def test_a_turn_runs_in_virtual_time_without_a_thread_or_a_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no(*_arguments: object, **_named: object) -> None:
        raise AssertionError("it talks to the world")

    before = threading.active_count()
    monkeypatch.setattr(socket.socket, "connect", no)
    monkeypatch.setattr(threading.Thread, "start", no)

    said, text, took_s = run_virtually(a_turn())

    assert said == ["let me see", "it is late"]
    assert 3600 < took_s < 3700
    assert threading.active_count() == before
    assert "holdfast_tool_runs_total 1.0" in text
    assert "holdfast_commit_seconds_count 4.0" in text
    assert 'holdfast_drive_seconds_bucket{le="+Inf"} 1.0' in text


def test_local_dispatch_stands_before_the_ledger_where_one_process_serves_and_drives() -> None:
    async def story() -> None:
        async with fakes(ScriptedModels()) as adapters:
            both = assemble(adapters, ServerOptions())
            serves = assemble(adapters, ServerOptions(drives=False))
            drives = assemble(adapters, ServerOptions(serves=False))
            kinds = [type(server.ledger) for server in (both, serves, drives)]
            assert kinds == [LocalDispatch, Ledger, Ledger]

    run_virtually(story())


def test_roles_choose_the_halves_and_one_half_there_must_be() -> None:
    async def story() -> None:
        async with fakes(ScriptedModels()) as adapters:
            serves = assemble(adapters, ServerOptions(drives=False))
            drives = assemble(adapters, ServerOptions(serves=False))
            assert (serves.hub is None, serves.worker is None) == (False, True)
            assert (drives.hub is None, drives.worker is None) == (True, False)
            assert b"holdfast_worker_" not in serves.metrics.text()
            assert b"holdfast_stream_" not in drives.metrics.text()

    run_virtually(story())
    with pytest.raises(AssertionError, match="does nothing"):
        ServerOptions(serves=False, drives=False)
