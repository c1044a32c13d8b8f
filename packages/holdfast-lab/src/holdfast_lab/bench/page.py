"""The report as one HTML file that needs nothing else."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from html import escape
from itertools import pairwise
from typing import Any, Final

from holdfast_lab.bench import svg
from holdfast_lab.bench.figures import Result, figures_of, times_of
from holdfast_lab.bench.watch import Sample

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
  color: #111827; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; margin: .5rem 0 }
td, th { padding: .2rem .8rem .2rem 0; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem }
svg { width: 100%; height: auto; font: 10px system-ui, sans-serif }
svg .title { font-weight: 600; font-size: 11px }
.verdict { padding: .6rem 1rem; border-left: 4px solid #059669; background: #ecfdf5 }
.verdict.failed { border-color: #dc2626; background: #fef2f2 }
"""
TITLES: Final = {
    "accepted": "A message until it is accepted",
    "told": "A message until its reader is told of it",
    "first_part": "A message until the first part of its answer",
    "follow_up_first_part": "The same, of follow-ups",
    "gap": "From one part to the next",
    "turn": "A whole turn",
}


def page_of(result: Result, summary: str) -> str:
    load = result.load
    kind = ", follow-ups in a storm" if load.storm else ""
    return document(
        f"{load.chats:,} chats × {load.turns:,} turns{kind}, all watched",
        {**result.setup, "words": load.words, "tool calls": load.tools},
        summary,
        "<h2>How long it took</h2>",
        plots(_histograms(result)),
        "<h2>What it cost</h2>",
        plots(_over_time(result.watched.samples)),
        *_tables(figures_of(result)),
        passed=result.passed,
    )


def document(
    title: str,
    setup: Mapping[str, str | int],
    summary: str,
    *body: str,
    passed: bool,
) -> str:
    told = ", ".join(f"{name}: {value}" for name, value in setup.items())
    verdict = "verdict" if passed else "verdict failed"
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            "<title>holdfast lab bench</title>",
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(told)}.</p>",
            f'<pre class="{verdict}">{escape(summary)}</pre>',
            *body,
            "</body></html>\n",
        )
    )


def _histograms(result: Result) -> Iterator[str]:
    for name, times in times_of(result.outcome).items():
        yield svg.histogram(TITLES[name], times.histogram(), "ms")


def _over_time(samples: list[Sample]) -> Iterator[str]:
    if not samples:
        return
    began = samples[0].at_s
    pairs = [(one, other) for one, other in pairwise(samples) if other.at_s > one.at_s]

    def rates(of: Callable[[Sample], float]) -> list[svg.Point]:
        return [(b.at_s - began, (of(b) - of(a)) / (b.at_s - a.at_s)) for a, b in pairs]

    parts = list(samples[0].cpu_s)
    yield svg.lines(
        "CPU by part",
        {part: rates(partial(_cpu_s, part)) for part in parts},
        "cores",
    )
    yield svg.lines("Turns", {"turns": rates(lambda s: s.turns)}, "per second")
    yield svg.lines(
        "Memory by part",
        {
            part: [(s.at_s - began, s.memory.get(part, 0) / 2**20) for s in samples]
            for part in samples[0].memory
        },
        "MiB",
    )
    yield svg.lines(
        "Connections to the database",
        {
            "open": [(s.at_s - began, s.connections) for s in samples],
            "busy": [(s.at_s - began, s.connections_busy) for s in samples],
        },
        "connections",
    )


def _cpu_s(part: str, sample: Sample) -> float:
    return sample.cpu_s.get(part, 0.0)


def plots(drawn: Iterable[str]) -> str:
    return f'<div class="plots">{"".join(drawn)}</div>'


def _tables(figures: Mapping[str, Any]) -> Iterator[str]:
    yield table("CPU per turn", figures["cpu_ms_per_turn"], "ms")
    yield table("Beside the bare engines", figures["ratios"], "ratio")
    statements = {each["name"]: each["per_turn"] for each in figures["statements"]}
    yield table("Statements", statements, "per turn")
    yield table("Counted by the servers", figures["counted"], "in all")


def table(title: str, rows: Mapping[str, float], unit: str) -> str:
    if not rows:
        return ""
    body = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{value:,.6g}</td></tr>'
        for name, value in rows.items()
        if "_bucket{" not in name
    )
    return f"<h2>{escape(title)}</h2><table><tr><th></th><th>{escape(unit)}</th></tr>{body}</table>"
