"""The examples of deploy/workspaces, as far as they can be checked without an engine or a cluster:
they are templates, they keep what a template promises, and what they apply is Kubernetes' own."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import yaml

from holdfast.bootstrap.workspaces import provisioners
from holdfast.settings import read_settings
from holdfast.settings.templates import CommandTemplateSettings
from holdfast.workspace.command import NOT_RUNNING, Command
from holdfast.workspace.provisioning import ProvisionFailed
from tests.docs import pages
from tests.support.workspaces import a_workspace

EXAMPLES = pages.ROOT / "deploy" / "workspaces"
SECRET = "0123456789abcdef" * 2
ENGINE = """#!/bin/sh
# An engine with one container, which runs if the file is there.
set -eu
echo "$*" >>"$BOOK"
case $1 in
run) touch "$BOOK.runs"; [ -n "$HOLDFAST_WORKSPACE_TOKEN" ] ;;
rm) rm -f "$BOOK.runs" ;;
inspect)
    [ -f "$BOOK.runs" ] || exit 1
    case $3 in *Running*) echo true ;; *) echo 10.0.0.7 ;; esac ;;
esac
"""


def container(folder: Path) -> Command:
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
    env = {**given.env, "CONTAINER_ENGINE": str(engine), "BOOK": str(folder / "book")}
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
