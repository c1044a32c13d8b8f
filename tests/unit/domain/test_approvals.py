"""Rules: which calls they fit, what a simple command is, and what a person's word is bound to."""

import shlex
import subprocess
import time
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.adapters.postgres.codec import decode_json, encode_json
from holdfast.domain.approvals import (
    PATTERN_CHARS_MAX,
    RULES_MAX,
    Judgement,
    Pattern,
    Policy,
    Rule,
    RuleAction,
    digest_of,
    policy_from_json,
    policy_to_json,
    simple_words,
    strictest,
)
from tests.requirements import requirement

DEFINITION = {"name": "execute", "description": "Runs.", "schema": {"type": "object"}}
HARMLESS = "abcXYZ019_./:=@%+,-"
NASTY = [*" \t\n\r;&|<>()$`\\\"'*?[]{}!#~^", "\u00a0", "\u202e", "\u200b", "\x00", "a", "git", "="]
TRICKS = (
    "git status; rm -rf /",
    "git status && rm -rf /",
    "git status & rm -rf /",
    "git status | sh",
    "git status > /etc/passwd",
    "git status < /dev/zero",
    "git status\nrm -rf /",
    "git status\rrm -rf /",
    "git status $(rm -rf /)",
    "git status `rm -rf /`",
    "git status ${IFS}x",
    "git status $HOME",
    "git status 'a b'",
    'git status "$(id)"',
    "git status \\\nx",
    "git status ~root",
    "git status *",
    "git status {a,b}",
    "git status [ab]",
    "git status !!",
    "git status # really",
    "git status\trm",
    "git status\u00a0x",
    "git status \u202ex",
    "PATH=/tmp git status",
    "(git status)",
    "! git status",
    "git status\x00x",
)


def glob(text: str) -> Pattern:
    return Pattern(glob=text)


def words(text: str) -> Pattern:
    return Pattern(words=text)


def verdict(policy: Policy, tool: str, **arguments: Any) -> RuleAction:
    return policy.judge(tool, arguments, whose="these rules").verdict


# Rules.


def test_the_first_rule_that_fits_decides() -> None:
    policy = Policy(
        rules=(
            Rule(tool="execute", arguments={"command": words("git **")}, action=RuleAction.ALLOW),
            Rule(tool="execute", action=RuleAction.ASK),
            Rule(tool="*_workspace", action=RuleAction.DENY, reason="by hand only"),
        )
    )
    assert verdict(policy, "execute", command="git log") is RuleAction.ALLOW
    assert verdict(policy, "execute", command="make") is RuleAction.ASK
    assert verdict(policy, "stop_workspace") is RuleAction.DENY
    assert verdict(policy, "read_file", path="a") is RuleAction.ALLOW
    assert (
        policy.judge("stop_workspace", {}, whose="yours").words == "rule 3 of yours: by hand only"
    )
    none = policy.judge("read_file", {}, whose="yours")
    assert none.words == "the default of yours"
    assert verdict(Policy(default=RuleAction.DENY), "read_file") is RuleAction.DENY


def test_every_named_argument_must_fit() -> None:
    rule = Rule(
        tool="copy",
        arguments={"from": glob("/tmp/*"), "to": glob("/tmp/*")},
        action=RuleAction.ALLOW,
    )
    assert rule.fits("copy", {"from": "/tmp/a", "to": "/tmp/b", "more": 1})
    assert not rule.fits("copy", {"from": "/tmp/a", "to": "/etc/b"})
    assert not rule.fits("copy", {"from": "/tmp/a"})
    assert not rule.fits("Copy", {"from": "/tmp/a", "to": "/tmp/b"})


@pytest.mark.parametrize("value", [["rm", "-rf"], 5, True, {"a": "rm"}, "rm \ud800"])
def test_an_argument_that_cannot_be_read_counts_against_the_call(value: Any) -> None:
    named = {"command": glob("rm*")}
    fits = {each: Rule(tool="*", arguments=named, action=each).fits for each in RuleAction}
    assert not fits[RuleAction.ALLOW]("execute", {"command": value})
    assert fits[RuleAction.ASK]("execute", {"command": value})
    assert fits[RuleAction.DENY]("execute", {"command": value})
    assert not fits[RuleAction.DENY]("execute", {"command": None}), "nothing is not there"


def test_of_several_verdicts_the_strictest_counts() -> None:
    said = [
        Judgement(each, each.value) for each in (RuleAction.ASK, RuleAction.DENY, RuleAction.ALLOW)
    ]
    assert strictest(said).verdict is RuleAction.DENY
    assert strictest([said[2], said[0]]).verdict is RuleAction.ASK
    assert strictest([Judgement(RuleAction.ASK, "a"), Judgement(RuleAction.ASK, "b")]).words == "a"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"glob": "a", "words": "a"},
        {"regex": "("},
        {"regex": "(a)\\1"},
        {"words": "  "},
        {"words": "** git"},
        {"glob": "a" * (PATTERN_CHARS_MAX + 1)},
    ],
)
def test_a_pattern_that_means_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Pattern(**wrong)


def test_rules_have_bounds() -> None:
    rule = Rule(tool="*", action=RuleAction.ASK)
    with pytest.raises(ValueError, match="at most"):
        Policy(rules=(rule,) * (RULES_MAX + 1))
    with pytest.raises(ValueError, match="tool"):
        Rule(tool="", action=RuleAction.ASK)
    with pytest.raises(ValueError, match="reason"):
        Rule(tool="*", action=RuleAction.ASK, reason="x" * 501)


def test_rules_are_kept_and_read_again() -> None:
    policy = Policy(
        rules=(
            Rule(
                tool="a*", arguments={"x": glob("*"), "y": words("git **")}, action=RuleAction.DENY
            ),
            Rule(
                tool="b", arguments={"z": Pattern(regex="a+")}, action=RuleAction.ASK, reason="so"
            ),
        ),
        default=RuleAction.ASK,
    )
    assert policy_from_json(decode_json(encode_json(policy_to_json(policy)))) == policy


# Patterns.


def test_a_glob_and_a_regex_fit_the_whole_text_whatever_is_in_it() -> None:
    assert glob("git status*").fits("git status; rm -rf /"), "as the how-to page says"
    assert not glob("git status").fits("git status x")
    assert not glob("git*").fits("Git status")
    expression = Pattern(regex="git (status|log)( .*)?")
    assert expression.fits("git status -s")
    assert expression.fits("git log a\nb"), "a dot is a newline, too"
    assert not expression.fits("sudo git status")
    assert not expression.fits("git statusx")
    assert not Pattern(regex="git status").fits("git status\n"), "no newline goes unnoticed"


@given(st.text(max_size=30), st.text(max_size=30))
@example("[", "[")
@example("[z-a]", "z")
@example("[[a--b&&c~~d||e]", "a")
@example("[!", "!")
@example("\ud800", "\ud800")
def test_any_text_is_a_glob(text: str, other: str) -> None:
    assert glob(text).fits(other) in (True, False)


def test_no_pattern_takes_long_over_any_text() -> None:
    hostile = "a" * 100_000
    began_s = time.process_time()
    assert not Pattern(regex="(a+)+b").fits(hostile)
    assert not Pattern(regex="(a|a)*c").fits(hostile)
    assert not glob("*a*a*a*a*a*a*b").fits(hostile)
    assert not words("a* **").fits(hostile + ";")
    assert time.process_time() - began_s < 2.0


# Words.


def test_words_fit_one_by_one_and_two_stars_stand_for_the_rest() -> None:
    assert words("git status **").fits("git status")
    assert words("git status **").fits("  git  status --short src/a.py ")
    assert words("git * -s").fits("git status -s")
    assert not words("git *").fits("git log -p"), "one star is one word"
    assert not words("git status **").fits("git")
    assert not words("git status **").fits("git push status")
    assert not words("git status").fits("")
    assert words("**").fits("anything at all")
    assert not words("**").fits("a;b")


@requirement("X4")
@pytest.mark.parametrize("trick", TRICKS)
def test_words_are_not_fooled_by_a_shell(trick: str) -> None:
    assert simple_words(trick) is None
    assert not words("**").fits(trick)
    assert not words("git status **").fits(trick)


@requirement("X4")
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(NASTY), max_size=12).map("".join))
@example("a=b git")
@example("git status ;")
def test_words_of_any_text_are_what_posix_says(text: str) -> None:
    found = simple_words(text)
    if found is not None:
        assert shlex.split(text, comments=True) == list(found)
        assert not set(text) - set(HARMLESS) - set(" git")
        assert "=" not in found[0]


@requirement("X4")
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(HARMLESS, min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(1, 3),
)
def test_a_real_shell_reads_the_same_words(said: list[str], gap: int) -> None:
    text = (" " * gap).join(["program", *said])
    found = simple_words(text)
    assert found is not None
    script = f"program() {{ printf '%s\\n' program \"$@\"; }}; {text}"
    for shell in ("sh", "bash"):
        done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:-1] == list(found)


# What a word is bound to.

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=4)


@requirement("X4")
@given(ARGUMENTS)
@example({"a": "\ud800", "b": "\x00", "c": 1.0, "d": -0.0, "e": 1e300})
def test_a_digest_is_the_same_after_any_way_through_the_database(arguments: dict[str, Any]) -> None:
    digest = digest_of("execute", arguments, DEFINITION)
    assert len(digest) == 64
    again = decode_json(encode_json(arguments))
    assert digest_of("execute", again, DEFINITION) == digest
    turned = dict(reversed(list(arguments.items())))
    assert digest_of("execute", turned, DEFINITION) == digest


@requirement("X4")
@given(ARGUMENTS, ARGUMENTS)
def test_other_arguments_have_another_digest(one: dict[str, Any], two: dict[str, Any]) -> None:
    same = digest_of("a", one, DEFINITION) == digest_of("a", two, DEFINITION)
    assert same == (encode_json(_sorted(one)) == encode_json(_sorted(two)))


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {key: _sorted(members[key]) for key in sorted(members)}
        case list():
            return [_sorted(inner) for inner in cast("list[Any]", value)]
        case _:
            return value


@requirement("X4")
def test_a_digest_is_of_what_is_said_and_not_of_how_it_is_held() -> None:
    held = MappingProxyType({"a": MappingProxyType({"b": (1, 2)})})
    plain = {"a": {"b": [1, 2]}}
    assert digest_of("execute", held, DEFINITION) == digest_of("execute", plain, DEFINITION)


@requirement("X4")
def test_another_tool_or_definition_has_another_digest() -> None:
    digest = digest_of("execute", {"command": "ls"}, DEFINITION)
    assert digest != digest_of("execute2", {"command": "ls"}, DEFINITION)
    changes: list[dict[str, Any]] = [{"description": "Runs it."}, {"schema": {}}, {"name": "other"}]
    for change in changes:
        changed = {**DEFINITION, **change}
        assert digest_of("execute", {"command": "ls"}, changed) != digest, change


@pytest.mark.requirement("X4")
def test_a_rule_about_a_tool_that_does_the_same_holds_too() -> None:
    policy = Policy(rules=(Rule(tool="edit_file", action=RuleAction.DENY),))
    seen = policy.judge("apply_patch", {}, whose="yours", also="edit_file")
    assert (seen.verdict, seen.words) == (RuleAction.DENY, "rule 1 of yours")
    assert policy.judge("apply_patch", {}, whose="yours").verdict is RuleAction.ALLOW
