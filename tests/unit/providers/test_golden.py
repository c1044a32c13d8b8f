"""A recorded turn of two steps comes back from the store and goes out again, byte for byte."""

import gc
import weakref
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.domain.messages import Ending
from holdfast.domain.parts import Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.ports.models import (
    ArgumentsDelta,
    CallStarted,
    PartFinished,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from tests.support.model import (
    GOLDEN,
    NOW,
    WIRE_NAMES,
    decoder_for,
    feed,
    next_request,
    play,
    recorded_turn,
    recording,
    stored,
    switched_turn,
    user,
)

QUESTION = user("And tomorrow?")
PAIRS = tuple(permutations(WIRE_NAMES, 2))


@pytest.mark.requirement("L29", "L30", "L31", "L32", "L33", "L40")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_the_same_wire_gets_its_own_turn_back_byte_for_byte(wire: str) -> None:
    expected = (GOLDEN / f"{wire}.request.json").read_bytes()

    assert next_request(wire, [*recorded_turn(wire), QUESTION]) == expected


@pytest.mark.requirement("L29")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_parts_in_flight_and_parts_from_the_store_make_the_same_prompt(wire: str) -> None:
    final = play(wire, recording(f"{wire}-1"))

    assert stored(final.parts) == final.parts


@pytest.mark.requirement("L37")
@pytest.mark.parametrize(("there", "here"), PAIRS)
def test_another_wire_goes_on_in_the_middle_of_a_turn(there: str, here: str) -> None:
    expected = (GOLDEN / f"{there}-to-{here}.request.json").read_bytes()

    assert next_request(here, recorded_turn(there)[:3]) == expected
    for foreign in (b"wants the weather", b"ncrypted", b"srvtoolu", b"ws_01", b"c2lnL", b"EqQB"):
        assert foreign not in expected.replace(b"reasoning.encrypted_content", b"")


@pytest.mark.requirement("L37")
@pytest.mark.parametrize(("there", "here"), PAIRS)
def test_switching_back_restores_what_the_other_wire_could_not_read(there: str, here: str) -> None:
    expected = (GOLDEN / f"{there}-to-{here}-and-back.request.json").read_bytes()

    assert next_request(there, [*switched_turn(there, here), QUESTION]) == expected


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_what_was_recorded_is_what_is_decoded(wire: str) -> None:
    final = play(wire, recording(f"{wire}-1"))

    texts = [part.text for part in final.parts if isinstance(part, Text) and part.text]
    calls = [part for part in final.parts if isinstance(part, ToolCall) and part.runs_at == "here"]
    assert texts == ["It will rain."]
    assert [(call.tool, call.arguments) for call in calls] == [
        ("read_file", {"path": "a.txt", "lines": [1, 2.5]}),
        ("clock", {}),
    ]
    assert Source("https://weather.example/zurich", "Weather in Zürich") in final.parts
    assert any(isinstance(p, Reasoning) and "wants the weather" in p.text for p in final.parts)
    assert all(p.finished_at == NOW for p in final.parts if isinstance(p, Reasoning))
    assert (final.ending, final.malformed) == (Ending.COMPLETE, ())
    assert final.usage is not None
    assert (final.usage.input, final.usage.cache_read, final.usage.output) == (2420, 2000, 89)
    if wire != "chat":
        provider = [p for p in final.parts if isinstance(p, ToolResult)]
        assert len(provider) == 1
        assert provider[0].runs_at == "provider"


def test_anthropic_counts_both_kinds_of_cache_writes_and_searches() -> None:
    assert play("anthropic", recording("anthropic-1")).usage == Usage(
        input=2420,
        cache_read=2000,
        cache_write_5m=100,
        cache_write_1h=200,
        output=89,
        searches=1,
    )


@pytest.mark.requirement("L10")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_the_deltas_of_a_part_add_up_to_the_part(wire: str) -> None:
    grown: dict[int, str] = {}
    finished: dict[int, str] = {}
    for event in feed(decoder_for(wire), [recording(f"{wire}-1")]):
        match event:
            case TextDelta(index, text) | ReasoningDelta(index, text):
                grown[index] = grown.get(index, "") + text
            case PartFinished(index, Text(text=text) | Reasoning(text=text)):
                finished[index] = text
            case CallStarted() | ArgumentsDelta() | _:
                pass

    assert grown == {index: text for index, text in finished.items() if text}


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_every_single_byte_may_come_alone(wire: str, ending: bytes) -> None:
    data = recording(f"{wire}-1").replace(b"\n", ending)
    decoder = decoder_for(wire)

    events = feed(decoder, (data[i : i + 1] for i in range(len(data))))

    whole = decoder_for(wire)
    assert events == feed(whole, [recording(f"{wire}-1")])
    assert decoder.final(NOW) == whole.final(NOW)


@settings(max_examples=60, deadline=None)
@given(wire=st.sampled_from(WIRE_NAMES), cuts=st.lists(st.integers(0, 8000), max_size=12))
def test_any_split_of_the_bytes_gives_the_same_parts(wire: str, cuts: list[int]) -> None:
    data = recording(f"{wire}-1")
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    decoder = decoder_for(wire)

    feed(decoder, (data[a:b] for a, b in pairwise(edges)))

    assert decoder.final(NOW) == play(wire, data)


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_decoder_is_gone_with_the_reply_without_a_collector(wire: str) -> None:
    decoder = decoder_for(wire)
    feed(decoder, [recording(f"{wire}-1")])
    known = weakref.ref(decoder)
    gc.disable()
    try:
        del decoder
        assert known() is None
    finally:
        gc.enable()
