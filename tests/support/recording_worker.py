"""A worker in a process of its own, with tools whose effects are counted elsewhere; to be killed.

python -m tests.support.recording_worker '{"settings": {…}, "recorder": "http://…"}'
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson

from holdfast.bootstrap import Adapters, open_server
from holdfast.settings import Settings
from holdfast.tools.toolbox import Combined
from holdfast_lab.chaos.harness.tools import Testing
from tests.support.replica import Replicas

READY = b"ready\n"


async def main(part: dict[str, Any]) -> None:
    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, tools=Combined(Testing(part["recorder"]), adapters.tools))

    async with open_server(
        Settings.model_validate({"chat_texts": "off", **part["settings"]}), around
    ) as server:
        await server.ready()
        os.write(1, READY)
        await server.run()


@asynccontextmanager
async def recording_worker(
    replicas: Replicas, recorder: str, **more: Any
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Ready to drive; whoever leaves finds it gone."""
    settings = replicas.settings(role="worker", **more).model_dump(mode="json")
    models = [
        {**each, "api_key": "sk-of-the-worker"} for each in settings["models"]
    ]  # which a dump masks
    part = {"settings": {**settings, "models": models}, "recorder": recorder}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.support.recording_worker", orjson.dumps(part).decode()),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == READY
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()


if __name__ == "__main__":
    asyncio.run(main(orjson.loads(sys.argv[1])))
