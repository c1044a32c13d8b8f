"""Settings of organisations, as other versions of the server may have stored them."""

from holdfast.adapters.postgres.codec import encode_json
from holdfast.adapters.postgres.org_settings import _settings  # pyright: ignore[reportPrivateUsage]
from holdfast.domain.approvals import ALLOW_ALL, Policy, Rule, Verdict, policy_to_json


def test_rules_that_an_older_version_did_not_know_are_not_there() -> None:
    assert _settings(encode_json({"steps_max": 5})).approvals == ALLOW_ALL


def test_rules_are_read_as_they_were_set() -> None:
    policy = Policy(rules=(Rule(tool="a", verdict=Verdict.DENY),), default=Verdict.ASK)
    assert _settings(encode_json({"approvals": policy_to_json(policy)})).approvals == policy


def test_rules_that_a_newer_version_wrote_let_nothing_run_unasked() -> None:
    newer = {"rules": [{"tool": "a", "verdict": "perhaps"}], "default": "allow"}
    read = _settings(encode_json({"approvals": newer, "steps_max": 5}))
    assert read.approvals == Policy(default=Verdict.ASK)
    assert read.steps_max == 5
