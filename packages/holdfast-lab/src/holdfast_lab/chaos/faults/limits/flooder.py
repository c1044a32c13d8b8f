"""One person who searches with many clients at once, in a process of its own.

The searches keep their process busy. People who shared it would wait for the flood's own work, and
the figure would not be the server's.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import aiohttp

from holdfast_lab.chaos.harness.client import Client

CLIENTS: Final = 40
NOWHERE: Final = "chats?q=nowhere&limit=1"
REFUSALS: Final = ("too_many_statements", "list_too_slow", "unavailable")
WRONG_MAX: Final = 5


@dataclass
class Flooder:
    """What the process asked and was told."""

    who: Client
    asked: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def searching(self) -> AsyncGenerator[None]:
        """From the first answer on, until the block ends."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, self.who.url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{self.who.headers['authorization']}\n".encode())
            assert await process.stdout.readline(), "the flood did not start"
            yield
            process.stdin.close()
            told, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        seen = json.loads(told)
        self.asked += seen["asked"]
        self.refused += seen["refused"]
        self.wrong += seen["wrong"]


async def flood(url: str, authorization: str) -> None:
    """Search until standard input ends, and then tell what came of it."""
    asked, refused, wrong = 0, 0, list[str]()

    async def search(http: aiohttp.ClientSession) -> None:
        nonlocal asked, refused
        while not done.is_set():
            async with http.get(f"{url}/api/v1/{NOWHERE}") as answer:
                body = await answer.read()
            if asked == 0:
                _tell("searching")
            asked += 1
            if answer.status == 200:
                continue
            refused += 1
            if json.loads(body).get("code") not in REFUSALS:
                wrong.append(f"a search was refused with {answer.status} {body!r}")

    done = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), done.set)
    headers = {"authorization": authorization}
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(headers=headers, connector=connector) as http,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(CLIENTS):
            tasks.create_task(search(http))
    _tell(json.dumps({"asked": asked, "refused": refused, "wrong": wrong[:WRONG_MAX]}))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], sys.stdin.readline().strip()))
