"""`report.json` of `holdfast lab eval`. What each field means: docs/how-to/evaluate.md."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from holdfast_lab.eval.campaign import Campaign
from holdfast_lab.eval.figures import difference_of, durability_of, figures_of
from holdfast_lab.eval.record import EvalRun

SCHEMA: Final = 1
KILLED: Final = " + kills"
"""After the name of an arm: the same arm with kills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is the same for all runs."""

    at: datetime
    version: str
    commit: str
    model: str
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By arm; without secrets."""
    scripted: bool = False


def report_of(campaign: Campaign, about: About) -> dict[str, Any]:
    runs = sorted(campaign.ended, key=lambda run: (run.task, run.arm, run.number))
    by_arm = {arm.name: [run for run in runs if run.arm == arm.name] for arm in campaign.arms}
    return {
        "schema": SCHEMA,
        "created_at": about.at.isoformat(timespec="seconds"),
        "version": about.version,
        "commit": about.commit,
        "model": about.model,
        "scripted": about.scripted,
        "runs_per_task": campaign.runs,
        "runs_not_made": campaign.not_run,
        "cost_usd": round(campaign.budget.usd, 6),
        "replies_without_price": campaign.budget.unpriced,
        "tasks": [
            {"name": task.name, "difficulty": task.difficulty, "category": task.category}
            for task in campaign.tasks
        ],
        "arms": [
            {
                "name": arm.name,
                "with_kills": arm.kills,
                "settings": dict(about.settings.get(arm.name.removesuffix(KILLED), {})),
                "prompt_hash": arm.prompt_hash,
                "figures": figures_of(by_arm[arm.name]),
            }
            for arm in campaign.arms
        ],
        "differences": _differences(campaign, by_arm),
        "durability": _durability(campaign, by_arm),
        "runs": [_as_json(run) for run in runs],
    }


def pass_rates(report: Mapping[str, Any]) -> dict[str, float]:
    """pass@1 of each arm; 0 without runs."""
    return {arm["name"]: arm["figures"]["pass_at_1"] or 0.0 for arm in report["arms"]}


def summary(report: Mapping[str, Any]) -> list[str]:
    """For a terminal: a line for each arm, difference and comparison with kills."""
    lines: list[str] = []
    for arm in report["arms"]:
        found = arm["figures"]
        low, high = found["pass_at_1_interval"]
        cost = "" if found["cost_usd"] is None else f", ${found['cost_usd']:.2f}"
        lines.append(
            f"{arm['name']}: {found['passed']} of {found['runs']} runs passed, pass@1"
            f" {found['pass_at_1'] or 0:.0%} (95 %: {low:.0%} to {high:.0%}){cost}"
        )
    lines += [
        f"{each['arm']} against {each['base']}: {each['mean']:+.3f} in {each['tasks']} tasks,"
        f" better in {each['better']}, worse in {each['worse']}"
        for each in report["differences"]
    ]
    lines += [
        f"{each['arm']} with kills: {each['differences']} of {each['pairs']} rewards differ,"
        f" {sum(each['kills'].values())} kills"
        for each in report["durability"]
    ]
    if report["runs_not_made"]:
        lines.append(f"{report['runs_not_made']} runs were not made: the cost reached its limit.")
    if report["replies_without_price"]:
        lines.append(
            f"{report['replies_without_price']} replies have no known price: --cost-max does not"
            " count them."
        )
    return lines


def _differences(
    campaign: Campaign, by_arm: Mapping[str, Sequence[EvalRun]]
) -> list[dict[str, Any]]:
    """Each further arm compared with the first one."""
    calm = [arm.name for arm in campaign.arms if not arm.kills]
    return [
        {"base": calm[0], "arm": name, **difference_of(by_arm[calm[0]], by_arm[name])}
        for name in calm[1:]
    ]


def _durability(
    campaign: Campaign, by_arm: Mapping[str, Sequence[EvalRun]]
) -> list[dict[str, Any]]:
    return [
        {
            "arm": base,
            **durability_of(by_arm[base], by_arm[arm.name]),
        }
        for arm in campaign.arms
        if arm.kills and (base := arm.name.removesuffix(KILLED)) in by_arm
    ]


def _as_json(run: EvalRun) -> dict[str, Any]:
    return {**asdict(run), "key": run.key}
