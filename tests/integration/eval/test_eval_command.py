"""`holdfast lab eval` with the scripted solver: real servers, real workspaces, no key."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_lab.eval.figures import durability_differences, scripted_rewards
from holdfast_lab.eval.report import KILLED
from holdfast_lab.eval.scripted import EXPECTED
from tests.support.dev import dev
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
    gone = ("--url", "http://127.0.0.1:9", "--key", "k", "--workspaces", str(tmp_path))
    done = await cli.call("lab", "eval", *gone)
    assert (done.code, done.err.count("\n")) == (1, 1), done


@pytest.mark.timeout(120)
async def test_model_that_is_not_configured_is_refused(tmp_path: Path) -> None:
    models = '[{"name": "one", "vendor": "anthropic", "model": "claude-sonnet-5", "api_key": "k"}]'
    cli = Cli(tmp_path)

    none = await cli.run("lab", "eval")
    other = await cli.run("lab", "eval", "--model", "two", HOLDFAST_MODELS=models)

    assert (none.code, "No model is configured" in none.err) == (1, True), none
    assert (other.code, "There is no model 'two'" in other.err) == (1, True), other


@pytest.mark.timeout(120)
async def test_oracle_checks_tasks_without_a_model(tmp_path: Path) -> None:
    done = await Cli(tmp_path).call("lab", "eval", "oracle", "--tasks", "bug-slug")

    assert done.code == 0, done
    assert "1 of 1 tasks hold." in done.out


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_runs_end_when_their_cost_is_reached(tmp_path: Path) -> None:
    report = await evaluated(tmp_path, "--cost-max", "0.01", "--parallel", "1")

    (run,) = report["runs"]
    assert (run["ending"], run["activity"]["replies"] < 10) == ("limit", True)
    assert "of $0.01" in run["error"]
    assert report["runs_not_made"] == 3


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_running_server_is_used_with_its_folder_of_workspaces(tmp_path: Path) -> None:
    """The simulator of `holdfast dev` solves nothing; the run is recorded and removed."""
    with short_folder() as folder:
        async with dev(folder / "data") as server:
            workspaces = folder / "data" / "workspaces"
            workspaces.mkdir(exist_ok=True)
            target = ("--url", server.url, "--key", server.key, "--workspaces", str(workspaces))
            report = tmp_path / "report.json"
            options = ("--tasks", "bug-slug", "--runs", "1", "--json", str(report))
            async with Cli(tmp_path).started("lab", "eval", *target, *options) as process:
                out, err = await process.communicate()
            assert process.returncode == 0, out.decode() + err.decode()

            (run,) = orjson.loads(report.read_bytes())["runs"]
            assert (run["reward"], run["ending"]) == (0.0, "done"), run["error"]
            assert list(workspaces.iterdir()) == []

            elsewhere = (*target[:4], "--workspaces", str(tmp_path))
            async with Cli(tmp_path).started("lab", "eval", *elsewhere, *options) as process:
                await process.communicate()
            (run,) = orjson.loads(report.read_bytes())["runs"]
            assert run["ending"] == "error"
            assert "--workspaces names" in run["error"]
