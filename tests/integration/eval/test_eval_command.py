"""`holdfast lab eval` with the scripted solver: real servers, real workspaces, no key."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from holdfast_lab.eval.figures import durability_differences, scripted_rewards
from holdfast_lab.eval.report import KILLED
from holdfast_lab.eval.scripted import EXPECTED
from tests.support.terminal import Cli

KINDS = {"server_during", "server_between", "agent_during", "agent_between"}


async def evaluated(folder: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """The report of a run of the command."""
    report, page = folder / "report.json", folder / "report.html"
    command = ("lab", "eval", "--scripted", "--runs", "1", *options)
    written = ("--json", str(report), "--html", str(page))
    async with Cli(folder).started(*command, *written) as process:
        out, err = await process.communicate()
    assert process.returncode == code, out.decode() + err.decode()
    assert page.read_text().startswith("<!doctype html>")
    return orjson.loads(report.read_bytes())


@pytest.mark.timeout(400)
async def test_scripted_solver_gets_the_expected_rewards(tmp_path: Path) -> None:
    """The canary of the gate: one solved task and one failed one, below the floor."""
    tasks = ("--tasks", "bug-slug", "--tasks", "bug-csv")

    report = await evaluated(tmp_path, *tasks, "--floor", "0.8", code=1)

    assert scripted_rewards(report) == {"base": {"bug-slug": 1.0, "bug-csv": 0.0}}
    assert durability_differences(report) is None
    solved = next(run for run in report["runs"] if run["task"] == "bug-slug")
    assert (solved["ending"], solved["error"], solved["kills"]) == ("done", "", {})
    assert solved["activity"]["calls"] == {"execute": 6, "start_workspace": 3}
    assert solved["activity"]["replies"] == 10
    assert solved["activity"]["input_tokens"] > 0
    assert solved["activity"]["cost_usd"] > 0
    assert solved["prompt_hash"]
    assert solved["model"] == report["model"] == "scripted-solver"
    assert [each["kind"] for each in solved["transcript"][:3]] == ["text", "text", "call"]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
async def test_rewards_are_equal_while_server_and_agent_are_killed(tmp_path: Path) -> None:
    report = await evaluated(tmp_path, "--durability")

    assert scripted_rewards(report) == {"base": EXPECTED, f"base{KILLED}": EXPECTED}
    assert durability_differences(report) == 0
    for run in report["runs"]:
        kinds = KINDS if run["arm"].endswith(KILLED) else set[str]()
        assert {kind for kind, number in run["kills"].items() if number} == kinds, run["key"]


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_arms_and_limits_are_in_the_report(tmp_path: Path) -> None:
    """An arm that allows two replies ends at the limit, and its prompt has another hash."""
    arm = tmp_path / "short.toml"
    arm.write_text('steps_max = 2\nsystem_prompt = "Be quick."\n')

    report = await evaluated(tmp_path, "--tasks", "bug-slug", "--arm", f"short={arm}")

    base, short = report["arms"]
    assert base["figures"]["endings"] == {"done": 1}
    assert short["figures"]["endings"] == {"limit": 1}
    assert short["settings"] == {"steps_max": "2", "system_prompt": "Be quick."}
    assert base["prompt_hash"] != short["prompt_hash"]
    assert [each["arm"] for each in report["differences"]] == ["short"]


@pytest.mark.timeout(120)
async def test_wrong_usage_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    cli = Cli(tmp_path)

    for options, why in (
        (("--url", "http://127.0.0.1:9"), "--url needs --key"),
        (("--url", "http://127.0.0.1:9", "--key", "k"), "--url needs --workspaces"),
        (("--url", "http://127.0.0.1:9", "--durability"), "server of their own"),
        (("--scripted", "--model", "m"), "--scripted chooses"),
    ):
        done = await cli.call("lab", "eval", *options)
        assert done.code == 2, done
        assert why in " ".join(done.err.replace("│", " ").split()), done
    done = await cli.call("lab", "eval", "--tasks", "no-such-task")
    assert (done.code, "no-such-task" in done.err) == (1, True)


@pytest.mark.timeout(120)
async def test_oracle_checks_tasks_without_a_model(tmp_path: Path) -> None:
    done = await Cli(tmp_path).call("lab", "eval", "oracle", "--tasks", "bug-slug")

    assert done.code == 0, done
    assert "1 of 1 tasks hold." in done.out
