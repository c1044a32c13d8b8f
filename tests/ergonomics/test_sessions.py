"""Sessions with the programs that models run all day, through the real agent (set 4)."""

import shutil
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from holdfast_agent.environment import NEUTRAL
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


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture
def folder(agent: Agent, request: pytest.FixtureRequest) -> Path:
    """A directory of the workspace of its own; `cwd` is its name."""
    folder = agent.root / str(request.function.__name__)
    folder.mkdir()
    return folder


async def test_git_commits_and_shows_without_pager_editor_or_prompt(
    tools: BenchTools, folder: Path
) -> None:
    (folder / "a.txt").write_text("one\n")
    who = "git config user.name A && git config user.email a@example.com"
    await tools.says("execute", command=f"git init -q . && {who} && git add -A", cwd=folder.name)
    commit = await tools.says("execute", command="git commit -m first", cwd=folder.name)
    assert commit.startswith("exit code 0 (")
    (folder / "a.txt").write_text("two\n")
    shown = await tools.says("execute", command="git log -p && git diff", cwd=folder.name)
    assert "-one\n+two" in shown
    assert "\x1b" not in shown
    amended = await tools.says("execute", command="git commit -a --amend", cwd=folder.name)
    assert amended.startswith("exit code 0 ("), "an editor would wait for ever"
    cloned = await tools.says(
        "execute", command="git clone https://u@127.0.0.1:1/x.git", cwd=folder.name, timeout_s=60
    )
    assert cloned.startswith("exit code 128 ("), "git does not wait for a password"


def test_commands_are_not_told_that_they_run_in_ci() -> None:
    """Some tools would treat warnings as errors (R24)."""
    assert "CI" not in NEUTRAL


@needs("make")
async def test_make_reports_the_failing_target(tools: BenchTools, folder: Path) -> None:
    (folder / "Makefile").write_text("all:\n\t@echo built\n\t@exit 3\n")
    said = await tools.says("execute", command="make", cwd=folder.name)
    assert said.startswith("exit code 2 (")
    assert "\n\nbuilt\n" in said
    assert "Error 3" in said


async def test_pytest_shows_the_failing_assertion(tools: BenchTools, folder: Path) -> None:
    (folder / "test_a.py").write_text("def test_a():\n    assert 1 + 1 == 3\n")
    command = "python3 -m pytest -q --color=yes -p no:cacheprovider || python3 test_a.py"
    said = await tools.says("execute", command=command, cwd=folder.name)
    assert "\x1b" not in said
    assert "No module named pytest" in said or "assert (1 + 1) == 3" in said


@needs("node")
async def test_node_output_loses_its_colours(tools: BenchTools, folder: Path) -> None:
    command = "node -e \"console.log('\\x1b[32mgreen\\x1b[0m', process.stdout.isTTY)\""
    said = await tools.says("execute", command=command, cwd=folder.name)
    assert said.endswith("\n\ngreen undefined\n")


async def test_a_progress_bar_is_its_last_state(tools: BenchTools) -> None:
    command = "for n in $(seq 1 500); do printf '\\r%3d%% [####]' $n; done; echo; echo done"
    said = await tools.says("execute", command=command)
    assert said.endswith("\n\n500% [####]\ndone\n")


async def test_ten_megabytes_are_short_and_every_line_can_be_read(tools: BenchTools) -> None:
    result = await tools.call("execute", command="seq -f 'line number %.0f' 1 600000")
    said = str(result.value)
    assert result.truncated
    assert len(said.encode()) <= 32 * 1024
    assert "\n\nline number 1\n" in said
    assert said.endswith("line number 600000\n")
    path = said.partition("full output: ")[2].partition(" ...]")[0]
    tail = await tools.says("execute", command=f"sed -n 300000p {path}; wc -l {path}")
    assert f"line number 300000\n600000 {path}\n" in tail


async def test_the_working_directory_and_variables_do_not_persist(
    tools: BenchTools, folder: Path
) -> None:
    await tools.says("execute", command="cd / && export X=1")
    said = await tools.says("execute", command='pwd; echo "x=$X"', cwd=folder.name)
    assert said.endswith(f"/{folder.name}\nx=\n")


async def test_a_prompt_reads_the_end_of_stdin(tools: BenchTools) -> None:
    said = await tools.says("execute", command="read -r answer || echo no answer", timeout_s=60)
    assert said.endswith("\n\nno answer\n")


async def test_a_sleeping_command_returns_with_an_id_and_can_be_ended(tools: BenchTools) -> None:
    said = await tools.says("execute", command="echo begun; sleep 300", timeout_s=1)
    assert said.startswith("Still running after 1 s as p1: wait with process_output")
    assert "p1: running" in await tools.says("process_list")
    await tools.says("process_signal", process="p1")
    ended = await tools.says("process_output", process="p1", timeout_s=60)
    assert ended.startswith("p1: killed by signal TERM") or "exit code 143" in ended


async def test_a_server_in_the_background_answers_and_is_fed(tools: BenchTools) -> None:
    begun = await tools.says("execute", command="cat", background=True, stdin=True)
    assert begun.startswith("Started in the background as p1")
    await tools.says("process_input", process="p1", text="hello\n")
    heard = await tools.says("process_output", process="p1", until="output", timeout_s=60)
    assert heard == "p1: running; next=6\n\nhello\n"
    await tools.says("process_input", process="p1", text="again\n", close=True)
    rest = await tools.says("process_output", process="p1", after=6, timeout_s=60)
    assert rest.startswith("p1: exit code 0 (")
    assert rest.endswith("; next=12\n\nagain\n")


async def test_an_ampersand_does_not_lose_the_server(tools: BenchTools) -> None:
    said = await tools.says("execute", command="echo up; sleep 300 &")
    assert said == "Started in the background as p1\n\nup\n"
    await tools.says("process_signal", process="p1", signal="KILL")
