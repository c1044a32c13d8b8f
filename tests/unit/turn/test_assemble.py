"""From live parts back to message parts."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.ids import CallId, Version
from holdfast.domain.parts import Reasoning, Text, ToolCall
from holdfast.ports.bus import Episode, LivePart
from holdfast.turn.assemble import assemble
from tests.requirements import requirement
from tests.support.builders import CHAT, NOW


def live(*batches: list[dict[str, Any]], first: int = 1) -> list[LivePart]:
    return [
        LivePart(CHAT, Episode(Version(1), 1), seq, orjson.dumps(batch))
        for seq, batch in enumerate(batches, start=first)
    ]


def text(index: int, said: str, kind: str = "text") -> dict[str, Any]:
    return {"index": index, "type": kind, "text": said}


CALL = {"index": 2, "type": "tool_call", "call_id": "c", "tool_name": "clock"}


@requirement("L10", "L11")
@given(st.lists(st.tuples(st.integers(0, 2), st.text(min_size=1)), max_size=20))
def test_deltas_are_joined_exactly_as_they_were_shown(deltas: list[tuple[int, str]]) -> None:
    deltas = [(i, t.encode("utf-8", "replace").decode()) for i, t in deltas]
    kinds = ("text", "reasoning", "text")
    parts = assemble(live(*([text(i, t, kinds[i])] for i, t in deltas)), NOW)

    expected: list[Any] = []
    for index, kind in enumerate(kinds):
        said = "".join(t for i, t in deltas if i == index)
        if said:
            expected.append(Text(said) if kind == "text" else Reasoning(said, NOW))
    assert list(parts) == expected


@requirement("L09")
def test_a_call_is_kept_only_with_whole_arguments() -> None:
    half = [CALL, text(2, '{"city": "O', "arguments")]
    assert assemble(live(half), NOW) == ()
    assert assemble(live([CALL]), NOW) == ()
    whole = assemble(live(half, [text(2, 'slo"}', "arguments")]), NOW)
    assert whole == (ToolCall(CallId("c"), "clock", {"city": "Oslo"}),)
    assert assemble(live([CALL, text(2, "[1]", "arguments")]), NOW) == ()


def test_what_providers_run_and_what_tools_write_is_left_out() -> None:
    theirs = CALL | {"executed_by": "provider"}
    output = {"type": "tool_output", "call_id": "c", "text": "x"}
    parts = assemble(live([text(0, "a"), theirs, text(2, "{}", "arguments"), output]), NOW)

    assert parts == (Text("a"),)


def test_an_episode_that_lost_its_beginning_keeps_the_rest() -> None:
    assert assemble(live([text(0, "tail")], first=7), NOW) == (Text("tail"),)
