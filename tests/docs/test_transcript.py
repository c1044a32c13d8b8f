"""The README's transcript is what its script makes today, and the script would notice a lie."""

from pathlib import Path

import pytest

from holdfast_lab.chaos.harness.folders import running_in, short_folder
from holdfast_lab.chaos.harness.ports import quiet_port
from scripts import transcript

LIMIT_S = 900
STORED = {
    "data": [
        {"parts": [{"type": "text", "text": "question"}]},
        {"parts": [{"type": "text", "text": "Let me see."}, {"type": "tool_call"}]},
        {"parts": [{"type": "text", "text": "The tool answered: now. And so on."}]},
    ]
}
BEFORE = "chat 1\nLet me see.\n· clock ✓ → now\n\nThe tool answered: now."
AFTER = "› question\nLet me see.\n· clock ✓ → now\n\nThe tool answered: now. And so on.\n"


@pytest.mark.nightly
@pytest.mark.timeout(LIMIT_S)
def test_it_is_in_step_with_what_happens() -> None:
    with short_folder() as folder:
        made = transcript.make(transcript.Place(folder, quiet_port())).splitlines()
        assert running_in(folder) == []
    written = transcript.transcript_in(transcript.README.read_text())
    assert transcript.skeleton(written) == transcript.skeleton(made)


def test_it_shows_what_it_should() -> None:
    lines = transcript.transcript_in(transcript.README.read_text())
    typed = [line.split()[1:3] for line in lines if line.startswith("$ ")]
    assert typed == [
        ["holdfast", "dev"],
        ["holdfast", "run"],
        ["kill", "-9"],
        ["holdfast", "dev"],
        ["holdfast", "attach"],
    ]
    killed = next(number for number, line in enumerate(lines) if line.startswith("$ kill"))
    cut = lines[killed - 1]
    assert cut.endswith("…"), "in mid-answer"
    assert any(line.startswith(cut.removesuffix("…")) for line in lines[killed:]), "it goes on"


def test_a_true_one_passes() -> None:
    transcript.check(BEFORE, AFTER, STORED)


@pytest.mark.parametrize(
    "after",
    [
        AFTER.replace(" And so on.", ""),
        AFTER.replace("And so on.", "And so on. And so on."),
        AFTER.replace("The tool answered: now.", "The tool answered: then."),
        AFTER.replace("Let me see.\n", "Let me see.\nLet me see.\n"),
        AFTER.replace("· clock ✓ → now\n", ""),
    ],
    ids=["no end", "twice", "another answer", "the first step twice", "no tool"],
)
def test_a_false_one_does_not(after: str) -> None:
    with pytest.raises(transcript.Failed):
        transcript.check(BEFORE, after, STORED)


def test_markers_are_needed() -> None:
    with pytest.raises(transcript.Failed):
        transcript.in_readme("no markers", "x")
    text = f"a\n{transcript.BEGIN}\nold\n{transcript.END}\nb"
    assert transcript.transcript_in(transcript.in_readme(text, "1\n2")) == ["1", "2"]
    assert Path(transcript.README).name == "README.md"
