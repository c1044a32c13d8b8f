"""The examples of deploy/workspaces, as far as they can be checked without an engine or a cluster:
they are templates, they keep what a template promises, and what they apply is Kubernetes' own."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import yaml

from holdfast.adapters.workspaces.command import NOT_RUNNING, Command
from holdfast.adapters.workspaces.provisioning import ProvisionFailed
from holdfast.bootstrap.workspaces import provisioners
from holdfast.domain.workspaces import Workspace
from holdfast.settings import read_settings
from holdfast.settings.templates import CommandTemplateSettings
from tests.docs import pages
from tests.support.workers import until
from tests.support.workspaces import a_workspace

EXAMPLES = pages.ROOT / "deploy" / "workspaces"
SECRET = "0123456789abcdef" * 2
BEGINS_WITH = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL"}
"""What the entry point needs to make the agent and the commands two users."""
ENGINE = """#!/bin/sh
# An engine: a container is there if its folder is, and runs if the file in that is. Like the real
# ones it removes what runs only by force, and gives a name to the first who asks.
set -eu
echo "$*" >>"$BOOK"
named() { while [ "$1" != --name ]; do shift; done; echo "$2"; }
made() {
    mkdir "$BOOK.$1" 2>/dev/null || { echo the name is already in use >&2; exit 125; }
    echo $$ >"$BOOK.$1/id"
    sleep "${SLOW_S:-0}"
    [ "$(cat "$BOOK.$1/id")" = $$ ] || { echo no such container >&2; exit 125; }
}
case $1 in
run)
    [ -n "$HOLDFAST_WORKSPACE_TOKEN" ]
    made "$(named "$@")"
    touch "$BOOK.$(named "$@")/runs" ;;
create) made "$(named "$@")" ;;
start) [ -f "$BOOK.$2/connected" ]; touch "$BOOK.$2/runs" ;;
rm)
    shift; force=
    if [ "$1" = --force ]; then force=1; shift; fi
    for one; do
        [ -n "$force" ] || [ ! -f "$BOOK.$one/runs" ] || exit 2
        rm -rf "$BOOK.$one"
    done ;;
network)
    case $2 in
    inspect) [ -d "$BOOK.network.$3" ] ;;
    create) mkdir "$BOOK.network.$4" ;;
    connect) [ -d "$BOOK.network.$5" ]; touch "$BOOK.$6/connected" ;;
    rm) rmdir "$BOOK.network.$3" ;;
    esac ;;
port) echo 127.0.0.1:43210; echo "[::1]:43210" ;;
inspect)
    for one; do :; done
    [ -d "$BOOK.$one" ] || exit 1
    case $* in
    *Running*) if [ -f "$BOOK.$one/runs" ]; then echo true; else echo false; fi ;;
    *) echo 10.0.0.7 ;;
    esac ;;
esac
"""


def container(folder: Path, **more: str) -> Command:
    engine = folder / "engine"
    engine.write_text(ENGINE)
    engine.chmod(0o700)
    settings = read_settings(
        templates_file=EXAMPLES / "templates.json", workspace_secret=SECRET, role="api"
    )
    (given,) = settings.templates
    assert isinstance(given, CommandTemplateSettings)
    here = {
        verb: (str(EXAMPLES / Path(argv[0]).name), *argv[1:])
        for verb in ("start", "stop", "status", "delete")
        if (argv := getattr(given, verb))
    }
    env = {**given.env, "CONTAINER_ENGINE": str(engine), "BOOK": str(folder / "book"), **more}
    template = given.model_copy(update={**here, "env": env})
    (made,) = provisioners(settings.model_copy(update={"templates": (template,)}))
    assert isinstance(made, Command)
    return made


async def test_a_container_is_run_once_found_stopped_and_deleted(tmp_path: Path) -> None:
    template, workspace = container(tmp_path), a_workspace()
    assert await template.find(workspace) is None
    assert await template.start(workspace) == "http://10.0.0.7:7070"
    assert await template.start(workspace) == await template.find(workspace)
    await template.stop(workspace)
    assert await template.find(workspace) is None
    await template.stop(workspace)
    await template.delete(workspace)
    book = (tmp_path / "book").read_text()
    runs = [line for line in book.splitlines() if line.startswith(("run ", "create "))]
    names = [f"--name holdfast-{workspace.workspace_id}{end} " for end in ("", "-egress")]
    assert [name in run for name, run in zip(names, runs, strict=True)] == [True, True], book
    assert all("--cap-drop ALL --security-opt no-new-privileges" in run for run in runs)
    token = template.token(workspace)
    assert token is not None
    assert token not in book, "everybody on the machine sees arguments"
    assert f"volume rm --force holdfast-{workspace.workspace_id} " in book


def made(folder: Path, workspace: Workspace) -> Path:
    return folder / f"book.holdfast-{workspace.workspace_id}"


async def test_a_workspace_whose_sidecar_died_is_started_again(tmp_path: Path) -> None:
    template, workspace = container(tmp_path), a_workspace()
    await template.start(workspace)
    name = f"holdfast-{workspace.workspace_id}"
    (tmp_path / f"book.{name}-egress" / "runs").unlink()
    assert await template.find(workspace) is None
    assert await template.start(workspace) == await template.find(workspace)
    book = (tmp_path / "book").read_text()
    assert book.count("run --detach") == 1, "the commands of the workspace ran on"


async def test_what_two_servers_start_at_once_is_run_once_and_taken_from_neither(
    tmp_path: Path,
) -> None:
    workspace = a_workspace()
    slow, quick = container(tmp_path, SLOW_S="2"), container(tmp_path)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(slow.start(workspace))
        await until((made(tmp_path, workspace) / "id").exists)
        second = group.create_task(quick.start(workspace))
    assert first.result() == second.result() == await quick.find(workspace)


async def test_who_looked_too_early_does_not_take_away_what_runs_by_now(tmp_path: Path) -> None:
    """Between the look and the start another server has started it: the engine's answer to the
    first look is of before."""
    workspace = a_workspace()
    await container(tmp_path).start(workspace)
    late = container(tmp_path)
    engine = (tmp_path / "engine").read_text()
    stale = f'if [ ! -f "$BOOK.asked" ]; then touch "$BOOK.asked"; exit 1; fi\n{engine}'
    (tmp_path / "engine").write_text(f"#!/bin/sh\n{stale}")
    assert await late.start(workspace) == "http://10.0.0.7:7070"
    assert (made(tmp_path, workspace) / "runs").exists()
    assert "rm --force" not in (tmp_path / "book").read_text()


async def test_an_agent_of_a_rootless_engine_is_reached_at_a_port_of_the_host(
    tmp_path: Path,
) -> None:
    template, workspace = container(tmp_path, WORKSPACE_PUBLISH="127.0.0.1"), a_workspace()
    assert await template.start(workspace) == "http://127.0.0.1:43210"
    assert await template.find(workspace) == "http://127.0.0.1:43210"
    assert " --publish 127.0.0.1::7070 " in (tmp_path / "book").read_text()


def test_a_script_without_a_verb_says_how_it_is_used() -> None:
    env = {"PATH": os.environ["PATH"], "HOLDFAST_WORKSPACE_NAME": "holdfast-1"}
    done = subprocess.run([EXAMPLES / "container"], env=env, capture_output=True, check=False)
    assert (done.returncode, b"usage: container start" in done.stderr) == (64, True)


async def test_an_engine_that_fails_is_told_to_people(tmp_path: Path) -> None:
    template = container(tmp_path)
    (tmp_path / "engine").write_text("#!/bin/sh\necho no such image >&2; exit 125\n")
    with pytest.raises(ProvisionFailed, match=r"ended with 125(.|\n)*no such image"):
        await template.start(a_workspace())


def test_the_page_offers_what_the_file_does() -> None:
    page = (pages.DOCS / "how-to" / "give-a-team-workspaces.md").read_text()
    shown = page.split("```json\n")[1].split("```")[0]
    assert orjson.loads(shown) == orjson.loads((EXAMPLES / "templates.json").read_bytes())


def manifests(tmp_path: Path) -> list[Path]:
    env = {
        "PATH": os.environ["PATH"],
        "HOLDFAST_WORKSPACE_NAME": "holdfast-1",
        "HOLDFAST_WORKSPACE_TOKEN": "t",
    }
    applied = subprocess.run(
        [EXAMPLES / "pod", "manifests"], env=env, capture_output=True, check=True
    ).stdout
    made = tmp_path / "pod.yaml"
    made.write_bytes(applied)
    return [made, EXAMPLES / "rights.yaml", EXAMPLES / "egress.yaml"]


def test_what_is_applied_is_kubernetes_own_and_walled_in(tmp_path: Path) -> None:
    files = manifests(tmp_path)
    check = Path(sys.executable).with_name("kubernetes-validate")
    done = subprocess.run([check, "--strict", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {each["kind"]: each for each in yaml.safe_load_all(files[0].read_text())}
    assert kinds.keys() == {"PersistentVolumeClaim", "Secret", "Pod"}
    pod = kinds["Pod"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    (agent,) = pod["containers"]
    assert agent["securityContext"]["allowPrivilegeEscalation"] is False
    capabilities = agent["securityContext"]["capabilities"]
    assert capabilities["drop"] == ["ALL"]
    assert {*capabilities["add"]} == BEGINS_WITH
    script = (EXAMPLES / "container").read_text()
    assert {*re.findall(r"--cap-add (\w+)", script)} == BEGINS_WITH
    assert "t" not in [each.get("value") for each in agent["env"]]


@pytest.mark.parametrize("script", ["container", "pod", "agent"])
def test_a_script_is_one_and_says_how_it_is_used(script: str) -> None:
    assert subprocess.run(["sh", "-n", EXAMPLES / script], check=False).returncode == 0
    assert os.access(EXAMPLES / script, os.X_OK)
    text = (EXAMPLES / script).read_text()
    assert script == "agent" or f"not_running={NOT_RUNNING}" in text
