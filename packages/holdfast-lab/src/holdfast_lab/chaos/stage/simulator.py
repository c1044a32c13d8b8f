"""The simulator as a process of its own."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

START_S: Final = 60
STOP_S: Final = 10


@asynccontextmanager
async def simulator_process(*options: str) -> AsyncGenerator[str]:
    """The address of a simulator that is gone afterwards."""
    arguments = ["-m", "holdfast_simulator", "--port", "0", "--rate", "0", *options]
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
