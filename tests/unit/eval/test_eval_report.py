"""The report: figures of arms, paired differences, kills, the page, arms from files."""

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest
from typing_extensions import override

from holdfast_lab.eval.arms import HIDDEN, ArmSettings, WrongArm, check_names, read_arm
from holdfast_lab.eval.campaign import Campaign
from holdfast_lab.eval.figures import (
    durability_differences,
    durability_of,
    figures_of,
    scripted_rewards,
)
from holdfast_lab.eval.page import page_of
from holdfast_lab.eval.record import Activity, EvalRun
from holdfast_lab.eval.report import KILLED, About, pass_rates, report_of, summary
from holdfast_lab.eval.runner import Budget, BudgetSpent, EvalArm
from holdfast_lab.eval.server import Place
from holdfast_lab.eval.tasks import OWN_TASKS, read_task
from tests.unit.eval.test_eval_record import History

PLACE = Place(url="http://127.0.0.1:1", key="", template="", workspaces=Path("/none"))
NASTY = "<script>alert('x')</script>\"&"


def a_run(task: str = "bug-slug", arm: str = "base", number: int = 1, **more: Any) -> EvalRun:
    given: dict[str, Any] = {"model": "m", "reward": 1.0, "ending": "done", **more}
    return EvalRun(task=task, arm=arm, number=number, **given)


def a_campaign(*runs: EvalRun) -> Campaign:
    names = dict.fromkeys(run.arm for run in runs)
    arms = [EvalArm(name=name, place=PLACE, kills=name.endswith(KILLED)) for name in names]
    tasks = [read_task(OWN_TASKS / name) for name in dict.fromkeys(run.task for run in runs)]
    return Campaign(tasks=tasks, arms=arms, runs=3, ended=list(runs))


def a_report(*runs: EvalRun) -> dict[str, Any]:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    settings = {"base": ArmSettings(given={"system_prompt": NASTY}).shown}
    about = About(at=at, version="1", commit="c0ffee", model="m", settings=settings)
    return orjson.loads(orjson.dumps(report_of(a_campaign(*runs), about)))


def test_figures_of_an_arm() -> None:
    cheap = Activity(replies=4, cost_usd=0.1, edits=2, edits_first_try=1, calls={"execute": 2})
    dear = Activity(replies=9, cost_usd=0.5, failed_calls={"no": 2}, calls={"execute": 1})
    runs = [a_run(number=n, activity=cheap) for n in (1, 2)]
    runs.append(a_run(number=3, reward=0.5, ending="limit", activity=dear))

    found = figures_of(runs)

    assert (found["runs"], found["passed"]) == (3, 2)
    assert found["mean_reward"] == pytest.approx(0.8333)
    assert found["pass_at_1"] == pytest.approx(0.6667)
    assert found["pass_at_3"] == 1.0
    assert (found["cost_usd"], found["cost_usd_per_solved"]) == (0.7, 0.35)
    assert found["steps_per_solved"] == 4
    assert (found["edits"], found["edits_first_try"]) == (4, 2)
    assert found["calls"] == {"execute": 5}
    assert found["failed_calls"] == {"no": 2}
    assert found["endings"] == {"done": 2, "limit": 1}


def test_figures_without_runs_or_prices_are_none() -> None:
    assert figures_of([])["pass_at_1"] is None
    found = figures_of([a_run()])
    assert (found["pass_at_3"], found["cost_usd"], found["cost_usd_per_solved"]) == (None,) * 3


def test_durability_compares_each_run_with_its_twin() -> None:
    calm = [a_run(), a_run(number=2, reward=0.0), a_run("question")]
    killed = [replace(run, arm="k", kills={"server_during": 1}) for run in calm]
    equal = durability_of(calm, killed)
    differing = durability_of(calm, [replace(killed[0], reward=0.0), *killed[1:]])

    assert (equal["pairs"], equal["differences"], equal["within_interval"]) == (3, 0, True)
    assert equal["kills"] == {"server_during": 3}
    assert differing["differing"] == ["bug-slug.1"]


def test_report_has_arms_differences_and_kills() -> None:
    report = a_report(
        *(a_run(), a_run("question")),
        *(a_run(arm=f"base{KILLED}"), a_run("question", arm=f"base{KILLED}", reward=0.0)),
        *(a_run(arm="terse", reward=0.0), a_run("question", arm="terse")),
    )

    assert pass_rates(report) == {"base": 1.0, f"base{KILLED}": 0.5, "terse": 0.5}
    (difference,) = report["differences"]
    assert (difference["base"], difference["arm"], difference["worse"]) == ("base", "terse", 1)
    assert durability_differences(report) == 1
    assert scripted_rewards(report)["terse"] == {"bug-slug": 0.0, "question": 1.0}
    assert any("1 of 2 rewards differ" in line for line in summary(report))


def test_report_without_kills_has_no_durability_difference() -> None:
    assert durability_differences(a_report(a_run())) is None


class Page(HTMLParser):
    """What is in a page: its tags, ids, and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in {"href", "src", "data", "poster", "srcset", "action"}:
                self.links.add(value or "")


def test_page_needs_no_other_file_and_links_to_every_transcript() -> None:
    text = page_of(a_report(a_run(), a_run(number=2, reward=0.0), a_run(arm="terse")))
    page = Page(text)

    assert page.links == {f"#{name}" for name in page.ids}
    assert page.ids == {"bug-slug.1.base", "bug-slug.2.base", "bug-slug.1.terse"}
    assert not {"link", "img", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text


def test_page_shows_text_of_a_model_as_text() -> None:
    said = History().call("execute", {"command": NASTY}, NASTY, is_error=True).say(NASTY)
    run = a_run(
        arm=NASTY,
        error=NASTY,
        verifier=NASTY,
        activity=said.activity,
        transcript=[{"seq": 1, "role": "user", "kind": "text", "text": NASTY, "error": False}],
    )

    text = page_of(a_report(run))

    assert NASTY not in text
    assert Page(text).tags.count("script") == 1, "its own"


def test_budget_ends_when_the_limit_is_reached() -> None:
    budget = Budget(usd_max=0.3)
    priced, unpriced = History().say("a", cost_micro_usd=200_000).say("b").messages

    budget.add(priced)
    budget.add(unpriced)
    with pytest.raises(BudgetSpent, match=r"\$0\.40 of \$0\.30"):
        budget.add(priced)
    assert budget.unpriced == 1


KNOWN = ("system_prompt", "steps_max", "models", "port")


def an_arm(folder: Path, text: str) -> str:
    (folder / "arm.toml").write_text(text)
    return f"terse={folder / 'arm.toml'}"


def test_arm_sets_the_environment_of_its_server(tmp_path: Path) -> None:
    option = an_arm(tmp_path, 'system_prompt = "Be terse."\nsteps_max = 5\n[[models]]\nname = "m"')

    arm = read_arm(option, KNOWN)

    assert arm.name == "terse"
    assert arm.environment == {
        "HOLDFAST_SYSTEM_PROMPT": "Be terse.",
        "HOLDFAST_STEPS_MAX": "5",
        "HOLDFAST_MODELS": '[{"name":"m"}]',
    }
    assert arm.shown == {"system_prompt": "Be terse.", "steps_max": "5", "models": HIDDEN}


@pytest.mark.parametrize(
    ("text", "why"),
    [("no_such = 1", "no setting no_such"), ("port = 1", "chooses port"), ("=", "cannot be read")],
)
def test_wrong_arm_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(WrongArm, match=why):
        read_arm(an_arm(tmp_path, text), KNOWN)


def test_arm_without_a_file_or_with_a_taken_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongArm, match="NAME=FILE"):
        read_arm("terse", KNOWN)
    with pytest.raises(WrongArm, match="cannot be read"):
        read_arm(f"terse={tmp_path / 'none'}", KNOWN)
    with pytest.raises(WrongArm, match="called base"):
        check_names([ArmSettings(), ArmSettings()])


def test_every_field_of_the_report_is_in_the_documents() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "evaluate.md").read_text()
    report = a_report(a_run(), a_run(arm="terse"), a_run(arm=f"base{KILLED}"))
    objects = [report, report["arms"][0], report["arms"][0]["figures"], report["runs"][0]]
    objects += [report["runs"][0]["activity"], report["differences"][0], report["durability"][0]]

    missing = {name for each in objects for name in each if f"`{name}`" not in page}

    assert not missing
