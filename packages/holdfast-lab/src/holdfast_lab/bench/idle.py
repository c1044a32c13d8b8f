"""What readers cost that only wait: memory of the process that serves them, beside that of a bare
app on the same HTTP server, which holds as many; and how soon a message reaches one of them."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast_lab.bench.cell import started
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.page import document, table
from holdfast_lab.bench.processes import memory_bytes, process_cpu_s
from holdfast_lab.bench.running import CannotRun, LoadRun, Outcome, Target
from holdfast_lab.bench.told import Told
from holdfast_lab.bench.whole import Asked
from holdfast_lab.bench.wire import EventStream, get, open_streams

GOAL_BYTES: Final = 25_000
GOAL_MS: Final = 50.0
SPOKEN_TO_MAX: Final = 20
SPOKEN_TO_EVERY_S: Final = 0.25
SHARE_OF_ONE_CHAT: Final = 10
"""One in so many of the readers, for what further readers of one chat cost."""
LOOKS_EVERY_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Memory of one process, in bytes, before there were readers and with them."""

    readers: int
    before: int
    after: int

    @property
    def each(self) -> float:
        return (self.after - self.before) / self.readers


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    ours: Held
    bare: Held
    of_one_chat: Held
    cpu_share: float
    """Of one core, by the server, while nothing is said."""
    outcome: Outcome
    setup: Mapping[str, str | int]

    @property
    def beyond_bare(self) -> float:
        return self.ours.each - self.bare.each


class _Quiet:
    """Reads, and only knows whether it began and whether it was cut."""

    def __init__(self) -> None:
        self.began = False
        self.reason = ""

    def event(self, kind: bytes, data: bytes) -> None:  # noqa: ARG002
        self.began = self.began or kind == b"chat.state"

    def cut(self, reason: str) -> None:
        self.reason = reason


async def measure_idle(asked: Asked, stage: Callable[[str], None], rest_s: float) -> Told:
    """`rest_s`: how long they wait before they are weighed; pings should be among it."""
    assert asked.folder is not None
    readers = asked.load.watched
    stage(f"{readers:,} readers of a bare app")
    command = ("holdfast_lab.bench.asgi", "1")
    async with started(command, {}, asked.folder / "asgi.log") as process:
        target = replace(asked.target, urls=[process.url])
        bare = await _held_by(process.pid, readers, target, rest_s)
    (server,) = asked.sources.pids["server"]
    few = min(SPOKEN_TO_MAX, -(-readers // 2))
    load = Load(chats=few, turns=1, silent=readers - few, spread_s=few * SPOKEN_TO_EVERY_S)
    found: list[Idle] = []

    async def go(run: LoadRun) -> None:
        stage(f"beginning {readers:,} chats")
        await run.begin_chats()
        before = memory_bytes([server])
        stage(f"{readers:,} readers wait")
        await run.watch_chats()
        cpu_share = await _rested(server, rest_s)
        ours = Held(readers=readers, before=before, after=memory_bytes([server]))
        stage(f"a message to each of {few}")
        await run.go()
        await run.check_histories()
        stage("further readers of one chat")
        same = await _of_one_chat(server, run, max(1, readers // SHARE_OF_ONE_CHAT), rest_s)
        found.append(
            Idle(
                ours=ours,
                bare=bare,
                of_one_chat=same,
                cpu_share=cpu_share,
                outcome=run.outcome,
                setup=asked.setup,
            )
        )

    await LoadRun(load, asked.target).run(go)
    return told(found[0])


async def _held_by(pid: int, readers: int, target: Target, rest_s: float) -> Held:
    held: list[Held] = []

    async def go(run: LoadRun) -> None:
        await run.begin_chats()
        before = memory_bytes([pid])
        await run.watch_chats()
        await _rested(pid, rest_s)
        held.append(Held(readers=readers, before=before, after=memory_bytes([pid])))

    await LoadRun(Load(chats=1, turns=1, silent=readers - 1), target).run(go)
    return held[0]


async def _rested(pid: int, rest_s: float) -> float:
    """What share of a core it used meanwhile."""
    began_s, used_s = time.perf_counter(), process_cpu_s(pid)
    await asyncio.sleep(rest_s)
    return (process_cpu_s(pid) - used_s) / (time.perf_counter() - began_s)


async def _of_one_chat(pid: int, run: LoadRun, readers: int, rest_s: float) -> Held:
    target, before = run.target, memory_bytes([pid])
    request = get(f"/api/v1/chats/{run.chat_ids[0]}/events", target.key)
    quiet = [_Quiet() for _ in range(readers)]
    streams: list[EventStream] = await open_streams([(target.urls[0], request, q) for q in quiet])
    try:
        async with asyncio.timeout(target.patience_s):
            while not all(each.began for each in quiet):  # noqa: ASYNC110
                await asyncio.sleep(LOOKS_EVERY_S)
        await asyncio.sleep(rest_s)
        return Held(readers=readers, before=before, after=memory_bytes([pid]))
    except TimeoutError:
        why = next((each.reason for each in quiet if each.reason), "some did not begin")
        raise CannotRun(f"{readers} readers of one chat: {why}") from None
    finally:
        for stream in streams:
            stream.close()


def told(found: Idle) -> Told:
    passed = not found.outcome.wrong and found.outcome.turns == found.outcome.histories
    lines = list(_lines(found, passed=passed))
    reached = found.outcome.told.summary()
    figures = {
        "passed": passed,
        "setup": dict(found.setup),
        "readers": found.ours.readers,
        "bytes_per_idle_reader": round(found.beyond_bare),
        "bytes_per_reader": round(found.ours.each),
        "bytes_per_reader_bare": round(found.bare.each),
        "bytes_per_reader_of_one_chat": round(found.of_one_chat.each),
        "idle_cpu_share": round(found.cpu_share, 3),
        "message_arrives_median_ms": reached.get("p50"),
        "message_arrives_max_ms": reached.get("max"),
        "messages": found.outcome.turns,
        "wrong": found.outcome.wrong,
        "memory_bytes": found.ours.after,
    }
    title = f"{found.ours.readers:,} readers that wait"
    sizes = {
        "beyond the bare app": found.beyond_bare,
        "Holdfast": found.ours.each,
        "bare app": found.bare.each,
        "further ones of one chat": found.of_one_chat.each,
    }
    drawn = table("Memory of a reader", sizes, "bytes")
    page = document(title, found.setup, "\n".join(lines), drawn, passed=passed)
    return Told(passed=passed, figures=figures, lines=lines, page=page)


def _lines(found: Idle, *, passed: bool) -> Iterator[str]:
    ours, bare = found.ours, found.bare
    yield f"{ours.readers:,} readers that wait, each of a chat of its own, on one process"
    said = "within" if found.beyond_bare <= GOAL_BYTES else "beyond"
    yield (
        f"Memory of a reader: {ours.each:,.0f} bytes, {bare.each:,.0f} on a bare app:"
        f" {found.beyond_bare:,.0f} more, {said} {GOAL_BYTES:,}"
    )
    yield f"Of a further reader of the same chat: {found.of_one_chat.each:,.0f} bytes"
    yield (
        f"The process holds {ours.after / 2**20:,.0f} MiB, and uses"
        f" {found.cpu_share:.1%} of a core while nothing is said"
    )
    reached = found.outcome.told.summary()
    if reached:
        said = "within" if reached["max"] <= GOAL_MS else "beyond"
        yield (
            f"A message reaches one of them in {reached['p50']:.1f} ms, at most"
            f" {reached['max']:.1f} of {reached['count']}: {said} {GOAL_MS:g}"
        )
    if passed:
        yield "Every message was told once, to its reader alone."
    for chat_id, reason in found.outcome.wrong.items():
        yield f"FAILED: chat {chat_id}: {reason}"
