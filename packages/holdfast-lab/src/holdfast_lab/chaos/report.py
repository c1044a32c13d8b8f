"""What proofs found: figures for programs, and a page for people that is made of them.

A file that is there is added to: an attack that is made again replaces what was told of it, and
the others stay. So a proof of hours may be made in pieces, or go on after it was ended.
"""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast_lab.chaos.attacks import ATTACKS
from holdfast_lab.chaos.noticed import mutants
from holdfast_lab.chaos.proof import Proof, Tried

Figures = dict[str, Any]
ABOUT: Final = frozenset(
    {"promise", "attack", "unit", "seed", "profile", "made_of", "date", "seconds", "count"}
    | {"violations", "sentences", "not_tried", "open_items"}
)
"""What is told of every attack; the rest are figures of its own."""
NAMES: Final = {attack.name: attack.name.replace(" ", "_").replace("-", "") for attack in ATTACKS}


def made_of() -> str:
    """The version; and the commit where this is a clone, marked if it was changed since."""
    try:
        _git("ls-files", "--error-unmatch", Path(__file__).name)  # else the clone is of another
        head, changed = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "..")
    except (OSError, subprocess.CalledProcessError):
        return version("holdfast")
    return f"{version('holdfast')}, commit {head}{'+' if changed else ''}"


def _git(*words: str) -> str:
    asked = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def read_report(file: Path | None) -> Figures:
    """What is there; nothing if the file is not, or is no report."""
    if file is None or not file.exists():
        return {}
    try:
        found: Figures = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        return {}
    return found if "noticed" in found else {}


def with_proof(before: Figures, proof: Proof) -> Figures:
    tried = {NAMES[each.attack.name]: _one(each, proof) for each in proof.tried}
    known = {**before.get("noticed", {}), **proof.noticed}
    noticed = {each.name: known[each.name] for each in mutants() if each.name in known}
    return {
        **{name: before[name] for name in NAMES.values() if name in before},
        **tried,
        "noticed": noticed,
        "mutants_total": len(noticed),
        "mutants_killed": sum(noticed.values()),
        "made_of": made_of(),
        "date": _today(),
    }


def _one(tried: Tried, proof: Proof) -> Figures:
    told: Figures = {
        "promise": tried.attack.promise,
        "attack": tried.attack.attack,
        "unit": tried.attack.unit,
        "seed": proof.seed,
        "profile": proof.profile.value,
        "made_of": made_of(),
        "date": _today(),
        "seconds": round(tried.seconds),
    }
    if tried.found is None:
        return {**told, "count": 0, "violations": 0, "not_tried": tried.why_not}
    found = tried.found
    sentences = {"sentences": found.violations} if found.violations else {}
    broken = {"violations": len(found.violations), **sentences}
    known = {"open_items": found.open_items} if found.open_items else {}
    return {**told, "count": found.count, **broken, **known, **found.figures}


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def as_page(report: Figures) -> str:
    page = files("holdfast_lab.chaos").joinpath("promises.template.md").read_text(encoding="utf-8")
    tried = {name: report[name] for name in NAMES.values() if name in report}
    return page.format(
        made_of=_all(tried, "made_of"),
        date=_all(tried, "date"),
        profile=_all(tried, "profile"),
        seed=_all(tried, "seed"),
        rows="\n".join(map(_row, tried.values())),
        killed=report["mutants_killed"],
        total=report["mutants_total"],
        mutants="\n".join(
            f"| {name} | {'yes' if seen else '**no**'} |"
            for name, seen in report["noticed"].items()
        ),
        broken=_listed(tried, "sentences") or "None.",
        open_items=_listed(tried, "open_items") or "The runs above counted none.",
        without=_without(),
    )


def _without() -> str:
    if missing := without_mutant():
        return f"No protection is taken away for: {', '.join(missing)}."
    return "There is at least one for every attack."


def without_mutant() -> list[str]:
    """Attacks of which no protection is taken away."""
    missed = {name for each in mutants() for name in each.attack.split(" and ")}
    return [attack.name for attack in ATTACKS if attack.name not in missed]


def _all(tried: Mapping[str, Figures], what: str) -> str:
    """Nearly always one; several, if the report was made in pieces."""
    return " and ".join(dict.fromkeys(str(each[what]) for each in tried.values()))


def _row(told: Figures) -> str:
    about = f"| **{told['promise']}** {told['attack']}"
    if "not_tried" in told:
        return f"{about} | not tried: {told['not_tried']} | |"
    more = "".join(
        f"; {name.replace('_', ' ')} {value:g}" for name, value in told.items() if name not in ABOUT
    )
    return f"{about} | {told['count']:,} {told['unit']}{more} | {told['violations']} |"


def _listed(tried: Mapping[str, Figures], what: str) -> str:
    return "\n".join(
        f"- {name.replace('_', ' ')}: {sentence}"
        for name, told in tried.items()
        for sentence in told.get(what, ())
    )
