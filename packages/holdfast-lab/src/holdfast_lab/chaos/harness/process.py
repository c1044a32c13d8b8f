"""A server process as the fault tests play it: the production server with failpoints around its
ports, told over a socket what to do and telling what it does. Where people may follow chats, it
opens an edge and says on which port."""

import asyncio
import ctypes
import gc
import os
import signal
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast.bootstrap import Adapters, open_server
from holdfast.settings import Settings
from holdfast.stream.hub import Hub
from holdfast_lab.chaos.harness import faketime
from holdfast_lab.chaos.harness.edge import open_edge
from holdfast_lab.chaos.harness.netns import move_to
from holdfast_lab.chaos.harness.probed_agent import probe_agent
from holdfast_lab.chaos.harness.probes import (
    ProbedBus,
    ProbedHistory,
    ProbedLeases,
    ProbedModels,
    ProbedStore,
    ProbedTools,
    Probes,
)
from holdfast_lab.chaos.harness.tools import Testing
from holdfast_lab.chaos.mutants import MUTANTS

NO_TEXTS: Final = {"chat_texts": "off"}
"""Calls for titles would be counted among those of turns."""


def play(part: dict[str, Any]) -> None:
    if part.get("clock"):
        os.environ[faketime.FILE] = part["clock"]
    if part.get("mutant"):
        MUTANTS[part["mutant"]]()
    asyncio.run(_play(part))


async def _play(part: dict[str, Any]) -> None:
    say = socket.create_connection(("127.0.0.1", part["control"]))

    def tell(what: dict[str, Any]) -> None:
        # Blocking on purpose: what is told right before a SIGKILL must have left the process.
        say.sendall(orjson.dumps(what) + b"\n")

    hear, writer = await asyncio.open_connection("127.0.0.1", part["control"])
    writer.write(orjson.dumps({"name": part["name"], "way": "hear"}) + b"\n")
    tell({"name": part["name"], "way": "say"})
    probes = Probes(tell)
    if part.get("may_acquire", True):
        probes.may_acquire.set()

    if part.get("island"):
        # What we are told and tell goes on, whatever becomes of the island's links.
        move_to(part["island"])
    if part.get("hands"):
        probe_agent(probes)

    def around(adapters: Adapters) -> Adapters:
        tools = adapters.tools if part.get("hands") else Testing(part["recorder"])
        return replace(
            adapters,
            store=ProbedStore(adapters.store, probes),
            history=ProbedHistory(adapters.history, probes),
            leases=ProbedLeases(adapters.leases, probes),
            bus=ProbedBus(adapters.bus, probes),
            models=ProbedModels(adapters.models, probes),
            tools=ProbedTools(tools, probes),
        )

    settings = Settings.model_validate({**NO_TEXTS, **part["settings"]})
    async with open_server(settings, around) as server, asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(_obey(hear, probes, server.hub))
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, server.drain)
        await server.ready()
        port = 0
        if server.hub is not None:
            edge = await open_edge(server.hub, part.get("edge", "127.0.0.1"))
            port = edge.sockets[0].getsockname()[1]
        tell({"said": "ready", "port": port})
        await server.run()
        tell({"said": "drained"})
        listening.cancel()
    writer.close()


def _rss_kb() -> int:
    """What is really in use: what only lies about to be used again is given back first."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


async def _obey(hear: asyncio.StreamReader, probes: Probes, hub: Hub | None) -> None:
    with suppress(ConnectionError):
        while line := await hear.readline():
            order: dict[str, Any] = orjson.loads(line)
            match order["do"]:
                case "arm":
                    probes.counting = order.get("now", False)
                    probes.reached, probes.at, probes.act = 0, order["at"], order["act"]
                    probes.name = order.get("name", "")
                    probes.go_on.clear()
                case "open":
                    probes.may_acquire.set()
                case "close":
                    probes.may_acquire.clear()
                case "go_on":
                    probes.go_on.set()
                case "count":
                    probes.tell({"said": "count", "reached": probes.reached})
                case "weigh":
                    probes.tell({"said": "weighs", "rss_kb": _rss_kb()})
                case "tally":
                    assert hub is not None, "a worker process has no readers"
                    counted = hub.counters
                    probes.tell({"said": "tally", "reads": counted.reads, "polls": counted.polls})
                case _:
                    raise AssertionError(order)
    # The controlling process is gone: end, too.
    signal.raise_signal(signal.SIGKILL)
