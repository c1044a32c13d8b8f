"""What a proof found: JSON for programs, a page for people."""

import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from holdfast.prove.proof import Proof, Tried


def made_of() -> str:
    """The version, and the commit where this is a clone."""
    here = Path(__file__).parent
    asked = ["git", "-C", str(here), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return version("holdfast")
    return f"{version('holdfast')}, commit {done.stdout.strip()}"


def as_json(proof: Proof) -> dict[str, Any]:
    return {
        **{
            each.attack.name.replace(" ", "_").replace("-", ""): _one(each, proof.seed)
            for each in proof.tried
        },
        "mutants_total": len(proof.noticed),
        "mutants_killed": sum(proof.noticed.values()),
        "profile": proof.profile.value,
        "made_of": made_of(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _one(tried: Tried, seed: int) -> dict[str, Any]:
    told: dict[str, Any] = {
        "promise": tried.attack.promise,
        "attack": tried.attack.attack,
        "unit": tried.attack.unit,
        "seed": seed,
    }
    if tried.found is None:
        return {**told, "count": 0, "violations": 0, "not_tried": tried.why_not}
    found = tried.found
    return {**told, "count": found.count, "violations": len(found.violations), **found.figures}


def as_page(proof: Proof) -> str:
    page = files("holdfast.prove").joinpath("promises.template.md").read_text(encoding="utf-8")
    return page.format(
        made_of=made_of(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        profile=proof.profile.value,
        seed=proof.seed,
        rows="\n".join(_row(each) for each in proof.tried),
        killed=sum(proof.noticed.values()),
        total=len(proof.noticed),
        mutants="\n".join(
            f"| {name} | {'yes' if seen else '**no**'} |" for name, seen in proof.noticed.items()
        ),
        broken=_broken(proof),
    )


def _row(tried: Tried) -> str:
    attack, found = tried.attack, tried.found
    if found is None:
        return f"| **{attack.promise}** {attack.attack} | not tried: {tried.why_not} | |"
    count = f"{found.count:,} {attack.unit}"
    more = "".join(f"; {name.replace('_', ' ')} {value:g}" for name, value in found.figures.items())
    return f"| **{attack.promise}** {attack.attack} | {count}{more} | {len(found.violations)} |"


def _broken(proof: Proof) -> str:
    sentences = [
        f"- {each.attack.name}: {sentence}"
        for each in proof.tried
        if each.found is not None
        for sentence in each.found.violations
    ]
    return "\n".join(sentences) or "None."
