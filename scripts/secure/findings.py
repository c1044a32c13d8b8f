"""What a tool found, and which findings are accepted, each with its reason."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from scripts.gate.stages import ROOT

ACCEPTED: Final = Path(__file__).with_name("accepted.toml")


@dataclass(frozen=True)
class Finding:
    tool: str
    rule: str
    path: str
    """From the root of the project."""
    number: int
    line: str

    @override
    def __str__(self) -> str:
        return f"{self.tool} {self.rule}: {self.path}:{self.number}: {self.line[:120]}"


@dataclass(frozen=True)
class Accepted:
    """A finding that is none, and why. `line` is a part of the line, or empty: every line."""

    tool: str
    rule: str
    path: str
    """A file, or `FOLDER/**`."""
    why: str
    line: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.tool} {self.rule} in {self.path}: {self.line or 'every line'}"

    def covers(self, finding: Finding) -> bool:
        same = (self.tool, self.rule) == (finding.tool, finding.rule)
        return same and _matches(finding.path, self.path) and self.line in finding.line


def _matches(path: str, pattern: str) -> bool:
    if pattern.endswith("/**"):
        return path.startswith(pattern.removesuffix("**"))
    return path == pattern


def accepted_in(file: Path = ACCEPTED) -> list[Accepted]:
    return [Accepted(**each) for each in tomllib.loads(file.read_text())["accepted"]]


def line_of(path: Path, number: int) -> str:
    """The line itself: where a tool shortens it, or shows another one."""
    lines = path.read_text(errors="replace").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def finding(tool: str, rule: str, path: str, number: int, root: Path = ROOT) -> Finding:
    told = Path(path)
    inside = told.relative_to(root) if told.is_absolute() else told
    return Finding(tool, rule, inside.as_posix(), number, line_of(root / inside, number))


def judged(
    findings: Iterable[Finding], accepted: Sequence[Accepted]
) -> tuple[list[Finding], list[Accepted]]:
    """Findings that no line accepts, and lines that accept nothing any more."""
    found = list(findings)
    new = [each for each in found if not any(one.covers(each) for one in accepted)]
    stale = [one for one in accepted if not any(one.covers(each) for each in found)]
    return new, stale
