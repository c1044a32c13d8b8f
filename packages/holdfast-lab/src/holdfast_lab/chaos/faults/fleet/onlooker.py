"""A person who asks a server again and again, in a process of its own: the longest wait.

The strangers of an attack keep their own process busy. A person who shared that process would wait
for the attack's own work, and the figure would not be the server's.
"""

import asyncio
import http.client
import json
import select
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from holdfast_lab.chaos.harness.served import Served

PATHS: Final = ("/healthz", "/api/v1/chats")
PAUSE_S: Final = 0.02
ANSWER_S: Final = 30.0
REFUSALS_MAX: Final = 5


@dataclass
class Onlooker:
    server: Served
    address: str
    longest_s: float = 0.0
    refused: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def looking(self) -> AsyncGenerator[None]:
        """The person asks from the first answer on, until the block ends."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, self.server.admin.url, self.address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{self.server.admin.headers['authorization']}\n".encode())
            assert await process.stdout.readline(), "the onlooker did not start"
            yield
            process.stdin.close()
            told, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        seen = json.loads(told)
        self.longest_s = max(self.longest_s, seen["longest_s"])
        self.refused += seen["refused"]


def look(url: str, address: str, authorization: str) -> None:
    """Ask until standard input ends. Each request has a connection of its own."""
    longest_s, refused, rounds = 0.0, list[str](), 0
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        for path in PATHS:
            began_s = time.monotonic()
            problem = _ask(url, address, authorization, path)
            longest_s = max(longest_s, time.monotonic() - began_s)
            if problem is not None:
                refused.append(problem)
        if rounds == 0:
            longest_s = 0.0  # the first round also warms this process
            _tell("looking")
        rounds += 1
    told = {"longest_s": longest_s, "refused": refused[:REFUSALS_MAX], "rounds": rounds}
    _tell(json.dumps(told))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _ask(url: str, address: str, authorization: str, path: str) -> str | None:
    where = urlsplit(url)
    person = http.client.HTTPConnection(
        where.hostname or "", where.port, timeout=ANSWER_S, source_address=(address, 0)
    )
    try:
        person.request("GET", path, headers={"authorization": authorization})
        answer = person.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"{path} was not answered: {error!r}"
    finally:
        person.close()
    return None if answer.status == http.client.OK else f"{path} was answered {answer.status}"


if __name__ == "__main__":
    look(sys.argv[1], sys.argv[2], sys.stdin.readline().strip())
