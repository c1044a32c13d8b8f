"""What is measured: replicas, workers and simulators as processes of their own, gone afterwards."""

import asyncio
import os
import re
import resource
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from holdfast_lab.bench.running import CannotRun

START_S: Final = 60
STOP_S: Final = 60
LOG_CHARS_TOLD: Final = 600
MODEL: Final = "simulator"
PLENTY: Final = "1000000"


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    url: str
    """Empty if it serves no HTTP."""
    metrics_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to start."""

    database_url: str
    folder: Path
    """For the logs of what is started."""
    replicas: int = 1
    workers: int = 1
    """0: the replicas drive turns themselves."""
    simulators: int = 1
    bus_url: str = ""
    settings: Mapping[str, str] | None = None
    """Further ones of the server's, by their names in the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    replicas: tuple[Process, ...]
    workers: tuple[Process, ...]
    simulators: tuple[Process, ...]

    def pids(self) -> dict[str, tuple[int, ...]]:
        """By part."""
        named = {
            "server": self.replicas,
            "worker": self.workers,
            "simulator": self.simulators,
        }
        return {name: tuple(each.pid for each in found) for name, found in named.items() if found}


@asynccontextmanager
async def a_cell(wanted: Wanted) -> AsyncGenerator[Cell]:
    """Running; raises `CannotRun` with what it said if something does not start."""
    async with AsyncExitStack() as stack:

        async def start(name: str, *arguments: str, **settings: str) -> Process:
            log = wanted.folder / f"{name}.log"
            command = ("holdfast", *arguments)
            return await stack.enter_async_context(started(command, settings, log))

        simulators = [
            await start(f"simulator{n}", "lab", "simulate", "--port", "0", "--rate", "0")
            for n in range(wanted.simulators)
        ]
        common = _settings(wanted, [each.url for each in simulators])
        role = "api" if wanted.workers else "all"
        replicas = [
            await start(
                f"server{n}",
                "serve",
                **common,
                HOLDFAST_ROLE=role,
                HOLDFAST_PORT="0",
                HOLDFAST_METRICS_PORT=str(_free_port()),
            )
            for n in range(wanted.replicas)
        ]
        workers = [
            await start(f"worker{n}", "worker", **common, HOLDFAST_METRICS_PORT=str(_free_port()))
            for n in range(wanted.workers)
        ]
        yield Cell(replicas=tuple(replicas), workers=tuple(workers), simulators=tuple(simulators))


def model_name(number: int) -> str:
    return MODEL if number == 0 else f"{MODEL}-{number}"


def bus_prefix() -> str:
    """Of our keys on a Redis that may be others', too."""
    return f"bench{os.getpid()}"


def _settings(wanted: Wanted, simulators: list[str]) -> dict[str, str]:
    models = [
        {
            "name": model_name(number),
            "vendor": "simulator-anthropic",
            "model": "claude-sonnet-5",
            "base_url": url,
            "api_key": "any",
        }
        for number, url in enumerate(simulators)
    ]
    return {
        "HOLDFAST_DATABASE_URL": wanted.database_url,
        "HOLDFAST_MODELS": orjson.dumps(models).decode(),
        "HOLDFAST_BUS_URL": wanted.bus_url,
        "HOLDFAST_BUS_PREFIX": bus_prefix(),
        "HOLDFAST_LOG_LEVEL": "WARNING",
        # One user stands for thousands of people.
        "HOLDFAST_RATE_PER_S": PLENTY,
        "HOLDFAST_RATE_BURST": PLENTY,
        "HOLDFAST_STATEMENTS_PER_USER_MAX": "0",
        "HOLDFAST_CHATS_PER_USER_MAX": "0",
        "HOLDFAST_STREAMS_PER_USER_MAX": "0",
        "HOLDFAST_STREAMS_PER_CHAT_MAX": "0",
        "HOLDFAST_CHAT_TEXTS": "off",  # a turn is measured, and not what is made beside it
        **(wanted.settings or {}),
    }


@asynccontextmanager
async def started(
    command: tuple[str, ...], settings: Mapping[str, str], log: Path
) -> AsyncGenerator[Process]:
    """A module and its arguments, once it says where it is ready; nothing of our own HOLDFAST_
    settings reaches it."""
    with log.open("wb") as told:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", *command),
            env={"PATH": os.pathsep.join(os.get_exec_path()), "LANG": "C.UTF-8", **settings},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=told,
            start_new_session=True,  # Ctrl-C in a terminal is for us: we stop it, in our order
        )
    assert process.stdout is not None
    try:
        line = await _ready(process.stdout, " ".join(command[:2]), log)
        found = re.search(r"http://\S+", line)
        port = settings.get("HOLDFAST_METRICS_PORT")
        metrics = f"http://127.0.0.1:{port}" if port else ""
        yield Process(process.pid, found[0] if found else "", metrics)
    finally:
        await _stop(process)


async def _ready(said: asyncio.StreamReader, name: str, log: Path) -> str:
    try:
        async with asyncio.timeout(START_S):
            while line := (await said.readline()).decode():
                if "ready" in line or "listening" in line:
                    return line
    except TimeoutError:
        pass
    why = await asyncio.to_thread(_last_of, log)
    raise CannotRun(f"`{name}` did not start: {why or 'it said nothing'}")


def _last_of(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_CHARS_TOLD:].strip()


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def allow_many_files(needed: int) -> None:
    """For us and for what we start. Raises `CannotRun` if the system does not let us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise CannotRun(
            f"{needed} open files are needed, and the limit is {hard}: raise it with"
            f" `ulimit -n {needed}`, or ask for fewer chats."
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
