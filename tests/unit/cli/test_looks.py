"""Small looks: clipped lines, documents, what doctor makes of versions and clocks."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from holdfast.cli.doctor import of_versions
from holdfast.cli.findings import of_clock
from holdfast.cli.render.history import markdown
from holdfast.cli.render.text import aligned, clip, compact, first_line, seconds

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("two\n lines", 20, "two lines"),
        ("exactly ten", 11, "exactly ten"),
        ("one too many", 11, "one too ma…"),
        ("日本語の文字", 7, "日本語…"),
        ("", 5, ""),
    ],
)
def test_a_line_is_clipped_by_columns_and_not_by_characters(
    text: str, width: int, line: str
) -> None:
    assert clip(text, width) == line


def test_more_of_a_text_begins_with_what_was_written_of_less() -> None:
    whole = "a bit  of\nthinking 日本語 that does not fit on one line of twenty columns"
    written = [first_line(whole[:length], 20) for length in range(len(whole) + 1)]

    for before, after in pairwise(written):
        assert after.startswith(before)


def test_a_table_clips_only_its_last_column() -> None:
    rows = [("a", "日本", "short"), ("bcd", "x\ny", "rather a long title")]

    assert aligned(("ID", "B", "TITLE"), rows, 24) == [
        "ID   B     TITLE",
        "a    日本  short",
        "bcd  x y   rather a lo…",
    ]


def test_images_of_a_result_are_not_printed_as_base64() -> None:
    words, image = {"type": "text", "text": "a.png"}, {"type": "image", "data": "iVBORw=="}

    assert compact({"content": [words, image]}) == "a.png [image]"
    assert compact({"content": [words, 3]}) == '{"content":[{"type":"text","text":"a.png"},3]}'
    assert compact({"content": "text"}) == '{"content":"text"}'


@pytest.mark.parametrize(("number", "said"), [(0.25, "0.2 s"), (7.0, "7.0 s"), (61.4, "61 s")])
def test_seconds_are_told_as_exactly_as_matters(number: float, said: str) -> None:
    assert seconds(number) == said


@pytest.mark.parametrize(
    ("theirs", "verdict"), [("1.2.3", "ok"), ("1.2.9", "ok"), ("1.3.0", "warning")]
)
def test_a_server_of_another_minor_version_is_a_warning(theirs: str, verdict: str) -> None:
    assert of_versions("1.2.3", theirs).verdict == verdict


@pytest.mark.parametrize(("apart_s", "verdict"), [(2, "ok"), (-29, "ok"), (31, "warning")])
def test_clocks_may_be_half_a_minute_apart(apart_s: int, verdict: str) -> None:
    assert of_clock(NOW, NOW + timedelta(seconds=apart_s)).verdict == verdict


def test_a_server_without_a_date_is_a_warning() -> None:
    assert of_clock(NOW, None).verdict == "warning"


def test_a_document_keeps_what_was_said_and_what_tools_did() -> None:
    messages = [
        {
            "role": "user",
            "finish_reason": "stop",
            "parts": [{"type": "text", "text": "Hi\n\n# you"}],
        },
        {
            "role": "assistant",
            "finish_reason": "interrupted",
            "model": "sim",
            "parts": [
                {"type": "reasoning", "text": "hm\nhm"},
                {"type": "tool_call", "tool_name": "sh", "arguments": {"run": "echo `date`"}},
                {"type": "source", "url": "https://a.example", "title": "A\nB"},
                {"type": "skill", "name": "s"},
            ],
        },
        {
            "role": "tool",
            "finish_reason": "stop",
            "parts": [
                {"type": "tool_result", "tool_name": "sh", "output": "`x`", "is_error": True}
            ],
        },
    ]

    assert markdown({"id": "c", "title": None}, messages).splitlines() == [
        "# Chat", "", "`c`", "",
        "## You", "", "Hi", "", "# you", "",
        "## Agent · sim · interrupted", "",
        "> hm", "> hm", "",
        '- called `sh` ``{"run":"echo `date`"}``', "",
        "- <https://a.example> A B", "",
        "- skill s", "",
        "## Tools", "",
        "- `sh` failed with `` `x` ``",
    ]  # fmt: skip


def test_a_plan_is_exported_with_the_status_of_each_step() -> None:
    steps = [{"text": "mend\nit", "status": "completed"}, {"text": "test it", "status": "pending"}]
    plan = {"type": "tool_call", "tool_name": "update_plan", "arguments": {"steps": steps}}
    said = {"role": "assistant", "finish_reason": "stop", "parts": [plan]}

    assert markdown({"id": "c", "title": None}, [said]).splitlines()[6:] == [
        "- called `update_plan`", "  - [x] mend it", "  - [ ] test it",
    ]  # fmt: skip


def test_advice_is_exported_as_prose() -> None:
    output = {"type": "advice", "advice": "Go left.\nCheck.", "model": "m", "remaining_uses": None}
    told = {"type": "tool_result", "tool_name": "advisor", "is_error": False, "output": output}
    said = {"role": "tool", "finish_reason": "stop", "parts": [told]}

    assert markdown({"id": "c", "title": None}, [said]).splitlines()[6:] == [
        "- `advisor` gave advice of m:", "", "  > Go left.", "  > Check.",
    ]  # fmt: skip


def test_a_proposed_plan_is_exported_as_prose() -> None:
    plan = "# Rename it\n\n1. Change `a.py`.\n"
    told = {"type": "tool_result", "tool_name": "propose_plan", "is_error": False, "output": plan}
    said = {"role": "tool", "finish_reason": "stop", "parts": [told]}

    assert markdown({"id": "c", "title": None}, [said]).splitlines()[6:] == [
        "- `propose_plan` gave a plan:", "", "  > # Rename it", "  >", "  > 1. Change `a.py`.",
    ]  # fmt: skip


def test_what_a_tool_wrote_in_lines_is_exported_in_lines() -> None:
    output = "exit code 0 after 0.1 s\n-a ``` b\n\n+a\n"
    result = {"type": "tool_result", "tool_name": "execute", "is_error": False, "output": output}
    said = {"role": "tool", "finish_reason": "stop", "parts": [result]}

    assert markdown({"id": "c", "title": None}, [said]).splitlines()[6:] == [
        "- `execute` gave:", "",
        "  ````", "  exit code 0 after 0.1 s", "  -a ``` b", "", "  +a", "  ````",
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [True, False])
def test_a_document_says_that_a_worker_was_lost(kept: bool) -> None:
    takeover: dict[str, Any]
    takeover = {"attempt": 2, "lost_workers": 1, "after_seconds": 8, "kept": kept, "calls": []}
    parts = [{"type": "text", "text": "so far"}]
    said: dict[str, Any]
    said = {
        "role": "assistant",
        "finish_reason": "provider_error",
        "parts": parts,
        "takeover": takeover,
    }
    chat = {"title": "t", "id": "c"}

    lines = [line for line in markdown(chat, [said]).splitlines() if line][3:]

    quiet = "*worker lost, continued after 8 s, nothing repeated*"
    assert lines == (["so far", quiet] if kept else [quiet, "so far"])
