"""The simulator as a process of its own, and the endpoints that lead to it."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from holdfast.providers.endpoints import VENDORS, endpoint_of
from holdfast.providers.types import Endpoint

PATHS: Final = {"anthropic": "", "responses": "/v1", "chat": "/v1", "gemini": "/v1beta"}
START_S: Final = 30
STOP_S: Final = 10


@asynccontextmanager
async def simulator_process(*options: str) -> AsyncGenerator[str]:
    """The address of a simulator that is gone afterwards."""
    arguments = ["-m", "holdfast.simulator", "--port", "0", "--rate", "0", *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = (await process.stdout.readline()).decode()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield found[0]
    finally:
        process.terminate()
        async with asyncio.timeout(STOP_S):
            await process.communicate()


def endpoint_at(url: str, wire: str, **headers: str) -> Endpoint:
    """The simulator's endpoint on this wire; `x_sim_fault="…"` and the like direct its answer."""
    vendor = VENDORS[f"simulator-{wire}"]
    endpoint = endpoint_of(vendor, "any-key", base_url=url + PATHS[wire])
    directed = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(endpoint, headers={**endpoint.headers, **directed})
