"""`just secure` judges as it says: by tool, rule, file and line."""

import yaml

from scripts.gate.stages import NIGHTLY
from scripts.secure.findings import Accepted, Finding, accepted_in, judged
from scripts.secure.planted import PLANTED
from scripts.secure.tools import LOOKING_UP, READING, RULES

FOUND = Finding("semgrep", "shell", "packages/a/b.py", 3, 'os.system("ls")')
FITTING = Accepted("semgrep", "shell", "packages/a/b.py", "Why not.", "os.system")


def test_a_finding_is_new_unless_tool_rule_file_and_line_are_accepted() -> None:
    assert judged([FOUND], [FITTING]) == ([], [])
    assert judged([FOUND], [Accepted("semgrep", "shell", "packages/**", "Why not.")]) == ([], [])
    for other in (
        Accepted("bandit", "shell", "packages/a/b.py", "Why not."),
        Accepted("semgrep", "unpickle", "packages/a/b.py", "Why not."),
        Accepted("semgrep", "shell", "packages/a/c.py", "Why not."),
        Accepted("semgrep", "shell", "packages/b/**", "Why not."),
        Accepted("semgrep", "shell", "packages/a/b.py", "Why not.", "os.popen"),
    ):
        assert judged([FOUND], [other]) == ([FOUND], [other])


def test_every_reason_is_a_sentence_about_a_tool_that_runs() -> None:
    accepted = accepted_in()
    assert accepted
    assert {each.tool for each in accepted} <= {*READING, *LOOKING_UP}
    assert [str(each) for each in accepted if not each.why.endswith(".")] == []


def test_every_rule_of_ours_has_a_mutant() -> None:
    ours = {rule["id"] for rule in yaml.safe_load(RULES.read_text())["rules"]}
    assert ours
    assert ours == {rule for tool, rule in PLANTED if tool == "semgrep"}
    assert {tool for tool, _ in PLANTED} == set(READING)


def test_a_nightly_run_has_it() -> None:
    assert "secure" in {stage.name for stage in NIGHTLY}
