"""Arguments are put into the declared form before rules and digests see them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
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


PATCHED = """*** Begin Patch
*** Update File: docs/a.md
-x
+y
*** {verb}: {path}
{lines}*** End Patch"""
WRITTEN = {
    "Add File": ("write_file", "+x\n"),
    "Delete File": ("edit_file", ""),
    "Update File": ("edit_file", "-x\n+y\n"),
    "Move to": ("write_file", "-x\n+y\n"),
}


def patched(verb: str, path: str, *rules: Rule) -> tuple[ToolCall, ToolResult | None]:
    """A patch that changes `docs/a.md`, and does something to another file."""
    text = PATCHED.format(verb=verb, path=path, lines=WRITTEN[verb][1])
    if verb == "Move to":
        text = text.replace("*** Move to", "*** Update File: docs/b.md\n*** Move to")
    return judged("apply_patch", {"patch": text}, *rules)


@requirement("X4")
@pytest.mark.parametrize("path", ["secrets/a", "./secrets//a", "docs/../secrets/a", "/w/secrets/a"])
@pytest.mark.parametrize("verb", WRITTEN)
def test_a_rule_about_a_path_holds_for_each_file_of_a_patch(verb: str, path: str) -> None:
    _, answer = patched(verb, path, DENIED)

    assert answer is not None
    assert answer.synthetic is Synthetic.DENIED


@requirement("X4")
@pytest.mark.parametrize("verb", WRITTEN)
def test_a_rule_about_the_tool_that_does_the_same_holds_for_a_patch(verb: str) -> None:
    tool, _ = WRITTEN[verb]
    there = Rule(tool=tool, arguments={"path": Pattern(glob="src/*")}, action=RuleAction.ASK)
    assert patched(verb, "src/a", there)[0].needs is Need.APPROVAL
    assert patched(verb, "lib/a", there)[0].needs is Need.NOTHING


@requirement("X4")
def test_a_patch_is_allowed_where_a_rule_allows_each_of_its_files() -> None:
    rules = [
        Rule(tool=tool, arguments={"path": Pattern(glob="docs/*")}, action=RuleAction.ALLOW)
        for tool in ("edit_file", "write_file")
    ]
    rest = Rule(tool="*", action=RuleAction.ASK)
    assert patched("Add File", "docs/n", *rules, rest)[0].needs is Need.NOTHING
    assert patched("Add File", "n", *rules, rest)[0].needs is Need.APPROVAL
    assert patched("Delete File", "docs/../n", *rules, rest)[0].needs is Need.APPROVAL


@requirement("X4")
def test_a_patch_that_cannot_be_read_counts_against_the_call() -> None:
    _, answer = judged("apply_patch", {"patch": "secrets/a"}, DENIED)
    assert answer is not None
    assert answer.synthetic is Synthetic.DENIED


@requirement("X4")
def test_digest_is_of_the_patch_with_its_paths_in_one_spelling() -> None:
    ask = Rule(tool="edit_file", action=RuleAction.ASK)
    call, _ = patched("Add File", ".//n", ask)
    spec = SPECS["apply_patch"]

    assert call.arguments == {"patch": PATCHED.format(verb="Add File", path="n", lines="+x\n")}
    assert call.digest == digest_of("apply_patch", call.arguments, spec.definition)


@requirement("X4")
@pytest.mark.parametrize(
    ("name", "broken"),
    [
        (
            "judged_as",
            partial(
                test_a_rule_about_a_path_holds_for_each_file_of_a_patch, "Add File", "secrets/a"
            ),
        ),
        ("normalise", test_digest_is_of_the_patch_with_its_paths_in_one_spelling),
    ],
)
def test_mutant_of_a_patch_that_rules_see_as_one_text(
    name: str, broken: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it a rule about a path does not see the files of a patch, or one spelling of them."""
    spec = replace(SPECS["apply_patch"], **{name: None})
    monkeypatch.setitem(SPECS, "apply_patch", spec)
    with pytest.raises(AssertionError):
        broken()
