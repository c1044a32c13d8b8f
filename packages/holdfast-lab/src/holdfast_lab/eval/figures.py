"""What a report says of the runs: the figures of each arm, and the differences between arms."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any, Final

from holdfast_lab.eval.record import EvalRun
from holdfast_lab.eval.statistics import mean_or_none, paired, pass_at, wilson

TRIES: Final = 3
"""Of pass@3."""
DIGITS: Final = 4


def figures_of(runs: Sequence[EvalRun]) -> dict[str, Any]:
    """Of the runs of one arm."""
    passed = [run for run in runs if run.passed]
    interval = wilson(len(passed), len(runs))
    costs = [run.activity.cost_usd for run in runs if run.activity.cost_usd is not None]
    edits = sum(run.activity.edits for run in runs)
    first = sum(run.activity.edits_first_try for run in runs)
    failed = sum((Counter(run.activity.failed_calls) for run in runs), Counter[str]())
    calls = sum((Counter(run.activity.calls) for run in runs), Counter[str]())
    return {
        "runs": len(runs),
        "passed": len(passed),
        "mean_reward": _rounded(mean_or_none([run.reward for run in runs])),
        "pass_at_1": _rounded(len(passed) / len(runs)) if runs else None,
        "pass_at_1_interval": [_rounded(interval.low), _rounded(interval.high)],
        "pass_at_3": _rounded(_pass_at_3(runs)),
        "cost_usd": _rounded(sum(costs)) if costs else None,
        "cost_usd_per_solved": _rounded(sum(costs) / len(passed)) if costs and passed else None,
        "steps_per_solved": _rounded(mean_or_none([run.activity.replies for run in passed])),
        "wall_s_per_run": _rounded(mean_or_none([run.wall_s for run in runs])),
        "waiting_s": _rounded(sum(run.waiting_s for run in runs)),
        "input_tokens": sum(run.activity.input_tokens for run in runs),
        "output_tokens": sum(run.activity.output_tokens for run in runs),
        "cached_tokens": sum(run.activity.cached_tokens for run in runs),
        "calls": dict(calls.most_common()),
        "failed_calls": dict(failed.most_common()),
        "edits": edits,
        "edits_first_try": first,
        "re_reads": sum(run.activity.re_reads for run in runs),
        "cut_results": sum(run.activity.cut_results for run in runs),
        "endings": dict(Counter(run.ending for run in runs).most_common()),
        "kills": dict(sum((Counter(run.kills) for run in runs), Counter[str]()).most_common()),
    }


def rewards_by_task(runs: Iterable[EvalRun]) -> dict[str, float]:
    """The mean reward of each task."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.task, []).append(run.reward)
    return {task: mean(rewards) for task, rewards in found.items()}


def difference_of(base: Sequence[EvalRun], arm: Sequence[EvalRun]) -> dict[str, Any]:
    """An arm compared with another one, task by task."""
    found = asdict(paired(rewards_by_task(base), rewards_by_task(arm)))
    interval = found["interval"]
    return {
        **found,
        "mean": _rounded(found["mean"]),
        "interval": interval and [_rounded(interval["low"]), _rounded(interval["high"])],
    }


def durability_of(calm: Sequence[EvalRun], killed: Sequence[EvalRun]) -> dict[str, Any]:
    """The runs with kills compared with the same runs without."""
    before = {(run.task, run.number): run for run in calm}
    pairs = [
        (before[run.task, run.number], run) for run in killed if (run.task, run.number) in before
    ]
    differing = [f"{one.task}.{one.number}" for one, other in pairs if one.reward != other.reward]
    rate = _rounded(mean(run.passed for run in killed)) if killed else None
    interval = wilson(sum(run.passed for run in calm), len(calm))
    return {
        "pairs": len(pairs),
        "differences": len(differing),
        "differing": differing,
        "pass_at_1_with_kills": rate,
        "within_interval": rate is not None and interval.low <= rate <= interval.high,
        "kills": figures_of(killed)["kills"],
    }


def durability_differences(report: Mapping[str, Any]) -> int | None:
    """Of all arms of a `report.json`: pairs of runs whose rewards differ. None: no kills."""
    found = [each["differences"] for each in report["durability"]]
    return sum(found) if found else None


def scripted_rewards(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By arm and task: the reward of the first run."""
    found: dict[str, dict[str, float]] = {}
    for run in report["runs"]:
        if run["number"] == 1:
            found.setdefault(run["arm"], {})[run["task"]] = run["reward"]
    return found


def _pass_at_3(runs: Sequence[EvalRun]) -> float | None:
    """The mean over tasks; None if a task has fewer runs."""
    passed, number = Counter[str](), Counter(run.task for run in runs)
    for run in runs:
        passed[run.task] += run.passed
    if not number or min(number.values()) < TRIES:
        return None
    return mean(pass_at(TRIES, passed[task], number[task]) for task in number)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
