"""`just bench-walks`: how much code a message, a delta and a tool call pass through, counted.

A server runs with a profile function that notes each function of the server when it is called first
(`walks_tracer.py`). Three windows are recorded:

- a message: from the request until its answer of one word is committed, with one reader;
- a delta: half a second in the middle of a long answer;
- a tool call: a turn with one call of `clock`, without the functions of the message's window.

What an idle server calls (heartbeat, polls) is taken off each. With `--before COMMIT` the same is
counted in that commit's tree. Writes keys of benchmarks/house.json, and prints the functions in the
order of their first call. Comprehensions and lambdas are not counted.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
import orjson

from benchmarks import before
from benchmarks.report import write_json
from tests.support.database import temporary_database
from tests.support.workers import until

TRACER: Final = Path(__file__).with_name("walks_tracer")
"""A folder with a `sitecustomize.py`: Python imports it at its start."""
IDLE_S: Final = 8.0
"""Long enough for two heartbeats and four polls."""
DELTA_S: Final = 0.5
SETTLE_S: Final = 0.3
"""After the end of a turn, for what the server still does about it."""
IDLE: Final = '"status":"idle"'


@dataclass(frozen=True)
class Call:
    """A function of the server."""

    file: str
    name: str


@dataclass(frozen=True)
class Walk:
    name: str
    calls: tuple[Call, ...]

    @property
    def files(self) -> int:
        return len({call.file for call in self.calls})

    def without(self, others: Iterable[Call]) -> "Walk":
        left_out = frozenset(others)
        return Walk(self.name, tuple(call for call in self.calls if call not in left_out))


class Recorder:
    """Starts and reads the tracer of a running server."""

    def __init__(self, process: subprocess.Popen[str], file: Path) -> None:
        self._process = process
        self._file = file

    def start(self) -> None:
        self._process.send_signal(signal.SIGUSR1)

    async def stop(self, name: str) -> Walk:
        self._file.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR2)
        await until(self._file.exists)
        calls = orjson.loads(self._file.read_bytes())
        return Walk(name, tuple(Call(*call) for call in calls if not call[1].endswith(">")))


class Client:
    """One chat, by HTTP, and one reader of it."""

    def __init__(self, http: httpx2.AsyncClient, chat_id: str) -> None:
        self._http = http
        self._chat = f"/api/v1/chats/{chat_id}"
        self.ended = asyncio.Event()

    async def send(self, text: str) -> None:
        answer = await self._http.post(f"{self._chat}/messages", json={"text": text})
        assert answer.is_success, answer.text

    async def read(self) -> None:
        """Until cancelled; notes each end of a turn."""
        async with self._http.stream("GET", f"{self._chat}/events", timeout=None) as answer:
            async for line in answer.aiter_lines():
                if IDLE in line:
                    self.ended.set()

    async def turn(self, text: str) -> None:
        self.ended.clear()
        await self.send(text)
        async with asyncio.timeout(30):
            await self.ended.wait()
        await asyncio.sleep(SETTLE_S)


async def walk_all(command: Sequence[str]) -> list[Walk]:
    with tempfile.TemporaryDirectory(prefix="holdfast-walks-") as folder:
        record = Path(folder) / "calls.json"
        async with _served(command, record) as (recorder, client):
            reading = asyncio.create_task(client.read())
            await asyncio.sleep(SETTLE_S)
            await client.turn('Warm up. [[sim: call clock {} | then | say "ok"]]')
            recorder.start()
            await asyncio.sleep(IDLE_S)
            idle = await recorder.stop("idle")
            recorder.start()
            await client.turn('[[sim: say "ok"]]')
            message = await recorder.stop("message")
            recorder.start()
            await client.turn('[[sim: call clock {} | then | say "ok"]]')
            tool = await recorder.stop("tool_call")
            await client.send("[[sim: words=100 | rate=20]]")
            await asyncio.sleep(1.5)
            recorder.start()
            await asyncio.sleep(DELTA_S)
            delta = await recorder.stop("delta")
            reading.cancel()
    return [
        message.without(idle.calls),
        delta.without(idle.calls),
        tool.without((*idle.calls, *message.calls)),
    ]


@asynccontextmanager
async def _served(command: Sequence[str], record: Path) -> AsyncGenerator[tuple[Recorder, Client]]:
    """A server of its own database, beside a simulator; and a client of a new chat."""
    environment = before.environment()
    simulate = before.named_now(command, "lab", "simulate")
    simulator = _started([*command, *simulate, "--port", "0", "--rate", "0"], environment)
    try:
        address = _address(simulator)
        model = {"name": "sim", "vendor": "simulator-anthropic", "model": "claude-sonnet-5"}
        models = [{**model, "base_url": address, "api_key": "any"}]
        async with temporary_database("template0") as url:
            environment |= {
                "HOLDFAST_DATABASE_URL": url,
                "HOLDFAST_MODELS": orjson.dumps(models).decode(),
                "HOLDFAST_BUS_PREFIX": f"walks{uuid4().hex[:8]}",
                "HOLDFAST_LOG_LEVEL": "WARNING",
                "HOLDFAST_PORT": "0",
            }
            key = _first_key(command, environment)
            traced = {"PYTHONPATH": str(TRACER), "HOLDFAST_WALKS_FILE": str(record)}
            server = _started([*command, "serve"], environment | traced)
            try:
                headers = {"authorization": f"Bearer {key}"}
                async with httpx2.AsyncClient(base_url=_address(server), headers=headers) as http:
                    chat = (await http.post("/api/v1/chats", json={})).json()
                    yield Recorder(server, record), Client(http, chat["chat_id"])
            finally:
                _end(server)
    finally:
        _end(simulator)


def _first_key(command: Sequence[str], environment: dict[str, str]) -> str:
    migrate = before.named_now(command, "db", "migrate")
    subprocess.run([*command, *migrate], check=True, env=environment, capture_output=True)
    password = ("--password", "correct horse battery staple")
    init = "create-first" if len(migrate) == 1 else "init"  # an older tree's name
    create = [*command, "admin", init, "--email", "a@holdfast.example", *password]
    done = subprocess.run(create, check=True, env=environment, capture_output=True, text=True)
    found = re.search(r"\bhfst_\S+|\b[A-Za-z0-9_-]{30,}\b", done.stdout)
    assert found is not None, done.stdout
    return found[0]


def _started(command: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[^\s\"]+", line):
            return found[0]
    raise AssertionError("the process ended before it named its address")


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(timeout=60)


def figures(walks: Sequence[Walk], suffix: str = "") -> dict[str, int]:
    return {
        f"walk_{walk.name}_{what}{suffix}": count
        for walk in walks
        for what, count in (("files", walk.files), ("functions", len(walk.calls)))
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks")
    parser.add_argument("--before", metavar="COMMIT", help="count that commit's tree as well")
    options = parser.parse_args()
    ours = (str(Path(sys.executable).with_name("holdfast")),)
    walks = asyncio.run(walk_all(ours))
    found = figures(walks)
    if options.before:
        with (
            tempfile.TemporaryDirectory(prefix="holdfast-before-") as folder,
            before.tree_of(options.before, Path(folder) / "tree") as command,
        ):
            found |= figures(asyncio.run(walk_all(command)), "_before")
    for walk in walks:
        print(f"\n{walk.name}: {walk.files} files, {len(walk.calls)} functions")
        for call in walk.calls:
            print(f"  {call.file}  {call.name}")
    write_json("house", found)
    print(found)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
