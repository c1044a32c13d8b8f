"""`just bench-http`: a sent message and a told event, beside a bare app on the same server.

Writes benchmarks/http.md and its share of benchmarks/http.json.
"""

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import orjson

from benchmarks.http_clients import Counted, get, post, reading, send_all
from benchmarks.report import stamp, write_json, write_page
from holdfast.bootstrap.edge import create_first_with_key, open_identity
from holdfast.settings import read_settings
from holdfast_lab.bench.processes import process_cpu_s
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.support.database import migrated_template, temporary_database

CHATS = 4
CONNECTIONS = 16
TEXT = "What is the weather like, and what should I wear? " * 4
PER_S = {200: 20.0, 2_000: 8.0}
"""Live parts of a chat per second, by the number of readers: well below what would be too much."""


@dataclass(frozen=True)
class Fanout:
    readers: int
    per_s: float
    cpu_us: float
    event_bytes: float
    cores: float


@dataclass(frozen=True)
class Posting:
    per_s: float
    cpu_ms: float


@dataclass(frozen=True)
class Process:
    pid: int
    url: str


@asynccontextmanager
async def process(*arguments: str, **environment: str) -> AsyncGenerator[Process]:
    """Of Python, until it says where it is ready; gone afterwards."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
    )
    assert started.stdout is not None
    try:
        async with asyncio.timeout(60):
            said = ""
            while "ready" not in said:
                said = (await started.stdout.readline()).decode()
                assert said, f"{arguments} ended before it was ready"
        found = re.search(r"http://\S+", said)
        yield Process(started.pid, "" if found is None else found[0])
    finally:
        started.terminate()
        async with asyncio.timeout(60):
            await started.communicate()


@dataclass(frozen=True)
class Cell:
    """One replica that only serves, one worker, a simulator, and an admin's key."""

    server: Process
    key: str

    async def new_chats(self, count: int) -> list[str]:
        asked = [post("/api/v1/chats", self.key, b"{}")] * count
        made = await send_all(self.server.url, asked, CONNECTIONS)
        return [orjson.loads(answer)["chat_id"] for answer in made]

    async def say(self, chats: list[str], text: str) -> list[bytes]:
        body = orjson.dumps({"text": text})
        asked = [post(f"/api/v1/chats/{chat}/messages", self.key, body) for chat in chats]
        return await send_all(self.server.url, asked, CONNECTIONS)


@asynccontextmanager
async def a_cell(template: str, bus_url: str, *, with_worker: bool) -> AsyncGenerator[Cell]:
    async with temporary_database(template) as url, simulator_process() as simulator:
        model = {
            "name": "sim",
            "vendor": "simulator-anthropic",
            "model": "claude-sonnet-5",
            "base_url": simulator,
            "api_key": "any",
        }
        environment = {
            "HOLDFAST_DATABASE_URL": url,
            "HOLDFAST_MODELS": orjson.dumps([model]).decode(),
            "HOLDFAST_BUS_URL": bus_url,
            "HOLDFAST_BUS_PREFIX": f"bench{uuid4().hex[:8]}",
            "HOLDFAST_LOG_LEVEL": "WARNING",
            "HOLDFAST_CHAT_TEXTS": "off",
            "HOLDFAST_RATE_PER_S": "1000000",
            "HOLDFAST_STATEMENTS_PER_USER_MAX": "0",
            "HOLDFAST_CHATS_PER_USER_MAX": "0",
            "HOLDFAST_STREAMS_PER_USER_MAX": "0",
            "HOLDFAST_STREAMS_PER_CHAT_MAX": "0",
            "HOLDFAST_RATE_BURST": "1000000",
        }
        key = await _first_key(url)
        serve = process(
            "-m", "holdfast", "serve", HOLDFAST_ROLE="api", HOLDFAST_PORT="0", **environment
        )
        async with serve as server:
            if not with_worker:
                yield Cell(server, key)
                return
            async with process("-m", "holdfast", "worker", **environment):
                yield Cell(server, key)


async def _first_key(url: str) -> str:
    async with open_identity(read_settings(database_url=url, role="api")) as identity:
        first = await create_first_with_key(
            identity,
            organisation="Bench",
            email="bench@holdfast.example",
            password="correct horse battery staple",
            name="Bench",
        )
    assert first is not None
    return first.key.secret


# Events to many.


async def fanout(cell: Cell, readers: int, seconds: float) -> Fanout:
    per_s = PER_S[readers]
    chats = await cell.new_chats(CHATS)
    requests = [
        get(f"/api/v1/chats/{chats[number % CHATS]}/events", cell.key) for number in range(readers)
    ]
    async with reading(cell.server.url, requests) as counted:
        words = int(per_s * (seconds + 6))
        await cell.say(chats, f"[[sim: words={words} | rate={per_s:g}]]")
        await counted.until(lambda: counted.parts >= readers * 10)
        return await _window(cell.server, readers, seconds, counted)


async def bare_fanout(like: Fanout, seconds: float) -> Fanout:
    per_chat_s = like.per_s / like.readers
    app = process(
        "-m", "benchmarks.http_bare", str(round(like.event_bytes)), str(per_chat_s), str(CHATS), "1"
    )
    async with app as server:
        requests = [get(f"/{number % CHATS}", "none") for number in range(like.readers)]
        async with reading(server.url, requests) as counted:
            await asyncio.sleep(1)
            return await _window(server, like.readers, seconds, counted)


async def _window(server: Process, readers: int, seconds: float, counted: Counted) -> Fanout:
    began, cpu = time.monotonic(), process_cpu_s(server.pid)
    parts, size = counted.parts, counted.bytes
    await asyncio.sleep(seconds)
    took = time.monotonic() - began
    cpu = process_cpu_s(server.pid) - cpu
    parts, size = counted.parts - parts, counted.bytes - size
    assert counted.lost == 0, f"{counted.lost} readers were cut off"
    return Fanout(readers, parts / took, cpu / parts * 1e6, size / parts, cpu / took)


# Messages that are sent.


async def posting(cell: Cell, count: int) -> tuple[Posting, int]:
    """Nobody drives the chats, so what is counted is the sending alone."""
    warm, chats = await cell.new_chats(50), await cell.new_chats(count)
    await cell.say(warm, TEXT)
    began, cpu = time.monotonic(), process_cpu_s(cell.server.pid)
    answers = await cell.say(chats, TEXT)
    took, cpu = time.monotonic() - began, process_cpu_s(cell.server.pid) - cpu
    assert len(answers) == count
    return Posting(count / took, cpu / count * 1e3), len(answers[0])


async def bare_posting(count: int, answer_bytes: int) -> Posting:
    async with process("-m", "benchmarks.http_bare", "100", "1", "1", str(answer_bytes)) as server:
        asked = [post("/messages", "none", orjson.dumps({"text": TEXT}))] * count
        await send_all(server.url, asked[:50], CONNECTIONS)
        began, cpu = time.monotonic(), process_cpu_s(server.pid)
        await send_all(server.url, asked, CONNECTIONS)
        took, cpu = time.monotonic() - began, process_cpu_s(server.pid) - cpu
    return Posting(count / took, cpu / count * 1e3)


@dataclass(frozen=True)
class Measured:
    ours: list[Fanout]
    bare: list[Fanout]
    post: Posting
    bare_post: Posting

    @property
    def ratios(self) -> list[float]:
        """Events per second of CPU, ours to the bare app's."""
        pairs = zip(self.ours, self.bare, strict=True)
        return [bare.cpu_us / ours.cpu_us for ours, bare in pairs]


async def measure(bus_url: str, seconds: float, posts: int) -> Measured:
    ours: list[Fanout] = []
    async with migrated_template() as template:
        async with a_cell(template, bus_url, with_worker=True) as cell:
            for readers in PER_S:
                ours.append(await fanout(cell, readers, seconds))
                print(ours[-1], flush=True)
        async with a_cell(template, bus_url, with_worker=False) as cell:
            post_ours, answer_bytes = await posting(cell, posts)
    print(post_ours, flush=True)
    bare = [await bare_fanout(each, seconds) for each in ours]
    return Measured(ours, bare, post_ours, await bare_posting(posts, answer_bytes))


def write(measured: Measured) -> None:
    figures: dict[str, float] = {
        "fanout_ratio_to_bare": round(min(measured.ratios), 2),
        "post_cpu_ms": round(measured.post.cpu_ms, 2),
        "post_per_s": round(measured.post.per_s),
        "post_per_s_bare": round(measured.bare_post.per_s),
        "post_cpu_ms_bare": round(measured.bare_post.cpu_ms, 3),
    }
    rows = ""
    for ours, bare, ratio in zip(measured.ours, measured.bare, measured.ratios, strict=True):
        figures[f"fanout_ratio_{ours.readers}"] = round(ratio, 2)
        figures[f"fanout_us_{ours.readers}"] = round(ours.cpu_us, 1)
        for name, each in (("Holdfast", ours), ("bare", bare)):
            rows += (
                f"| {each.readers:,} | {name} | {each.per_s:,.0f} | {each.event_bytes:.0f} "
                f"| {each.cpu_us:.1f} | {1e6 / each.cpu_us:,.0f} | {each.cores:.2f} "
                f"| {f'**{ratio:.2f}**' if each is ours else '1'} |\n"
            )
    load = os.getloadavg()[0]
    page = Path(__file__).with_name("http.template.md").read_text(encoding="utf-8")
    post = measured.post
    write_page(
        "http",
        page.format(
            stamp=stamp(),
            load=f"{load:.1f}",
            fanout=rows,
            post=f"| Holdfast | {post.per_s:,.0f} | {post.cpu_ms:.2f} |\n"
            f"| bare | {measured.bare_post.per_s:,.0f} | {measured.bare_post.cpu_ms:.3f} |\n",
        ),
    )
    write_json("http", figures)
    print(rows, figures, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--posts", type=int, default=2_000)
    parser.add_argument("--bus", default="redis://127.0.0.1:6379")
    given = parser.parse_args()
    write(asyncio.run(measure(given.bus, given.seconds, given.posts)))


if __name__ == "__main__":
    main()
