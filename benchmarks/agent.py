"""The workspace agent, measured: what a command costs through it, how fast a wait wakes, what a
flood of output does to its memory.

    just bench-agent              all of it, with the external sandbox; into benchmarks/tools.json
    just bench-agent --rounds 20  quicker

`execute`: start and wait through agent and client, beside bare `subprocess` of the same words.
`waits`: 500 waits for one process; `date` is the last thing it does, so that its word is the end.
"""

import argparse
import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from benchmarks.tools_page import write_tools
from holdfast.workspace.client import AgentClient
from holdfast_agent.wire import Input, Start, State
from tests.support.agents import Agent, running_agent

WAITS: Final = 500
MIB: Final = 1024 * 1024


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--flood-mib", type=int, default=10_000)
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for tree in ("namespace", "keeper"):
        with (
            tempfile.TemporaryDirectory() as folder,
            running_agent(Path(folder), "--tree", tree) as agent,
        ):
            async with Counting(agent.address) as client:
                figures[f"execute_{tree}"] = await execute(client, options.rounds)
                if tree == "namespace":
                    figures["waits"] = await waits(client, agent)
                    figures["flood"] = await flood(client, agent, options.flood_mib)
    flat = {
        f"agent_{part}_{name}": figure
        for part, each in figures.items()
        for name, figure in each.items()
    }
    print(flat)
    write_tools("agent", flat)


async def execute(client: AgentClient, rounds: int) -> dict[str, float]:
    async def through(number: int) -> None:
        await client.start("bench", f"k{number}", Start(command="true"))
        look = await client.look("bench", f"k{number}", wait_s=30)
        assert look.process.exit_code == 0

    async def bare(_number: int) -> None:
        child = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", "true", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        await child.communicate()

    agent_ms = await timed(through, rounds)
    bare_ms = await timed(bare, rounds)
    return {"agent_ms": agent_ms, "bare_ms": bare_ms, "added_ms": round(agent_ms - bare_ms, 2)}


async def timed(do: Callable[[int], Awaitable[None]], rounds: int) -> float:
    """Milliseconds, the median."""
    for number in range(5):
        await do(-1 - number)
    took: list[float] = []
    for number in range(rounds):
        began = time.perf_counter()
        await do(number)
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1000, 2)


class Counting(AgentClient):
    """Counts what it asks for."""

    requests = 0

    async def _exchange(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
        method: str,
        path: str,
        said: BaseModel | None,
        query: Mapping[str, str] | None,
        wait_s: float,
    ) -> tuple[int, bytes]:
        self.requests += 1
        return await super()._exchange(method, path, said, query, wait_s)


async def waits(client: Counting, agent: Agent) -> dict[str, float]:
    start = Start(command="read line; date +%s.%N", input="open")
    await client.start("bench", "waited", start)
    woken: list[float] = []
    before = client.requests

    async def wait() -> None:
        look = await client.look("bench", "waited", wait_s=120)
        woken.append(time.time() - float(look.output.text))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(WAITS):
            tasks.create_task(wait())
        await asyncio.sleep(3)
        cpu_s, naps = agent.cpu_s(), agent.naps()
        await asyncio.sleep(5)
        cpu_s, naps = agent.cpu_s() - cpu_s, agent.naps() - naps
        asked = client.requests - before
        await client.write_input("bench", "waited", Input(text="\n"))
    woken.sort()
    return {
        "waits": WAITS,
        "requests": asked,
        "naps_in_5_s": naps,
        "agent_cpu_s_in_5_s": round(cpu_s, 3),
        "first_ms": round(woken[0] * 1000, 1),
        "median_ms": round(woken[WAITS // 2] * 1000, 1),
        "last_ms": round(woken[-1] * 1000, 1),
        "alone_ms": round(await alone(client) * 1000, 1),
    }


async def alone(client: AgentClient) -> float:
    """One wait, the median of 20, seconds."""
    took: list[float] = []
    for number in range(20):
        key = f"alone{number}"
        await client.start("bench", key, Start(command="read line; date +%s.%N", input="open"))
        async with asyncio.TaskGroup() as tasks:
            wait = tasks.create_task(client.look("bench", key, wait_s=60))
            await asyncio.sleep(0.05)
            await client.write_input("bench", key, Input(text="\n"))
        took.append(time.time() - float(wait.result().output.text))
    return statistics.median(took)


async def flood(client: AgentClient, agent: Agent, mib: int) -> dict[str, float]:
    before = agent.rss_bytes()
    began = time.perf_counter()
    await client.start("bench", "flood", Start(command=f"head -c {mib * MIB} /dev/zero; echo end"))
    most = before
    while True:
        look = await client.look("bench", "flood", after=-1, wait_s=0.5)
        most = max(most, agent.rss_bytes())
        if look.process.state is State.ENDED:
            break
    assert look.output.text.endswith("end\n")
    assert look.process.bytes_written == mib * MIB + 4
    return {
        "mib": mib,
        "kept_bytes": len(look.output.text) + (len(look.head.text) if look.head else 0),
        "rss_grew_mib": round((most - before) / MIB, 1),
        "mib_per_s": round(mib / (time.perf_counter() - began)),
    }


if __name__ == "__main__":
    asyncio.run(main())
