"""Workspaces of an administrator's own programs, with the real agent behind a token."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.domain.workspaces import WorkspaceStatus
from holdfast.ports.workspaces import Template, WorkspaceUnusable
from holdfast.workspace.client import AgentClient, AgentRefused
from holdfast.workspace.command import SAID_BYTES_MAX, Command, CommandOptions, run
from holdfast.workspace.provisioning import ProvisionFailed, agent_token
from holdfast_lab.chaos.stage.folders import running_in
from holdfast_lab.chaos.stage.ports import quiet_port
from tests.support.waits import HANG_S
from tests.support.workers import until
from tests.support.workspaces import Yard, a_workspace

SECRET = "0123456789abcdef0123456789abcdef"
SCRIPT = """#!/bin/sh
set -eu
place=$PLACE/$HOLDFAST_WORKSPACE_ID
env >"$PLACE/env-$1"
runs() { [ -f "$place/pid" ] && kill -0 "$(cat "$place/pid")" 2>/dev/null; }
said() { printf '{"address": "http://127.0.0.1:%s"}\\n' "$PORT"; }
ends() { ! runs || { kill "$(cat "$place/pid")"; while runs; do sleep 0.05; done; }; }
case $1 in
start)
    if ! runs; then
        umask 077
        mkdir -p "$place/files" "$place/state"
        printf %s "$HOLDFAST_WORKSPACE_TOKEN" >"$place/token"
        setsid "$PYTHON" -m holdfast_agent --root "$place/files" --state "$place/state" \\
            --listen "127.0.0.1:$PORT" --token-file "$place/token" --sandbox external \\
            </dev/null >/dev/null 2>&1 &
        echo $! >"$place/pid"
    fi
    echo "some words before"
    said ;;
status) runs || exit 3; said ;;
stop) ends ;;
delete) ends; rm -rf "$place" ;;
esac
"""


def command(folder: Path, *, name: str = "anywhere", **more: Any) -> Command:
    folder.mkdir(exist_ok=True)
    script = folder / "script"
    script.write_text(SCRIPT)
    script.chmod(0o700)
    verbs: dict[str, Any] = {
        verb: (str(script), verb) for verb in ("start", "stop", "status", "delete")
    }
    env = {"PLACE": str(folder), "PORT": str(quiet_port()), "PYTHON": sys.executable}
    return Command(Template(name=name), CommandOptions(secret=SECRET, env=env, **{**verbs, **more}))


async def test_an_agent_anywhere_is_started_found_stopped_and_deleted(yard: Yard) -> None:
    keeper = await yard.keeper(command(yard.folder))
    chat = await yard.chat()
    made = await keeper.create(chat)
    assert made.address is not None
    token = keeper.token_of(made)
    async with AgentClient(made.address, token) as agent:
        assert (await agent.about()).root.endswith("/files")
    async with AgentClient(made.address, "guessed") as agent:
        with pytest.raises(AgentRefused):
            await agent.about()
    assert await keeper.repair(made) == made
    assert (await keeper.stop(chat.chat_id)).status is WorkspaceStatus.STOPPED
    assert running_in(yard.folder) == []
    await keeper.start(chat.chat_id)
    await keeper.delete(chat.chat_id)
    assert running_in(yard.folder) == []
    assert not (yard.folder / str(made.workspace_id)).exists()


async def test_a_command_is_told_which_one_is_meant_and_nothing_of_ours(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "canary-4711")
    anywhere, workspace = command(yard.folder), a_workspace()
    assert await anywhere.find(workspace) is None
    told = dict(
        line.split("=", 1) for line in (yard.folder / "env-status").read_text().splitlines()
    )
    ours = {name: value for name, value in told.items() if name.startswith("HOLDFAST_")}
    assert ours == {
        "HOLDFAST_WORKSPACE_ID": str(workspace.workspace_id),
        "HOLDFAST_WORKSPACE_NAME": f"holdfast-{workspace.workspace_id}",
        "HOLDFAST_WORKSPACE_TOKEN": agent_token(SECRET, workspace),
        "HOLDFAST_WORKSPACE_CHAT": str(workspace.chat_id),
        "HOLDFAST_WORKSPACE_OWNER": str(workspace.owner_id),
    }
    assert told["PLACE"] == str(yard.folder)
    assert "canary" not in str(told)


def test_a_token_follows_from_the_secret_and_the_workspace_alone() -> None:
    one, other = a_workspace(), a_workspace()
    assert agent_token(SECRET, one) == agent_token(SECRET, one)
    assert len({agent_token(SECRET, one), agent_token(SECRET, other), agent_token("x", one)}) == 3


WRONG: list[tuple[str, str]] = [
    ("echo why not >&2; exit 7", "ended with 7. The last that it said:\nwhy not"),
    ("echo nothing", "did not say where the agent listens"),
    ('echo \'{"address": "ftp://x"}\'', "did not say where the agent listens"),
    ("sleep 60", "did not end within 0.5 s"),
]


@pytest.mark.parametrize(("script", "sentence"), WRONG, ids=[each[0] for each in WRONG])
async def test_a_command_that_goes_wrong_is_a_sentence_for_people(
    yard: Yard, script: str, sentence: str
) -> None:
    start_s = 0.5 if script == "sleep 60" else HANG_S
    wrong = command(yard.folder, start=("/bin/sh", "-c", script), start_s=start_s)
    with pytest.raises(ProvisionFailed) as told:
        await wrong.start(a_workspace())
    assert sentence in str(told.value)


async def test_a_command_that_is_not_there_is_said_so(yard: Yard) -> None:
    keeper = await yard.keeper(command(yard.folder, start=("/no/such/program",)))
    with pytest.raises(WorkspaceUnusable, match="cannot be run: No such file"):
        await keeper.create(await yard.chat())


async def test_what_a_command_says_is_bounded_and_its_end_is_kept() -> None:
    script = "yes | head -c 3000000; echo; echo last"
    ran = await run(("/bin/sh", "-c", script), {"PATH": os.defpath})
    assert ran.code == 0
    assert len(ran.out) == SAID_BYTES_MAX
    assert ran.out.endswith(b"last\n")


async def test_what_a_command_leaves_running_does_not_hold_it_up(tmp_path: Path) -> None:
    async with asyncio.timeout(HANG_S):
        left = f"(sleep 300; : {tmp_path}) & echo done"
        ran = await run(("/bin/sh", "-c", left), {"PATH": os.defpath})
    assert ran.out == b"done\n"
    for pid in running_in(tmp_path):
        os.kill(pid, 9)


async def test_whoever_stops_waiting_ends_the_whole_group(tmp_path: Path) -> None:
    script = f"sh -c 'sleep 300; : {tmp_path}' & wait"
    waiting = asyncio.create_task(run(("/bin/sh", "-c", script), {"PATH": os.defpath}))
    await until(lambda: len(running_in(tmp_path)) >= 2, HANG_S)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not running_in(tmp_path), HANG_S)
