"""Arguments are put into the declared form before rules and digests see them."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.admin.current import NothingSet
from holdfast.domain.approvals import Pattern, Policy, Rule, RuleAction, digest_of
from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import JsonObject, Need, Synthetic, ToolCall, ToolResult
from holdfast.ports.workspaces import Template
from holdfast.tools.workspace.toolbox import offers
from holdfast.turn.call_policy import CallPolicy
from holdfast.turn.step_policy import StepPolicy
from tests.requirements import requirement
from tests.support.builders import a_chat
from tests.support.stage import QUICK

SPECS = {each.spec.name: each.spec for each in offers((Template(name="plain"),))}
SECRETS = Pattern(glob="secrets/*")
DENIED = Rule(tool="*", arguments={"path": SECRETS}, action=RuleAction.DENY, reason="private")
ASKED = Rule(tool="execute", arguments={"command": Pattern(glob="rm *")}, action=RuleAction.ASK)


class OfferedTools:
    """Specs are all that a policy reads of a toolbox."""

    specs = SPECS


def judged(tool: str, arguments: JsonObject, *rules: Rule) -> tuple[ToolCall, ToolResult | None]:
    policy = StepPolicy(replace(QUICK, approvals=Policy(rules=rules)), NothingSet())
    toolbox: Any = OfferedTools()
    judging = CallPolicy(a_chat(Status.RUNNING), policy, toolbox, {})
    part, answer = judging.part(ToolCall(CallId("1"), tool, arguments))
    assert isinstance(part, ToolCall)
    return part, answer


@requirement("X4")
@pytest.mark.parametrize("name", ["path", "file_path", "filePath", "filename"])
def test_rule_about_an_argument_holds_for_all_its_names(name: str) -> None:
    call, answer = judged("write_file", {name: "secrets/a", "text": "x"}, DENIED)

    assert answer is not None
    assert answer.synthetic is Synthetic.DENIED
    assert call.arguments == {"path": "secrets/a", "content": "x"}


@requirement("X4")
@pytest.mark.parametrize("command", ["rm -r a", ["bash", "-lc", "rm -r a"], ["rm", "-r", "a"]])
def test_rule_about_a_command_holds_for_all_its_forms(command: Any) -> None:
    call, answer = judged("execute", {"cmd": command, "cwd": None}, ASKED)

    assert (answer, call.needs) == (None, Need.APPROVAL)
    assert call.arguments == {"command": "rm -r a"}


@requirement("X4")
def test_digest_binds_the_arguments_as_they_run() -> None:
    edits = '[{"old": "a", "new": "b"}]'
    ask = Rule(tool="edit_file", action=RuleAction.ASK)

    call, _ = judged("edit_file", {"file_path": "a", "edits": edits, "why": "c"}, ask)

    declared: JsonObject = {
        "path": "a",
        "edits": [{"old_string": "a", "new_string": "b"}],
        "why": "c",
    }
    assert call.arguments == declared
    spec = SPECS["edit_file"]
    assert call.digest == digest_of("edit_file", declared, spec.definition)
    assert spec.normalised(call.arguments) == call.arguments
