"""The examples of deploy/workspaces, as far as they can be checked without an engine or a cluster:
they are templates, they keep what a template promises, and what they apply is Kubernetes' own."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import yaml

from holdfast.adapters.workspaces.command import NOT_RUNNING, Command
from holdfast.adapters.workspaces.provisioning import ProvisionFailed
from holdfast.bootstrap.workspaces import provisioners
from holdfast.settings import read_settings
from holdfast.settings.templates import CommandTemplateSettings
from tests.docs import pages
from tests.support.workers import until
from tests.support.workspaces import a_workspace

EXAMPLES = pages.ROOT / "deploy" / "workspaces"
SECRET = "0123456789abcdef" * 2
ENGINE = """#!/bin/sh
# An engine with one container, which is there if the folder is, and runs if the file in it is. Like
# the real ones it removes what runs only by force, and gives a name to the first who asks.
set -eu
echo "$*" >>"$BOOK"
case $1 in
run)
    [ -n "$HOLDFAST_WORKSPACE_TOKEN" ]
    mkdir "$BOOK.made" 2>/dev/null || { echo the name is already in use >&2; exit 125; }
    echo $$ >"$BOOK.made/id"
    sleep "${SLOW_S:-0}"
    [ "$(cat "$BOOK.made/id")" = $$ ] || { echo no such container >&2; exit 125; }
    touch "$BOOK.made/runs" ;;
rm)
    [ "$2" = --force ] || [ ! -f "$BOOK.made/runs" ] || exit 2
    rm -rf "$BOOK.made" ;;
port) echo 127.0.0.1:43210; echo "[::1]:43210" ;;
inspect)
    [ -d "$BOOK.made" ] || exit 1
    case $* in
    *Running*) if [ -f "$BOOK.made/runs" ]; then echo true; else echo false; fi ;;
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
    runs = [line for line in book.splitlines() if line.startswith("run ")]
    assert len(runs) == 1, book
    assert f"--name holdfast-{workspace.workspace_id} " in runs[0]
    assert "--cap-drop ALL --security-opt no-new-privileges" in runs[0]
    token = template.token(workspace)
    assert token is not None
    assert token not in book, "everybody on the machine sees arguments"
    assert f"volume rm --force holdfast-{workspace.workspace_id} " in book


async def test_what_two_servers_start_at_once_is_run_once_and_taken_from_neither(
    tmp_path: Path,
) -> None:
    workspace = a_workspace()
    slow, quick = container(tmp_path, SLOW_S="2"), container(tmp_path)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(slow.start(workspace))
        await until((tmp_path / "book.made" / "id").exists)
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
    assert (tmp_path / "book.made" / "runs").exists()
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
    return [made, EXAMPLES / "rights.yaml"]


def test_what_is_applied_is_kubernetes_own_and_walled_in(tmp_path: Path) -> None:
    files = manifests(tmp_path)
    check = Path(sys.executable).with_name("kubernetes-validate")
    done = subprocess.run([check, "--strict", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {each["kind"]: each for each in yaml.safe_load_all(files[0].read_text())}
    assert kinds.keys() == {"PersistentVolumeClaim", "Secret", "Pod"}
    pod = kinds["Pod"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (agent,) = pod["containers"]
    assert agent["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "t" not in [each.get("value") for each in agent["env"]]


@pytest.mark.parametrize("script", ["container", "pod", "agent"])
def test_a_script_is_one_and_says_how_it_is_used(script: str) -> None:
    assert subprocess.run(["sh", "-n", EXAMPLES / script], check=False).returncode == 0
    assert os.access(EXAMPLES / script, os.X_OK)
    text = (EXAMPLES / script).read_text()
    assert script == "agent" or f"not_running={NOT_RUNNING}" in text
