"""The command: a process of its own that says where it listens and stops when told to."""

import asyncio
import re
import sys
from pathlib import Path

import aiohttp
from typer.testing import CliRunner

from holdfast_simulator.command import app
from holdfast_simulator.faults import Fault


async def test_it_runs_as_a_process_with_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"steps": [{"do": "say \\"from the script\\""}]}')
    arguments = ["-m", "holdfast_simulator", "--port", "0", "--rate", "0", "--script", str(script)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
            found = re.search(r"http://\S+", line)
            assert found is not None
            given = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            headers = {"authorization": "Bearer k"}
            url = found[0] + "/v1/chat/completions"
            async with (
                aiohttp.ClientSession() as client,
                client.post(url, json=given, headers=headers) as answer,
            ):
                reply = await answer.json()
        assert reply["choices"][0]["message"]["content"] == "from the script"
    finally:
        process.terminate()
        async with asyncio.timeout(60):
            await process.communicate()


def test_it_lists_its_faults() -> None:
    shown = CliRunner().invoke(app, ["--faults"])
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.output.splitlines()] == [str(f) for f in Fault]


def test_it_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text("[")
    for arguments in (["--fault", "gremlin"], ["--script", str(script)]):
        shown = CliRunner().invoke(app, arguments)
        assert shown.exit_code == 2
    assert CliRunner().invoke(app, ["--help"]).exit_code == 0
