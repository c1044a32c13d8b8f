"""The server's approval rules, as operators write them."""

from pathlib import Path

import pytest

from holdfast.bootstrap.approvals import approval_policy
from holdfast.bootstrap.options import server_options
from holdfast.domain.approvals import ALLOW_ALL, Pattern, Policy, Rule, RuleAction
from holdfast.domain.parts import Need
from holdfast.settings import WrongSettings, read_settings
from tests.docs.pages import ROOT

TOML = """
default = "ask"
[[rules]]
tool = "execute"
action = "allow"
reason = "It only looks."
arguments.command = { words = "git status **" }
"""
JSON = (
    '{"default": "ask", "rules": [{"tool": "execute", "action": "allow",'
    ' "reason": "It only looks.", "arguments": {"command": {"words": "git status **"}}}]}'
)
POLICY = Policy(
    rules=(
        Rule(
            tool="execute",
            action=RuleAction.ALLOW,
            reason="It only looks.",
            arguments={"command": Pattern(words="git status **")},
        ),
    ),
    default=RuleAction.ASK,
)


def read(given: str) -> Policy:
    return approval_policy(read_settings(approvals=given))


def test_rules_are_json_or_a_file_of_either_form(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(TOML)
    (tmp_path / "rules.json").write_text(JSON)
    assert read("") is ALLOW_ALL
    assert read(JSON) == POLICY
    assert read(str(tmp_path / "rules.toml")) == POLICY
    assert read(str(tmp_path / "rules.json")) == POLICY


def test_rules_and_the_wait_reach_the_turn() -> None:
    options = server_options(read_settings(approvals=JSON, approval_wait_s=300)).turn
    assert options.approvals == POLICY
    assert options.await_s[Need.APPROVAL] == 300
    assert options.await_s[Need.RESULT] == 3600
    usual = server_options(read_settings()).turn
    assert usual.await_s[Need.APPROVAL] == 7 * 24 * 3600


def test_the_rules_of_the_how_to_page_are_rules(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/approvals.md").read_text()
    (tmp_path / "rules.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    policy = read(str(tmp_path / "rules.toml"))

    def verdict(command: str) -> RuleAction:
        return policy.judge("execute", {"command": command}, whose="the page").verdict

    assert verdict("cd /work && git  push --force") is RuleAction.DENY
    assert verdict("git status -s") is RuleAction.ALLOW
    assert verdict("git status; make") is RuleAction.ASK
    assert policy.judge("stop_workspace", {}, whose="the page").verdict is RuleAction.ASK
    assert policy.judge("read_file", {}, whose="the page").verdict is RuleAction.ALLOW


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"rules": [}', "neither JSON nor TOML"),
        ("/no/such/file.toml", "cannot be read"),
        ('{"rules": [{"tool": "a"}]}', ".rules[0].action"),
        ('{"rules": [{"tool": "a", "action": "perhaps"}]}', ".rules[0].action"),
        ('{"rules": [{"tool": "a", "action": "ask", "argument": {}}]}', ".rules[0].argument"),
        (
            '{"rules": [{"tool": "a", "action": "ask", "arguments": {"x": {"regex": "("}}}]}',
            "not a regular expression",
        ),
        ('{"rule": []}', ".rule"),
    ],
)
def test_a_server_whose_rules_are_wrong_says_so_and_does_not_start(given: str, said: str) -> None:
    with pytest.raises(WrongSettings) as wrong:
        read(given)
    (sentence,) = wrong.value.sentences
    assert sentence.startswith("HOLDFAST_APPROVALS")
    assert said in sentence
