"""Results, in words."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.tools.workspace import texts
from holdfast.tools.workspace.binding import agent_key
from holdfast.tools.workspace.terminal import plain
from holdfast.tools.workspace.texts import Shown
from holdfast_agent.wire import (
    Look,
    Output,
    Process,
    State,
)
from tests.requirements import requirement
from tests.support.builders import NOW


def process(state: State = State.ENDED, **more: object) -> Process:
    given = {"exit_code": 0} if state is State.ENDED and "signal" not in more else {}
    fields = {"key": "2.c", "id": "p1", "command": "make", "cwd": "", "background": False}
    return Process.model_validate({**fields, "state": state, **given, **more})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (process(State.RUNNING), "running"),
        (process(), "exit code 0"),
        (process(exit_code=3, started_at=NOW, ended_at=NOW + timedelta(seconds=1.26)), "(1.3 s)"),
        (process(started_at=NOW, ended_at=NOW + timedelta(seconds=90)), "exit code 0 (90.0 s)"),
        (process(started_at=NOW, ended_at=NOW + timedelta(hours=1)), "(60 min)"),
        (process(signal="SIGKILL", reason="out of memory"), "killed by signal KILL: out of memory"),
        (process(State.LOST), "lost: the workspace agent restarted"),
        (process(State.STOPPED), "stopped before"),
    ],
)
def test_how_a_process_stands_is_said_in_a_few_words(found: Process, said: str) -> None:
    assert said in texts.outcome(found)


@requirement("L105")
def test_of_long_output_the_beginning_and_the_end_are_shown() -> None:
    look = Look(
        process=process(),
        head=Output(begin=0, end=5, text="begin"),
        output=Output(begin=905, end=908, missed=900, text="end"),
    )
    assert texts.kept(look) == Shown("begin", 900, "end")
    whole = Look(process=process(), output=Output(begin=0, end=5, text="whole"))
    assert texts.kept(whole) == Shown("whole")
    joined = Look(
        process=process(),
        head=Output(begin=0, end=5, text="begin"),
        output=Output(begin=5, end=8, text="end"),
    )
    assert texts.kept(joined) == Shown("beginend")


def told(shown: Shown, bytes_max: int = 32_768, **fields: object) -> tuple[str, bool]:
    return texts.told("exit code 0 (1.0 s)", shown, process(**fields), bytes_max)  # type: ignore[arg-type]


def test_output_comes_after_the_outcome_and_a_blank_line() -> None:
    assert told(Shown("a\n")) == ("exit code 0 (1.0 s)\n\na\n", False)
    assert told(Shown("")) == ("exit code 0 (1.0 s), no output", False)


@requirement("L105")
def test_the_gap_names_the_file_with_the_whole_output() -> None:
    saved: dict[str, Any] = {"output_path": ".holdfast/out/p7.log", "bytes_written": 50_000}
    whole, is_cut = told(Shown("begin\n", 48_112, "end\n"), output_bytes=50_000, **saved)
    assert is_cut
    assert "\n[... 48,112 bytes omitted; full output: .holdfast/out/p7.log ...]\nend\n" in whole
    part, _ = told(Shown("begin\n", 48_112, "end\n"), output_bytes=40_000, **saved)
    assert "omitted; the first 40,000 bytes: .holdfast/out/p7.log ...]" in part
    none, _ = told(Shown("begin\n", 48_112, "end\n"))
    assert "omitted; redirect long output to a file" in none


@requirement("L105", "L114")
@pytest.mark.parametrize(
    "shown",
    [
        Shown("".join(f"line {n}\n" for n in range(9_000))),
        Shown("first\n" + "é" * 16_000, 5, "ü" * 16_000 + "\nlast"),
        Shown("", 7, "x\n" * 20_000),
    ],
)
@pytest.mark.parametrize("bytes_max", [256, 4_000, 32_768])
def test_a_result_is_cut_at_whole_lines_below_the_limit(shown: Shown, bytes_max: int) -> None:
    """Else the cut that knows no lines would take out the middle, and the name of the file."""
    text, is_cut = told(shown, bytes_max, output_path=".holdfast/out/p7.log")
    assert is_cut
    assert len(text.encode()) <= max(bytes_max, 300)
    assert ".holdfast/out/p7.log ...]" in text
    if shown.is_whole and bytes_max > 256:
        assert all(line.startswith(("exit", "line ", "[...")) for line in text.split("\n") if line)
        assert text.endswith("line 8999\n")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        (" 10%\r 50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("100%\r   \r\n", "100%\n"),
        ("\x1b[2K\x1b[1G⠙ a\x1b[2K\x1b[1G⠹ b\n", "⠹ b\n"),
        ("|\b/\b-\bok\b\n", "o\n"),
        ("bell\x07 nul\x00 tab\t", "bell nul tab\t"),
        ("plain [1m text\n", "plain [1m text\n"),
        ("cut \x1b[", "cut "),
    ],
)
def test_colours_go_and_a_line_written_over_counts_as_last_written(written: str, read: str) -> None:
    assert plain(written) == read


def test_processes_are_listed_a_line_each_whatever_their_commands_are() -> None:
    found = [process(State.RUNNING, command="a\nb\x1b[2J"), process(bytes_written=123_456)]
    assert texts.listed(found).splitlines() == [
        r"p1: running; 0 bytes of output; a\nb\x1b[2J",
        "p1: exit code 0; 123 kB of output; make",
    ]
    assert texts.listed([]) == "No processes. execute starts one."


def test_a_key_is_short_and_plain_whatever_a_model_calls_its_calls() -> None:
    assert agent_key("2.toolu_01") == "2.toolu_01"
    odd = [agent_key(key) for key in ("2./../x", "2." + "y" * 500, "2.\ud800", "2.ü")]
    assert all(len(key) == 64 for key in odd)
    assert len(set(odd)) == len(odd)
