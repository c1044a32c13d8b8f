"""The tools on a real workspace: a keeper, a database, an agent process, real commands."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast.tools.workspace import execute as execute_module
from tests.requirements import requirement
from tests.support.hands import Hands, hands, hands_on
from tests.support.stage import until


@pytest.fixture
async def at_work(template: str) -> AsyncGenerator[Hands]:
    async with hands_on(template) as found:
        yield found


def survivors(token: str) -> list[int]:
    """Processes whose command line has this in it."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with suppress(OSError):
                if token.encode() in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
    return found


@requirement("F17", "L105")
async def test_a_command_tells_how_it_ended_and_all_that_it_said(at_work: Hands) -> None:
    said = await at_work.says("execute", command="echo out; echo err >&2; exit 3")
    assert said.startswith("exit code 3 (")
    assert said.endswith(" s)\n\nout\nerr\n")
    assert "".join(at_work.shown) == "out\nerr\n"

    assert (await at_work.says("execute", command="true")).endswith(", no output")
    killed = await at_work.says("execute", command="kill -9 $$")
    assert "signal KILL" in killed or "exit code 137" in killed  # as whoever is above it tells it
    assert "/files\nlater" in await at_work.says("execute", command="pwd; echo later")

    flood = await at_work.says("execute", command="seq 1 200000; echo the end")
    assert "\n1\n2\n3\n" in flood
    assert "bytes omitted; full output: .holdfast/out/p5.log ...]" in flood
    assert flood.endswith("\n200000\nthe end\n")
    assert len(flood.encode()) <= 32 * 1024
    middle = await at_work.says("read_file", path=".holdfast/out/p5.log", offset=100_001, limit=3)
    assert "100001\n" in middle
    assert "nothing to commit" in await at_work.says(
        "execute", command="git init -q . && git add -A && git status --short && git status"
    )


async def test_a_command_result_has_fields_for_programs(at_work: Hands) -> None:
    ended = await at_work.call("execute", command="echo out; exit 3")
    assert (ended.exit_code, ended.signal, ended.process_id) == (3, None, None)
    assert ended.duration_ms is not None
    assert (ended.summary_lines, ended.truncated, ended.failed) == (2, False, False)

    flood = await at_work.call("execute", command="seq 1 200000")
    assert (flood.exit_code, flood.truncated) == (0, True)

    started = await at_work.call("execute", command="sleep 60", background=True)
    assert (started.exit_code, started.process_id) == (None, "p3")
    assert started.duration_ms is None
    await at_work.call("process_signal", process="p3", signal="KILL")
    looked = await at_work.call("process_output", process="p3", timeout_s=30)
    assert looked.process_id is None
    assert looked.signal == "KILL" or looked.exit_code == 137


@requirement("L100", "L101")
async def test_a_command_that_takes_longer_goes_on_and_can_be_asked_for(at_work: Hands) -> None:
    # Real time: the call waits for as long as it was told to, and then tells what there is.
    command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over"
    said = await at_work.says("execute", command=command, timeout_s=2.5)
    assert "Still running after 2.5 s as p1" in said
    assert said.endswith("\nbegun\n")
    assert "p1: running" in await at_work.says("process_list")

    (await at_work.files() / "go").touch()
    ended = await at_work.says("process_output", process="p1", timeout_s=30)
    assert ended.startswith("p1: exit code 0")
    assert ended.endswith("\nbegun\nover\n")
    rest = await at_work.says("process_output", process="p1", after=6)
    assert rest.endswith("next=11\n\nover\n")


@requirement("L98", "F17")
async def test_an_ampersand_at_the_end_starts_it_in_the_background(at_work: Hands) -> None:
    said = await at_work.says("execute", command="echo up; sleep 60 &")
    assert said == "Started in the background as p1\n\nup\n"
    assert "p1: running" in await at_work.says("process_list")
    failed = await at_work.says("execute", command="nonsense-4711 &")
    assert failed.startswith("exit code 127")

    both = await at_work.says("execute", command="true && echo yes 2>&1")
    assert both.endswith("\nyes\n")
    signalled = await at_work.says("process_signal", process="p1", signal="KILL")
    assert "p1: sent KILL" in signalled
    ended = await at_work.says("process_output", process="p1", timeout_s=30)
    assert "running" not in ended


@requirement("F17")
async def test_what_a_command_reads_can_be_written_to_it(at_work: Hands) -> None:
    begun = await at_work.says("execute", command="cat", stdin=True, background=True)
    assert "as p1" in begun
    await at_work.says("process_input", process="p1", text="hello\n")
    heard = await at_work.says("process_output", process="p1", timeout_s=30, until="output")
    assert heard.endswith("\nhello\n")
    await at_work.says("process_input", process="p1", close=True)
    assert "exit code 0" in await at_work.says("process_output", process="p1", timeout_s=30)

    late = await at_work.call("process_input", process="p1", text="too late")
    assert late.failed


async def run_twice(at_work: Hands) -> int:
    """A server that dies right after it started a command, and the next one; how often it ran."""
    command = "echo once >> done.txt; sleep 0.5; echo said"
    async with asyncio.TaskGroup() as group:
        first = group.create_task(at_work.call("execute", "c1", command=command))
        files = await at_work.files()
        await until((files / "done.txt").exists)
        first.cancel()
    async with at_work.successor() as successor:
        said = await successor.says("execute", "c1", command=command, again=True)
    assert said.startswith("exit code 0")
    assert said.endswith("\nsaid\n")
    return (files / "done.txt").read_text().count("once")


@requirement("X1", "L116")
async def test_a_successor_joins_the_command_that_runs_already(at_work: Hands) -> None:
    assert await run_twice(at_work) == 1


@requirement("X1", "L145")
async def test_command_is_not_run_again_in_a_workspace_that_was_made_anew(
    at_work: Hands, tmp_path: Path
) -> None:
    effects = tmp_path / "effects.txt"
    command = f"echo paid >> {effects}; sleep 30"
    async with asyncio.TaskGroup() as group:
        first = group.create_task(at_work.call("execute", "c1", command=command))
        await until(effects.exists)
        first.cancel()
    await at_work.keeper.delete(at_work.chat.chat_id)
    await at_work.keeper.create(at_work.chat)
    async with at_work.successor() as successor:
        again = await successor.call("execute", "c1", command=command, again=True)
        assert again.unknown
        assert "created again" in str(again.value)
        assert effects.read_text() == "paid\n"
        assert (await successor.says("execute", command="echo alive")).endswith("\nalive\n")


@requirement("L145")
async def test_command_that_no_server_started_is_run_by_the_successor(at_work: Hands) -> None:
    """The journal is the one of the commit, and does not know the key."""
    at_work.places["c1"] = at_work.toolbox.place
    assert at_work.places["c1"] is not None
    async with at_work.successor() as successor:
        said = await successor.says("execute", "c1", command="echo ran", again=True)
    assert said.endswith("\nran\n")


@requirement("L145")
async def test_command_of_an_unknown_place_is_joined_but_not_started(at_work: Hands) -> None:
    """Its reply was committed while the workspace was out of reach, or by an older version."""
    at_work.places |= {"c1": None, "c2": None}
    assert (await at_work.says("execute", "c1", command="echo ran")).endswith("\nran\n")
    async with at_work.successor() as successor:
        joined = await successor.says("execute", "c1", command="echo ran", again=True)
        assert joined.endswith("\nran\n")
        unknown = await successor.call("execute", "c2", command="echo ran > out", again=True)
    assert unknown.unknown
    assert not (await at_work.files() / "out").exists()


@requirement("T26")
async def test_the_mutant_without_a_key_is_caught(
    at_work: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(key: str) -> str:
        return os.urandom(8).hex()

    monkeypatch.setattr(execute_module, "agent_key", another)
    assert await run_twice(at_work) == 2


@requirement("X1", "L109")
def _text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def test_a_command_whose_agent_died_has_an_unknown_outcome(at_work: Hands) -> None:
    command = "echo once >> done.txt; sleep 30"
    files = await at_work.files()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(at_work.call("execute", "c1", command=command))
        await until(lambda: _text_of(files / "done.txt") == "once\n")
        at_work.kill_agent()
        output = await waiting
    assert output.unknown
    assert "agent restarted" in str(output.value)
    assert (files / "done.txt").read_text() == "once\n"

    again = await at_work.call("execute", "c1", command=command, again=True)
    assert again.unknown
    assert (files / "done.txt").read_text() == "once\n"
    assert "lost" in await at_work.says("process_list")
    assert (await at_work.says("execute", command="echo alive")).endswith("\nalive\n")


NASTY = {
    "plain": "sleep {}",
    "own group": "setsid sleep {} & wait",
    "double fork": "(setsid sh -c 'sleep {} & sleep {}' &) ; sleep {}",
    "deaf": "trap '' TERM INT HUP; while true; do sleep {}; done",
}


@requirement("X2", "L99")
@pytest.mark.parametrize("tree", NASTY)
async def test_stopping_a_call_leaves_nothing_of_it(at_work: Hands, tree: str) -> None:
    token = f"60.{time.monotonic_ns()}"
    command = NASTY[tree].replace("{}", token)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(at_work.call("execute", "c1", command=f"{command} # x"))
        await until(lambda: len(survivors(f"sleep\0{token}")) >= NASTY[tree].count("{}"))
        running.cancel()
    assert survivors(token), "cancelling is not stopping"
    await at_work.toolbox.stop(at_work.asked("execute", "c1"))
    assert survivors(token) == []


@requirement("X2")
async def test_a_call_that_was_stopped_is_never_started(at_work: Hands) -> None:
    """By whoever was frozen while he was about to."""
    await at_work.toolbox.stop(at_work.asked("execute", "c1"))
    late = await at_work.call("execute", "c1", command="echo once >> done.txt")
    assert late.failed
    assert not (await at_work.files() / "done.txt").exists()
    await at_work.toolbox.stop(at_work.asked("process_output", "c2"))
    assert await at_work.says("execute", "c2", command="true")


@requirement("F17")
async def test_output_is_shown_while_the_command_runs(at_work: Hands) -> None:
    held = "while [ ! -e {} ]; do sleep 0.05; done"
    command = f"echo one; {held.format('first')}; echo two; {held.format('second')}; echo three"
    files = await at_work.files()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(at_work.call("execute", command=command))
        await until(lambda: at_work.shown == ["one\n"])
        assert not running.done()
        (files / "first").touch()
        await until(lambda: "".join(at_work.shown) == "one\ntwo\n")
        assert not running.done()
        (files / "second").touch()
    assert "".join(at_work.shown) == "one\ntwo\nthree\n"


@requirement("F16")
async def test_files_are_written_read_edited_and_found(at_work: Hands) -> None:
    text = "def f():\n    return 1\n"
    created = await at_work.call("write_file", path="src/a.py", content=text)
    assert created.value == "Created src/a.py (2 lines, 22 bytes)."
    assert created.diff.startswith("--- /dev/null\n+++ b/src/a.py\n")
    read = await at_work.says("read_file", path="src/a.py")
    assert read == "src/a.py lines 1-2 of 2\n     1\tdef f():\n     2\t    return 1"
    part = await at_work.call("read_file", path="src/a.py", limit=1)
    assert part.value == "src/a.py lines 1-1 of 2 (continue with offset=2)\n     1\tdef f():"
    assert (part.truncated, part.summary_lines) == (True, 1)

    edits = [{"old_string": "return 1", "new_string": "return 2"}]
    edited = await at_work.call("edit_file", path="src/a.py", edits=edits)
    assert str(edited.value).startswith("Edited src/a.py: 1 replacement (line 2).\n")
    assert "-    return 1\n+    return 2" in str(edited.value)
    assert "-    return 1\n+    return 2" in edited.diff
    twice = await at_work.call("edit_file", path="src/a.py", edits=edits)
    assert twice.failed
    assert "new_string is already at line 2; nothing to do." in str(twice.value)

    assert "src/" in await at_work.says("list_files")
    assert await at_work.says("find_files", pattern="*.py") == "src/a.py"
    assert await at_work.says("search_files", pattern="ret.rn 2") == "src/a.py:2:     return 2"
    outside = await at_work.call("read_file", path="../state")
    assert outside.failed


@requirement("X1", "L116")
async def test_a_write_in_doubt_is_judged_by_what_the_file_says(at_work: Hands) -> None:
    files = await at_work.files()
    asked: dict[str, Any] = {"path": "a.txt", "content": "mine\n", "again": True}
    assert "Created a.txt" in await at_work.says("write_file", **asked)
    assert "Wrote a.txt" in await at_work.says("write_file", **asked)
    (files / "a.txt").write_text("somebody else's\n")
    doubtful = await at_work.call("write_file", **asked)
    assert doubtful.unknown
    assert (files / "a.txt").read_text() == "somebody else's\n"


@requirement("F16", "L109")
async def test_without_a_workspace_the_model_is_told_what_to_do(template: str) -> None:
    async with hands(template) as found:
        output = await found.call("execute", command="true")
        assert output.failed
        assert "create_workspace" in str(output.value)
        (section,) = await found.toolbox.sections()
        assert "no workspace" in section
        assert (await found.call("stop_workspace")).failed
        await found.toolbox.stop(found.asked("execute", "c1"))  # nothing to stop, nothing raised


@requirement("F16", "L108", "L109")
async def test_a_workspace_is_made_once_introduced_stopped_and_started(template: str) -> None:
    async with hands(template) as found:
        async with asyncio.TaskGroup() as group:
            made = [group.create_task(found.call("create_workspace")) for _ in range(3)]
            run = group.create_task(found.call("execute", command="echo after it"))
        assert not any(task.result().failed for task in made)
        assert str(run.result().value).endswith("\nafter it\n")
        assert len(await found.yard.rows()) == 1

        await found.says("write_file", path="AGENTS.md", content="Run the tests first.\n")
        skill = "---\nname: release\ndescription: How to release.\n---\nTag it.\n"
        await found.says("write_file", path=".holdfast/skills/release/SKILL.md", content=skill)
        facts, instructions, skills = await found.toolbox.sections()
        assert "System: " in facts
        assert "commands on PATH: " in facts
        assert "Run the tests first." in instructions
        assert "- release: How to release." in skills
        assert "Tag it." in await found.says("read_skill", name="release")

        assert "stopped" in await found.says("stop_workspace")
        refused = await found.call("execute", command="true")
        assert refused.failed
        assert "start_workspace" in str(refused.value)
        assert "Run the tests first." in await found.says("start_workspace")
        assert await found.says("execute", command="cat AGENTS.md")


@requirement("L109", "L110")
async def test_the_workspace_is_resolved_and_touched_once_in_a_turn(
    at_work: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    keeper = at_work.keeper
    of_chat, touch = keeper.of_chat, keeper.touch

    async def counted_of(*args: Any) -> Any:
        asked.append("of_chat")
        return await of_chat(*args)

    async def counted_touch(*args: Any) -> Any:
        asked.append("touch")
        return await touch(*args)

    monkeypatch.setattr(keeper, "of_chat", counted_of)
    monkeypatch.setattr(keeper, "touch", counted_touch)
    async with at_work.next_turn() as turn:
        await turn.toolbox.sections()
        for _ in range(3):
            await turn.says("execute", command="true")
    assert asked == ["of_chat", "touch"]
