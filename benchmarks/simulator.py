"""How many short streams does the simulator serve on one core?

The simulator runs as a process of its own, pinned to one core; the client runs here, on another one
if there is one. Each stream is a request of its own with about ten deltas, read to its end.

    uv run python benchmarks/simulator.py --seconds 10 --streams 32
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time

import aiohttp

TEXT = "one two three four five six seven eight nine ten"
BODIES: dict[str, tuple[str, dict[str, str], dict[str, object]]] = {
    "anthropic": (
        "/v1/messages",
        {"x-api-key": "k", "anthropic-version": "2023-06-01"},
        {"model": "claude-sonnet-5", "max_tokens": 100, "stream": True},
    ),
    "responses": (
        "/v1/responses",
        {"authorization": "Bearer k"},
        {"model": "gpt-5.4", "stream": True},
    ),
    "chat": (
        "/v1/chat/completions",
        {"authorization": "Bearer k"},
        {"model": "sim-open", "stream": True},
    ),
    "gemini": (
        "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
        {"x-goog-api-key": "k"},
        {},
    ),
}


def body(wire: str, text: str) -> dict[str, object]:
    given: dict[str, object] = dict(BODIES[wire][2])
    if wire == "responses":
        given["input"] = text
    elif wire == "gemini":
        given["contents"] = [{"role": "user", "parts": [{"text": text}]}]
    else:
        given["messages"] = [{"role": "user", "content": text}]
    return given


async def measure(url: str, wire: str, seconds: float, streams: int) -> float:
    """Streams per minute."""
    path, headers, _ = BODIES[wire]
    data = json.dumps(body(wire, f'[[sim: say "{TEXT}"]]')).encode()
    until = time.monotonic() + seconds
    done = 0

    async def one_after_the_other(client: aiohttp.ClientSession) -> None:
        nonlocal done
        while time.monotonic() < until:
            async with client.post(url + path, data=data, headers=headers) as answer:
                assert answer.status == 200
                async for _ in answer.content.iter_any():
                    pass
            done += 1

    began = time.monotonic()
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(streams):
            tasks.create_task(one_after_the_other(client))
    return done * 60 / (time.monotonic() - began)


async def main(seconds: float, streams: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "holdfast_simulator", "--port", "0", "--rate", "0"),
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, {cores[0]}),
    )
    os.sched_setaffinity(0, {cores[-1]})
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            greeting = (await process.stdout.readline()).decode()
        found = re.search(r"http://\S+", greeting)
        assert found is not None
        for wire in BODIES:
            rate = await measure(found[0], wire, seconds, streams)
            print(f"{wire:<10} {rate:>8.0f} streams per minute, {streams} at once")
    finally:
        process.terminate()
        await process.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--streams", type=int, default=32)
    given = parser.parse_args()
    asyncio.run(main(given.seconds, given.streams))
