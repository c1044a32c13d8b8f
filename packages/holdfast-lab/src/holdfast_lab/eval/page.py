"""The report as one HTML file that needs nothing else: no network, no file beside it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final, TypeAlias

SCRIPT: Final = """
function open_target() {
  const found = location.hash && document.getElementById(location.hash.slice(1));
  if (found) { found.open = true; found.scrollIntoView(); }
}
addEventListener("hashchange", open_target);
open_target();
"""
NONE: Final = "–"
FAILURES_SHOWN: Final = 12
WIDTH: Final = 320
SETTING_CHARS: Final = 40
Report: TypeAlias = Mapping[str, Any]


def page_of(report: Report) -> str:
    style = files("holdfast_lab.eval").joinpath("page.css").read_text(encoding="utf-8")
    title = f"Evaluation of {report['model'] or 'a model'}"
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body><main>",
            f"<header><h1>{escape(title)}</h1>{_about(report)}</header>",
            _tiles(report),
            _arms(report),
            _differences(report),
            _durability(report),
            _tasks(report),
            _work(report),
            _calls(report),
            _failures(report),
            _transcripts(report),
            f"</main><script>{SCRIPT}</script></body></html>\n",
        )
    )


def _about(report: Report) -> str:
    source = f"Holdfast {report['version']}"
    if report["commit"]:
        source += f" ({report['commit']})"
    runs = report["runs_per_task"]
    said = [
        report["created_at"].replace("T", " ")[:16] + " UTC",
        source,
        f"{len(report['tasks'])} tasks, {runs} {'run' if runs == 1 else 'runs'} of each",
    ]
    if report["scripted"]:
        said.append("a scripted solver: these figures say nothing of a model")
    if report["runs_not_made"]:
        said.append(f"{report['runs_not_made']} runs were not made, because of the cost")
    return f'<p class="soft">{" · ".join(map(escape, said))}</p>'


def _tiles(report: Report) -> str:
    found = report["arms"][0]["figures"]
    low, high = found["pass_at_1_interval"]
    named = f"of arm {report['arms'][0]['name']}" if len(report["arms"]) > 1 else "of all runs"
    tiles = [
        (_percent(found["pass_at_1"]), f"pass@1 {named}, {low:.0%} to {high:.0%}"),
        (_percent(found["pass_at_3"]), "pass@3: one of three runs passes"),
        (_dollars(found["cost_usd_per_solved"]), "cost of a solved run"),
        (_number(found["steps_per_solved"]), "replies in a solved run"),
        (_share(found["edits_first_try"], found["edits"]), "edits that succeed at once"),
    ]
    cells = "".join(
        f"<div><b>{value}</b><span>{escape(name)}</span></div>" for value, name in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def _arms(report: Report) -> str:
    rows = [
        [
            _named(arm),
            _interval(found["pass_at_1"] or 0.0, *found["pass_at_1_interval"]),
            _percent(found["pass_at_1"]),
            _percent(found["pass_at_3"]),
            f"{found['passed']} / {found['runs']}",
            _dollars(found["cost_usd"]),
            _dollars(found["cost_usd_per_solved"]),
            _number(found["steps_per_solved"]),
        ]
        for arm in report["arms"]
        for found in (arm["figures"],)
    ]
    heads = ("Arm", "pass@1, 95 %", "pass@1", "pass@3", "Passed", "Cost", "Per solved", "Replies")
    return _section(
        "Results",
        "A run passes with reward 1. The band is the Wilson interval of pass@1: with 95 %"
        " confidence the true rate is in it.",
        _table(heads, rows, bar=1),
    )


def _named(arm: Report) -> str:
    settings = "".join(
        f'<br><span class="tag" title="{escape(value, quote=True)}">{escape(name)} ='
        f" {escape(_cut(value))}</span>"
        for name, value in arm["settings"].items()
    )
    prompt = f'<br><span class="tag id">prompt {escape(arm["prompt_hash"])}</span>'
    return escape(arm["name"]) + (settings or "") + (prompt if arm["prompt_hash"] else "")


def _cut(text: str) -> str:
    return text if len(text) <= SETTING_CHARS else f"{text[:SETTING_CHARS]}…"


def _differences(report: Report) -> str:
    if not report["differences"]:
        return ""
    rows = [
        [
            f"{escape(each['arm'])} <span class=tag>against {escape(each['base'])}</span>",
            _difference(each["mean"], each["interval"]),
            f"{each['mean']:+.3f}",
            str(each["better"]),
            str(each["worse"]),
            str(each["tasks"]),
        ]
        for each in report["differences"]
    ]
    heads = ("Arm", "Difference of the reward, 95 %", "Mean", "Better", "Worse", "Tasks")
    return _section(
        "Paired differences",
        "Each task is compared with itself in the other arm. A band that touches the middle line"
        " shows no difference.",
        _table(heads, rows, bar=1),
    )


def _durability(report: Report) -> str:
    if not report["durability"]:
        return ""
    rows = [
        [
            escape(each["arm"]),
            str(sum(each["kills"].values())),
            escape(", ".join(f"{n} × {_kind(kind)}" for kind, n in each["kills"].items())),
            f"{each['differences']} of {each['pairs']}",
            _percent(each["pass_at_1_with_kills"]),
            "yes" if each["within_interval"] else "no",
        ]
        for each in report["durability"]
    ]
    heads = ("Arm", "Kills", "Kinds", "Rewards that differ", "pass@1 with kills", "In the interval")
    return _section(
        "The same runs while server and agent are killed",
        "Each run is made a second time. Meanwhile the server and the workspace agent get SIGKILL,"
        " during a step and between steps.",
        _table(heads, rows, words=(2,)),
    )


def _kind(kind: str) -> str:
    target, _, moment = kind.partition("_")
    return f"{target} {'during a step' if moment == 'during' else 'between steps'}"


def _tasks(report: Report) -> str:
    runs: dict[tuple[str, str], list[Report]] = {}
    for run in report["runs"]:
        runs.setdefault((run["task"], run["arm"]), []).append(run)
    arms = [arm["name"] for arm in report["arms"]]
    order = {"easy": 0, "medium": 1, "hard": 2}
    tasks = sorted(report["tasks"], key=lambda task: (order[task["difficulty"]], task["name"]))
    rows = [
        [
            escape(task["name"]),
            f'<span class="tag">{escape(task["difficulty"])}, {escape(task["category"])}</span>',
            *(_badges(runs.get((task["name"], arm), ())) for arm in arms),
        ]
        for task in tasks
    ]
    heads = ("Task", "", *arms)
    return _section(
        "Tasks",
        "The reward of each run, with a link to its transcript.",
        _table(heads, rows, words=range(len(heads))),
    )


def _badges(runs: Iterable[Report]) -> str:
    return f'<span class="id">{"".join(map(_badge, runs)) or NONE}</span>'


def _badge(run: Report) -> str:
    title = f"{run['ending']}, {run['activity']['replies']} replies"
    return (
        f'<a class="run {_verdict(run)}" href="#{escape(run["key"], quote=True)}"'
        f' title="{escape(title, quote=True)}">{run["reward"]:g}</a>'
    )


def _verdict(run: Report) -> str:
    return "pass" if run["reward"] >= 1 else "part" if run["reward"] > 0 else "fail"


def _work(report: Report) -> str:
    def line(name: str, shown: Iterable[str]) -> list[str]:
        return [escape(name), *shown]

    arms = [arm["figures"] for arm in report["arms"]]
    rows = [
        line(
            "Edits that succeed at once", (_share(a["edits_first_try"], a["edits"]) for a in arms)
        ),
        line("Failed calls", (f"{sum(a['failed_calls'].values()):,}" for a in arms)),
        line("Reads of a range that was read before", (f"{a['re_reads']:,}" for a in arms)),
        line("Results that were cut", (f"{a['cut_results']:,}" for a in arms)),
        line("Input tokens", (f"{a['input_tokens']:,}" for a in arms)),
        line(
            "of them from the cache", (_share(a["cached_tokens"], a["input_tokens"]) for a in arms)
        ),
        line("Output tokens", (f"{a['output_tokens']:,}" for a in arms)),
        line("Seconds per run", (_number(a["wall_s_per_run"]) for a in arms)),
        line("Seconds of waiting before attempts", (_number(a["waiting_s"]) for a in arms)),
        line("Endings", (_counts(a["endings"]) for a in arms)),
    ]
    heads = ("", *(arm["name"] for arm in report["arms"]))
    return _section("How the model worked", "Over all runs of an arm.", _table(heads, rows))


def _calls(report: Report) -> str:
    total = _total(report, "calls")
    if not total:
        return ""
    rows = [
        [
            f"<code>{escape(tool)}</code>",
            *(f"{arm['figures']['calls'].get(tool, 0):,}" for arm in report["arms"]),
        ]
        for tool, _ in total.most_common()
    ]
    heads = ("Tool", *(arm["name"] for arm in report["arms"]))
    return _section("Calls of tools", "", _table(heads, rows))


def _total(report: Report, name: str) -> Counter[str]:
    """Of all arms."""
    total = Counter[str]()
    for arm in report["arms"]:
        total.update(arm["figures"][name])
    return total


def _failures(report: Report) -> str:
    total = _total(report, "failed_calls")
    if not total:
        return ""
    rows = [
        [
            escape(text),
            *(f"{arm['figures']['failed_calls'].get(text, 0):,}" for arm in report["arms"]),
        ]
        for text, _ in total.most_common(FAILURES_SHOWN)
    ]
    heads = ("First line of the error", *(arm["name"] for arm in report["arms"]))
    left = len(total) - len(rows)
    note = f"The {FAILURES_SHOWN} most frequent; {left} more are in the JSON." if left > 0 else ""
    return _section("Failed calls", note, _table(heads, rows))


def _transcripts(report: Report) -> str:
    return _section("Transcripts", "", "".join(map(_transcript, report["runs"])))


def _transcript(run: Report) -> str:
    about = [run["ending"], f"{run['activity']['replies']} replies", f"{run['wall_s']:.0f} s"]
    if run["activity"]["cost_usd"] is not None:
        about.append(_dollars(run["activity"]["cost_usd"]))
    if run["kills"]:
        about.append(f"{sum(run['kills'].values())} kills")
    beside = [("error", "Error", run["error"]), ("", "Verifier", run["verifier"])]
    entries = [_entry(each) for each in run["transcript"]]
    entries += [_block(kind, name, text, "pre") for kind, name, text in beside if text]
    return (
        f'<details id="{escape(run["key"], quote=True)}"><summary>'
        f'<span class="run {_verdict(run)}">{run["reward"]:g}</span>'
        f"<span>{escape(run['task'])} <span class=soft>run {run['number']},"
        f" {escape(run['arm'])}</span></span>"
        f'<span class="tag">{escape(" · ".join(about))}</span></summary>'
        f'<div class="talk">{"".join(entries)}</div></details>'
    )


def _entry(entry: Report) -> str:
    match entry["kind"]:
        case "call":
            return _block("", entry["tool"], entry["text"], "pre")
        case "result":
            return _block("error" if entry["error"] else "", "result", entry["text"], "pre")
        case "reasoning":
            return _block("", "reasoning", entry["text"], "div")
        case _:
            return _block(entry["role"], entry["role"], entry["text"], "div")


def _block(kind: str, name: str, text: str, element: str) -> str:
    return (
        f'<div class="entry {escape(kind, quote=True)}"><span>{escape(name)}</span>'
        f"<{element}>{escape(text)}</{element}></div>"
    )


def _section(title: str, note: str, body: str) -> str:
    said = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(title)}</h2>{said}{body}</section>"


def _table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    bar: int | None = None,
    words: Iterable[int] = (),
) -> str:
    """`rows`: HTML. All columns but the first, `bar` and `words` are numbers."""
    left = {0, bar, *words}

    def cells(element: str, texts: Iterable[str]) -> Iterator[str]:
        for at, text in enumerate(texts):
            kind = "bar" if at == bar else "" if at in left else "n"
            yield f'<{element} class="{kind}">{text}</{element}>'

    head = "".join(cells("th", map(escape, heads)))
    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _interval(rate: float, low: float, high: float) -> str:
    """A rate from 0 to 1 with its interval."""
    label = f"{rate:.0%}, {low:.0%} to {high:.0%}"
    return _drawn(label, _band(low, high), _point(rate))


def _difference(mean: float, interval: Sequence[float] | None) -> str:
    """A mean from -1 to 1 with its interval; the line is 0."""

    def at(value: float) -> float:
        return (value + 1) / 2

    middle = f'<line class="zero" x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="22"/>'
    band = "" if interval is None else _band(at(interval[0]), at(interval[1]))
    label = f"{mean:+.3f}" + (
        "" if interval is None else f", {interval[0]:+.3f} to {interval[1]:+.3f}"
    )
    return _drawn(label, middle, band, _point(at(mean)))


def _drawn(label: str, *shapes: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} 22" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(label, quote=True)}"><title>{escape(label)}</title>'
        f'<rect class="track" x="0" y="10" width="{WIDTH}" height="2" rx="1"/>'
        f"{''.join(shapes)}</svg>"
    )


def _band(low: float, high: float) -> str:
    left, right = (max(0.0, min(1.0, each)) * WIDTH for each in (low, high))
    width = max(1.0, right - left)
    return f'<rect class="range" x="{left:.1f}" y="5" width="{width:.1f}" height="12" rx="3"/>'


def _point(at: float) -> str:
    left = max(0.0, min(1.0, at)) * (WIDTH - 4)
    return f'<rect class="point" x="{left:.1f}" y="2" width="4" height="18" rx="2"/>'


def _counts(counted: Mapping[str, int]) -> str:
    return escape(", ".join(f"{number} {name}" for name, number in counted.items())) or NONE


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.0%}"


def _share(part: int, whole: int) -> str:
    return _percent(part / whole) if whole else NONE


def _dollars(value: float | None) -> str:
    if value is None:
        return NONE
    return f"${value:,.2f}" if value >= 1 else f"${value:.3f}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"
