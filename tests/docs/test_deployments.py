"""The examples for real deployments, as far as they can be checked without an engine: against their
schemas, and that every setting, command, probe and secret in them is there."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import compose_spec
import orjson
import pytest
import typer
import yaml

from holdfast.api.serving import ServingOptions
from holdfast.cli.app import app
from holdfast.settings import Settings, env_name

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
SETTINGS = {env_name(field) for field in Settings.model_fields}
COMMANDS = cast("Any", typer.main.get_command(app)).commands.keys()
DRAIN_S = Settings.model_fields["drain_s"].default


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())


def resources(kind: str) -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        for resource in yaml.safe_load_all(path.read_text()):
            if resource["kind"] == kind:
                yield resource


def containers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for kind in ("Job", "Deployment"):
        for resource in resources(kind):
            pod = resource["spec"]["template"]["spec"]
            for container in pod["containers"]:
                yield pod, container


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_the_compose_file_is_one() -> None:
    described = compose()
    assert "server" in _composed(described).service_names()
    described["services"]["server"]["no_such_key"] = 1
    with pytest.raises(ValueError, match="no_such_key"):
        _composed(described)


def _composed(described: dict[str, Any]) -> Any:
    return compose_spec.PyCompose.from_json(orjson.dumps(described).decode())


def test_the_manifests_are_kubernetes_own() -> None:
    assert len(MANIFESTS) == 3
    check = Path(sys.executable).with_name("kubernetes-validate")
    done = subprocess.run(
        [check, "--strict", *MANIFESTS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = (done.stdout + done.stderr).lower()
    for kind in ("job/", "deployment/", "service/", "poddisruptionbudget/"):
        assert kind in told


def test_every_setting_in_them_is_one_of_ours() -> None:
    named = {
        name
        for service in compose()["services"].values()
        for name in service.get("environment", {})
        if name.startswith("HOLDFAST_")
    }
    named |= {each["name"] for _, container in containers() for each in container.get("env", [])}
    assert len(named) > 8
    assert named <= SETTINGS, named - SETTINGS


def test_every_command_in_them_is_one_of_ours() -> None:
    ran = [each["command"][0] for each in compose()["services"].values() if "command" in each]
    ran += [container["args"][0] for _, container in containers()]
    assert sorted(set(ran)) == ["db", "serve", "worker"]
    assert set(ran) <= COMMANDS
    assert compose()["services"]["migrate"]["command"] == ["db", "migrate"]
    assert [c["args"] for _, c in containers() if c["name"] == "migrate"] == [["db", "migrate"]]
    image = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["holdfast"]' in image
    assert 'CMD ["serve"]' in image


def test_nobody_is_killed_while_handing_over() -> None:
    stopping_s = DRAIN_S + ServingOptions().stop_s
    for name in ("server", "worker"):
        assert seconds(compose()["services"][name]["stop_grace_period"]) > stopping_s
    for deployment in resources("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        before_s = (
            container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        )
        drain_s = float(
            next(e["value"] for e in container["env"] if e["name"] == "HOLDFAST_DRAIN_S")
        )
        serving_s = ServingOptions().stop_s if container["args"] == ["serve"] else 0
        assert pod["terminationGracePeriodSeconds"] > before_s + drain_s + serving_s


def test_probes_ask_for_what_is_served() -> None:
    paths = {
        container[probe]["httpGet"]["path"]
        for _, container in containers()
        for probe in ("startupProbe", "readinessProbe", "livenessProbe")
        if probe in container
    }
    reference = (ROOT / "docs" / "reference" / "api.md").read_text()
    assert paths == {"/healthz", "/readyz", "/metrics"}
    for path in paths:
        assert f"| GET | `{path}` |" in reference


def test_names_in_them_lead_somewhere() -> None:
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in resources("Deployment")]
    for budget in resources("PodDisruptionBudget"):
        assert budget["spec"]["selector"]["matchLabels"] in pods
    (service,) = resources("Service")
    assert service["spec"]["selector"] in pods
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    for pod, container in containers():
        for variable in container.get("env", []):
            secret = variable.get("valueFrom", {}).get("secretKeyRef")
            assert secret is None or f"--from-literal={secret['key']}=" in page
        mounted = {volume["name"] for volume in pod.get("volumes", [])}
        assert {each["name"] for each in container.get("volumeMounts", [])} <= mounted
        assert pod["securityContext"]["runAsNonRoot"]


def test_the_images_are_of_this_version() -> None:
    version = next(
        line.split('"')[1]
        for line in (ROOT / "packages" / "holdfast" / "pyproject.toml").read_text().splitlines()
        if line.startswith("version = ")
    )
    images = {container["image"] for _, container in containers()}
    images |= {each["image"] for name, each in compose()["services"].items() if name != "database"}
    assert images == {f"holdfast:{version}"}
