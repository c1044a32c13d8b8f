"""Random edits of real source files, as models write them: applied exactly or refused.

A region of a file is taken, one line of it is changed, and the text to replace is spoilt in one of
the tolerated ways. What comes of it must be the file with that line changed, to the character.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast_agent.files.matching import DoesNotFit, changed
from holdfast_agent.wire import Change

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = sorted((ROOT / "packages/holdfast-agent/src").rglob("*.py"))
KINDS: Final = ("none", "dedent", "trailing", "crlf", "typographic", "numbers", "escapes", "tabs")
MARK: Final = "replaced_by_the_edit()"
MAX: Final = 8 << 20


def depth_of(lines: list[str]) -> int:
    """What all lines that are not blank are indented by."""
    return min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)


def spoilt(kind: str, lines: list[str], first: int) -> str:
    match kind:
        case "dedent":
            depth = depth_of(lines)
            lines = [line[depth:] if line.strip() else line for line in lines]
        case "trailing":
            lines = [f"{line}  " for line in lines]
        case "numbers":
            lines = [f"{first + n:>6}\t{line}" for n, line in enumerate(lines)]
        case "escapes":
            escaped = [line.replace("\\", "\\\\").replace("\t", "\\t") for line in lines]
            return "\\n".join(escaped)
        case _:
            pass
    return "\n".join(lines)


def tried(kind: str, source: Path, at: float, size: int, line: int, how: str) -> str:
    """`applied`, `refused`, or `elsewhere` for an edit that names another place; anything else is a
    wrong edit, and fails."""
    lines = source.read_text().split("\n")
    begin = min(int(at * len(lines)), len(lines) - 2)
    region = lines[begin : begin + size]
    if kind == "escapes" and len(region) == 1:
        kind = "none"  # one line has nothing escaped, so nothing says that the new text has
    if kind == "dedent" and sum(bool(each.strip()) for each in region) < 2:
        kind = "none"  # such a line fits exactly, inside its line: the new text is taken as it is
    line %= len(region)
    indent = region[line][: len(region[line]) - len(region[line].lstrip())]
    if kind == "dedent" and not region[line].strip():
        # The new text keeps the depth of the old one: otherwise it says another indentation.
        indent = " " * depth_of(region)
    new = [*region[:line], indent + MARK, *region[line + (how == "replace") :]]
    there, plain_new = list(region), list(new)
    if kind == "typographic":
        curly = str.maketrans({'"': "\u201d", "'": "\u2019", "-": "\u2013"})
        there = [each.translate(curly) for each in there]
        new = [*there[:line], indent + MARK, *there[line + (how == "replace") :]]
    ending = "\r\n" if kind == "crlf" else "\n"
    text = ending.join([*lines[:begin], *there, *lines[begin + size :]])
    if kind == "tabs":
        text = text.replace("    ", "\t")
        new = [each.replace("    ", "\t") for each in new]
    expected = ending.join([*lines[:begin], *new, *lines[begin + size :]])
    if kind == "tabs":
        expected = expected.replace("    ", "\t")
    old_string = spoilt(kind, region, begin + 1)
    new_kind = "none" if kind == "trailing" else kind
    new_string = spoilt(new_kind, plain_new, begin + 1)
    region_text = ending.join(there)
    if kind == "tabs":
        region_text = region_text.replace("    ", "\t")
    if old_string in text and old_string not in region_text:
        return "elsewhere"  # the exact text is at another place: that is the one that is named
    try:
        fit = changed(text, Change(old=old_string, new=new_string), MAX)
    except DoesNotFit:
        return "refused"
    assert fit.text == expected, f"{kind} in {source.name} at line {begin + 1}"
    return "applied"


EDITS: Final = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from(SOURCES),
    st.floats(0, 0.99),
    st.integers(1, 8),
    st.integers(0, 7),
    st.sampled_from(("replace", "insert")),
)


def run(number: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @settings(
        max_examples=number,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(EDITS)
    def each(edit: tuple[str, Path, float, int, int, str]) -> None:
        counts[tried(*edit)] += 1

    each()
    return counts


@pytest.mark.parametrize(
    "number", [200, pytest.param(2000, marks=pytest.mark.nightly)], ids=["gate", "nightly"]
)
def test_random_edits_are_applied_exactly_or_refused(
    number: int, record_property: Callable[[str, object], None]
) -> None:
    counts = run(number)

    for name in ("applied", "refused"):
        record_property(f"random_edits_{name}", counts[name])
    print(f"random edits: {counts['applied']} applied, {counts['refused']} refused, 0 wrong")
    assert counts["applied"] >= number // 3, counts
