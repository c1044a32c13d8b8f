"""A proof that somebody ends."""

import asyncio
import os
import signal
import sys

import pytest

from holdfast.cli.exit_codes import Exit
from holdfast_lab.chaos.harness.folders import running_in, short_folder


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_what_is_ended_leaves_no_server_behind(number: signal.Signals) -> None:
    with short_folder() as folder:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-u", "-m", "holdfast", "lab", "prove", "--only", "process trees"),
            env={**os.environ, "TMPDIR": str(folder)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while not running_in(folder):  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(0.1)
        process.send_signal(number)
        async with asyncio.timeout(60):
            said = await process.stdout.read()
            code = await process.wait()
        left = running_in(folder)
    assert code == Exit.INTERRUPTED, said
    assert left == []
