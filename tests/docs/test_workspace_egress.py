"""The way out of shipped workspaces: every rule that closes it, and that its absence is noticed.

There is no cluster here: the policies are read as Kubernetes defines them. What the sidecar does is
tried for real in `integration/sandbox/test_sidecar.py`."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

import pytest
import yaml

from holdfast.bootstrap.approvals import approval_policy
from holdfast.domain.approvals import RuleAction
from holdfast.domain.parts import JsonObject
from holdfast.settings import read_settings
from tests.docs import pages

EXAMPLES: Final = pages.ROOT / "deploy" / "workspaces"
WORKSPACE: Final = {"app": "holdfast-workspace"}
PROXY: Final = {"app": "holdfast-egress"}
CLOSED: Final = (
    *("10.1.2.3", "172.16.0.1", "172.31.255.1", "192.168.1.1", "127.0.0.1", "169.254.169.254"),
    *("169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd00::1", "fe80::1"),
    "64:ff9b::a9fe:a9fe",
)


def documents(file: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all((EXAMPLES / file).read_text()) if each]


def policies() -> list[dict[str, Any]]:
    return [each for each in documents("rights.yaml") if each["kind"] == "NetworkPolicy"]


def faults(given: list[dict[str, Any]]) -> Iterator[str]:
    """What is open that must not be."""
    for labels, neighbours in ((WORKSPACE, {"kube-dns", "holdfast-egress"}), (PROXY, {"kube-dns"})):
        own = [
            each["spec"]
            for each in given
            if each["spec"]["podSelector"].get("matchLabels") in (None, labels)
        ]
        if not any("Egress" in spec["policyTypes"] for spec in own):
            yield f"{labels['app']} may connect to everything"
        if not any("Ingress" in spec["policyTypes"] for spec in own):
            yield f"everything may connect to {labels['app']}"
        for rule in (rule for spec in own for rule in spec.get("egress", ())):
            yield from leaks(labels["app"], rule, neighbours)
    if not any(each["spec"]["podSelector"] == {} for each in given):
        yield "another pod of the namespace is not walled in"


def leaks(app: str, rule: dict[str, Any], neighbours: set[str]) -> Iterator[str]:
    if not rule.get("to"):
        yield f"{app}: a rule without `to` is everything"
    for to in rule.get("to", ()):
        if "ipBlock" in to:
            if app == WORKSPACE["app"]:
                yield f"{app} connects to addresses"
            yield from uncovered(to["ipBlock"])
            continue
        labels = to.get("podSelector", {}).get("matchLabels", {})
        if not neighbours & set(labels.values()):
            yield f"{app} connects to pods {labels}"
        if not rule.get("ports"):
            yield f"{app} connects to every port of {labels}"


def uncovered(block: dict[str, Any]) -> Iterator[str]:
    for text in CLOSED:
        address = ipaddress.ip_address(text)
        nets = [ipaddress.ip_network(each) for each in block.get("except", ())]
        if address in ipaddress.ip_network(block["cidr"]) and not any(
            address in net for net in nets if net.version == address.version
        ):
            yield f"{text} is open"


def test_pods_reach_names_and_the_proxy_alone() -> None:
    assert list(faults(policies())) == []


def blocks(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        to["ipBlock"]
        for each in given
        for rule in each["spec"].get("egress", ())
        for to in rule["to"]
        if "ipBlock" in to
    ]


def ranges() -> list[str]:
    return [each for block in blocks(policies()) for each in block["except"]]


@pytest.mark.parametrize("left_out", ranges())
def test_a_range_that_is_left_out_is_noticed(left_out: str) -> None:
    changed = deepcopy(policies())
    for block in blocks(changed):
        block["except"] = [each for each in block["except"] if each != left_out]
    assert any("is open" in fault for fault in faults(changed))


def without_egress(given: list[dict[str, Any]]) -> None:
    for each in given:
        each["spec"]["policyTypes"] = ["Ingress"]


def without_the_rest(given: list[dict[str, Any]]) -> None:
    given[:] = [each for each in given if each["spec"]["podSelector"]]


def without_to(given: list[dict[str, Any]]) -> None:
    given[0]["spec"]["egress"][1].pop("to")


def without_ports(given: list[dict[str, Any]]) -> None:
    given[0]["spec"]["egress"][0].pop("ports")


def with_every_pod(given: list[dict[str, Any]]) -> None:
    given[0]["spec"]["egress"][1]["to"] = [{"podSelector": {}}]


@pytest.mark.parametrize(
    "mutant", [without_egress, without_the_rest, without_to, without_ports, with_every_pod]
)
def test_a_rule_that_is_left_out_is_noticed(
    mutant: Callable[[list[dict[str, Any]]], None],
) -> None:
    changed = deepcopy(policies())
    mutant(changed)
    assert list(faults(changed)) != []


def test_the_labels_of_the_policies_are_those_of_the_pods() -> None:
    deployment, service = documents("egress.yaml")
    assert deployment["spec"]["template"]["metadata"]["labels"] == PROXY
    assert service["spec"]["selector"] == PROXY
    (proxy,) = deployment["spec"]["template"]["spec"]["containers"]
    assert proxy["env"] == [{"name": "HOLDFAST_AGENT_ALLOW_HOST", "value": ""}]
    script = (EXAMPLES / "pod").read_text()
    assert "app: holdfast-workspace" in script
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        assert f'{{name: {name}, value: "$proxy"}}' in script


# The script for containers


def open_ways(script: str) -> Iterator[str]:
    """What a workspace in a container could reach beside its sidecar."""
    start = re.search(r"run_workspace\(\) \{(.*?)\n\}", script, re.DOTALL)
    assert start is not None
    if "network create --internal " not in script:
        yield "the network has a way out"
    if not re.search(r"^inner=\$name-inner$", script, re.MULTILINE):
        yield "workspaces share a network"
    if re.findall(r"--network (\S+)", start[1]) != ['"$inner"']:
        yield "the workspace is in another network, too"
    if "--dns 127.0.0.1" not in start[1]:
        yield "names are looked up for the workspace"
    if "--publish" in start[1]:
        yield "the workspace has a port of the host"
    if re.search(r"network connect [^\n]*\"\$name\"", script):
        yield "the workspace is connected to a further network"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        if f'--env "{name}=$proxy"' not in start[1]:
            yield f"commands are not told of the proxy: {name}"


def test_a_container_has_one_neighbour() -> None:
    assert list(open_ways((EXAMPLES / "container").read_text())) == []


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("network create --internal", "network create"),
        ("inner=$name-inner", "inner=holdfast-inner"),
        ('--network "$inner" --network-alias', '--network "$network" --network-alias'),
        ("--dns 127.0.0.1", ""),
        ("--network-alias workspace", '--network-alias workspace --publish "$port"'),
        ('egress "$inner" "$sidecar"', 'egress "$inner" "$name"'),
        ('--env "https_proxy=$proxy"', ""),
    ],
)
def test_a_script_without_a_wall_is_noticed(there: str, instead: str) -> None:
    script = (EXAMPLES / "container").read_text()
    assert there in script
    assert list(open_ways(script.replace(there, instead))) != []


# The rules for approvals


@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("execute", {"command": "curl https://example.org"}, RuleAction.ASK),
        ("execute", {"command": "ls; curl https://example.org"}, RuleAction.ASK),
        ("execute", {"command": "git status --help"}, RuleAction.ASK),
        ("execute", {"command": "git status"}, RuleAction.ALLOW),
        ("execute", {"command": "ls -l src"}, RuleAction.ALLOW),
        ("process_input", {"process": "p1", "text": "curl https://example.org"}, RuleAction.ASK),
        ("read_file", {"path": "README.md"}, RuleAction.ALLOW),
    ],
)
def test_a_person_sees_a_command_before_it_runs(
    tool: str, arguments: JsonObject, action: RuleAction
) -> None:
    settings = read_settings(role="api", approvals=str(EXAMPLES / "approvals.toml"))
    assert approval_policy(settings).judge(tool, arguments, whose="ours").verdict is action
