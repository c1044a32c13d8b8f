"""Results, in words."""

from datetime import timedelta

import pytest

from holdfast.tools.workspace import texts
from holdfast.tools.workspace.binding import agent_key
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
        (process(exit_code=3, started_at=NOW, ended_at=NOW + timedelta(seconds=1.26)), "1.3 s"),
        (process(started_at=NOW, ended_at=NOW + timedelta(seconds=90)), "exit code 0 after 90 s"),
        (process(started_at=NOW, ended_at=NOW + timedelta(hours=1)), "after 60 min"),
        (process(signal="SIGKILL", reason="out of memory"), "signal KILL (out of memory)"),
        (process(State.LOST), "lost: the workspace's agent restarted"),
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
    assert texts.kept(look) == "begin\n[… 900 bytes of output left out here …]\nend"
    whole = Look(process=process(), output=Output(begin=0, end=5, text="whole"))
    assert texts.kept(whole) == "whole"
    joined = Look(
        process=process(),
        head=Output(begin=0, end=5, text="begin"),
        output=Output(begin=5, end=8, text="end"),
    )
    assert texts.kept(joined) == "beginend"


def test_processes_are_listed_a_line_each_whatever_their_commands_are() -> None:
    found = [process(State.RUNNING, command="a\nb\x1b[2J"), process(bytes_written=123_456)]
    assert texts.listed(found).splitlines() == [
        r"p1: running; 0 bytes of output; a\nb\x1b[2J",
        "p1: exit code 0; 123 kB of output; make",
    ]
    assert texts.listed([]) == "There are no processes."


def test_a_key_is_short_and_plain_whatever_a_model_calls_its_calls() -> None:
    assert agent_key("2.toolu_01") == "2.toolu_01"
    odd = [agent_key(key) for key in ("2./../x", "2." + "y" * 500, "2.\ud800", "2.ü")]
    assert all(len(key) == 64 for key in odd)
    assert len(set(odd)) == len(odd)
