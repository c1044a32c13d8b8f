"""`just bench-admin`: the administration, counted; writes benchmarks/admin.md and .json.

Each part is a proof of the test suite at its whole size: the tests run the same code with less.
Eight minutes on a busy machine.
Parts: `just bench-admin first swaps`; the figures of the others are kept.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.report import FOLDER, stamp, write_json, write_page
from scripts.first_answer import from_wheel
from scripts.transcript import Place, free_port
from tests.support.canaries import BUSES, SHOWN, swept
from tests.support.database import migrated_template
from tests.support.rotation import rotated_under_kills
from tests.support.secrets import swapped
from tests.support.spreading import REPLICAS, spread
from tests.support.tiers import set_seed
from tests.support.watch_cost import measure

ROWS: Final = 10_000
KILLS: Final = 50
CHANGES: Final = 200
CHATS: Final = 8
TURNS: Final = 20
Figures = Mapping[str, float | int | str]


def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hf-")


async def first(_template: str) -> Figures:
    """From the installed wheel, in the browser."""
    with folder() as name:
        await asyncio.to_thread(Path(name).chmod, 0o711)  # as root, PostgreSQL's user must pass
        watch = await asyncio.to_thread(from_wheel, Place(Path(name), free_port()))
    steps = watch.steps
    return {
        "first_answer_commands": watch.commands,
        "first_answer_s": round(watch.total_s - list(steps.values())[-1], 2),
        "first_answer_install_s": steps["install the wheel"],
        "first_answer_start_s": steps["holdfast dev is ready"],
        "first_answer_browser_s": steps["the page answers a suggestion"],
    }


async def canaries(template: str) -> Figures:
    planted, hits, searched = 0, list[str](), 0
    for bus in BUSES:
        with folder() as name:
            sinks, canaries = await swept(template, Path(name), bus)
        assert sinks.unseen() == [], "a sink that shows nothing proves nothing"
        hits += sinks.hits(canaries)
        planted = len(canaries)
        searched += sum(len(said) for each in sinks.found.values() for said in each)
    print(hits)
    return {
        "canaries": planted,
        "canary_buses": len(BUSES),
        "canary_sinks": len(SHOWN),
        "canary_bytes_searched": searched,
        "canary_hits": len(hits),
    }


async def swaps(template: str) -> Figures:
    found = await swapped(template, organisations=4, rows=6)
    return {"swap_pairs": found.pairs, "swap_refused": found.refused}


async def rotation(template: str) -> Figures:
    chance = random.Random(set_seed())
    with folder() as name:
        found = await rotated_under_kills(template, Path(name), chance, rows=ROWS, kills=KILLS)
    return {
        "rotated_rows": found.rows,
        "rotation_kills": found.kills,
        "rotation_kills_between_rows": found.kills_between_rows,
        "rotation_runs": found.runs,
        "unreadable_rows": found.unreadable,
    }


async def settings(template: str) -> Figures:
    found = await spread(template, set_seed(), settings_changes=CHANGES, chats=CHATS)
    assert found.failed == [], found.failed
    print(found.attempts_late, found.attempts_stale)
    applied = sorted(found.applied_s)
    return {
        "settings_replicas": REPLICAS,
        "settings_changes": found.changes,
        "settings_changes_unheard": found.lost,
        "settings_hard_stops": found.stops,
        "settings_applied_ms_median": round(1000 * applied[len(applied) // 2], 1),
        "settings_applied_ms_max": round(1000 * applied[-1], 1),
        "settings_turns": found.turns,
        "settings_turns_refused": found.refused,
        "settings_attempts": found.attempts,
        "settings_late": found.applied_late + len(found.attempts_late),
        "attempts_under_stale_settings": len(found.attempts_stale),
    }


async def statements(template: str) -> Figures:
    costs = [await measure(template, bus, turns=TURNS) for bus in ("redis", "postgres")]
    every = [cost for each in costs for cost in each.values()]
    return {"statements_per_turn": max(max(cost.per_turn) for cost in every)}


PARTS: Final[Mapping[str, Callable[[str], Awaitable[Figures]]]] = {
    "first": first,
    "canaries": canaries,
    "swaps": swaps,
    "settings": settings,
    "statements": statements,
    "rotation": rotation,
}


async def run(parts: list[str]) -> None:
    async with migrated_template() as template:
        for part in parts:
            figures = await PARTS[part](template)
            print(part, dict(figures), flush=True)
            write_json("admin", figures)


def page(f: Mapping[str, Any]) -> str:
    return f"""# The administration

{stamp()} Written by `just bench-admin`. Beside other work on the same machine; seconds are of the
wall clock.

## First answer

| step | s |
|---|---|
| install the wheel, with a warm cache of packages | {f["first_answer_install_s"]} |
| `holdfast dev` until it is ready | {f["first_answer_start_s"]} |
| Chromium: one-time link, first suggestion, its answer | {f["first_answer_browser_s"]} |
| **{f["first_answer_commands"]} commands** | **{f["first_answer_s"]}** |

The goal is 3 minutes and 3 commands. `just first-answer` also times a clone, which builds the page.

## Secrets

| | |
|---|---|
| canaries: keys and headers of providers, refused ones, replaced ones, the master key | \
{f["canaries"]} |
| sinks: logs at DEBUG, rows, bus, metrics, prompts, traces, responses, events, audit | \
{f["canary_sinks"]} |
| sweeps: bus on Redis; bus on PostgreSQL, with NOTIFY payloads | {f["canary_buses"]} |
| bytes searched, for each canary in five forms | {f["canary_bytes_searched"]} |
| **hits** | **{f["canary_hits"]}** |
| pairs of secrets, and of data keys, that were exchanged | {f["swap_pairs"]} |
| **refused, in both directions** | **{f["swap_refused"]}** |
| rows under rotation | {f["rotated_rows"]} |
| `kill -9` of `holdfast secrets rotate`; of these with rows under both keys | \
{f["rotation_kills"]}; {f["rotation_kills_between_rows"]} |
| rotations that ended in between | {f["rotation_runs"]} |
| **rows that could not be read, after any of them** | **{f["unreadable_rows"]}** |

Among the providers is a careless one: its refusal repeats the key and the headers that it was sent.
A sink that shows nothing fails the run.

## Settings

{f["settings_replicas"]} replicas, each with a worker, in one process; {CHATS} chats at once,
{f["settings_turns"]} turns, {f["settings_attempts"]} attempts at the provider.

| | |
|---|---|
| changes; without any hint | {f["settings_changes"]}; {f["settings_changes_unheard"]} |
| changes that forbid a model; turns that were refused for it | \
{f["settings_hard_stops"]}; {f["settings_turns_refused"]} |
| with a hint: applied on the last replica, median and slowest | \
{f["settings_applied_ms_median"]} ms, {f["settings_applied_ms_max"]} ms |
| **late: not within 1 s of the hint, or an attempt with older instructions** | \
**{f["settings_late"]}** |
| **attempts of a model that was forbidden before they began** | \
**{f["attempts_under_stale_settings"]}** |
| **statements of a turn**, at most | **{f["statements_per_turn"]}** |

An attempt is judged where the provider is asked, by the prompt and the model. Without the
generation that statements return, and without the fence, both figures rise: a test shows it.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    asyncio.run(run(parser.parse_args().parts or list(PARTS)))
    write_page("admin", page(orjson.loads((FOLDER / "admin.json").read_bytes())))


if __name__ == "__main__":
    main()
