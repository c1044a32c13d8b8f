"""Each failure says what to do, and doing literally that works on the next call (set 8)."""

from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

from tests.support.agents import Agent, running_agent
from tests.support.bench_tools import BenchTools, bench_tools


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Generator[Agent]:
    with running_agent(tmp_path_factory.mktemp("agent")) as agent:
        yield agent


@pytest.fixture
async def tools(agent: Agent) -> AsyncGenerator[BenchTools]:
    async with bench_tools(agent) as found:
        yield found


Call = tuple[str, dict[str, Any]]
SLEEP: Call = ("execute", {"command": "sleep 60", "background": True})

RECOVERIES: dict[str, tuple[tuple[Call, ...], Call, str, Call]] = {
    # before; the call that fails; the advice in its text; the call that takes it literally
    "a directory that is not there": (
        (),
        ("execute", {"command": "pwd", "cwd": "new/part"}),
        "Create it",
        ("execute", {"command": "mkdir -p new/part && cd new/part && pwd"}),
    ),
    "a directory outside": (
        (),
        ("execute", {"command": "pwd", "cwd": "../.."}),
        "Give a directory inside it as cwd",
        ("execute", {"command": "pwd", "cwd": "."}),
    ),
    "a process that is not there": (
        (),
        ("process_output", {"process": "p99"}),
        "Call process_list",
        ("process_list", {}),
    ),
    "input for a process without stdin": (
        (SLEEP,),
        ("process_input", {"process": "p1", "text": "y\n"}),
        "execute with stdin=true",
        ("execute", {"command": "cat", "background": True, "stdin": True}),
    ),
    "input after stdin was closed": (
        (
            ("execute", {"command": "cat; sleep 60", "background": True, "stdin": True}),
            ("process_input", {"process": "p1", "close": True}),
        ),
        ("process_input", {"process": "p1", "text": "y\n"}),
        "Start it again",
        ("execute", {"command": "cat", "background": True, "stdin": True}),
    ),
    "a signal for what has exited": (
        (("execute", {"command": "true"}),),
        ("process_signal", {"process": "p1"}),
        "Call process_output",
        ("process_output", {"process": "p1"}),
    ),
    "a command that is too long": (
        (),
        ("execute", {"command": ": " + "x" * 130_000}),
        "Write it to a file and run the file",
        ("execute", {"command": "echo 'echo ran' > long.sh && sh long.sh"}),
    ),
    "a zero byte": (
        (),
        ("execute", {"command": "echo a\0b"}),
        "Remove it",
        ("execute", {"command": "echo ab"}),
    ),
}


@pytest.mark.parametrize("name", RECOVERIES)
async def test_the_advice_of_a_failure_works_on_the_next_call(tools: BenchTools, name: str) -> None:
    before, (tool, arguments), advice, (next_tool, next_arguments) = RECOVERIES[name]
    for earlier, given in before:
        await tools.says(earlier, **given)
    assert advice in await tools.fails(tool, **arguments)
    await tools.says(next_tool, **next_arguments)
