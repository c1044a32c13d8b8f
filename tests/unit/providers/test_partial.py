"""At any moment, what was said so far is fit to be stored; and nothing unproved is an answer."""

from contextlib import suppress

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.reply import parsed_arguments
from holdfast.adapters.providers.shaping import decode
from holdfast.adapters.providers.types import HeaderAuth
from holdfast.domain.chat import ErrorKind
from holdfast.domain.parts import Reasoning, Text, ToolCall
from holdfast.ports.models import TextDelta
from tests.support.model import (
    NOW,
    WIRE_NAMES,
    assistant,
    decoder_for,
    endpoint_for,
    feed,
    next_request,
    recording,
    stored,
    user,
)

TERMINALS = {
    "anthropic": b"event: message_stop",
    "responses": b"event: response.completed",
    "chat": b'"finish_reason":"tool_calls"',
    "gemini": b'"finishReason":"STOP"',
}


@pytest.mark.requirement("L09", "L10", "L11")
@settings(max_examples=80, deadline=None)
@given(wire=st.sampled_from(WIRE_NAMES), length=st.integers(0, 8000))
def test_a_stream_cut_anywhere_leaves_parts_that_can_be_stored_and_sent(
    wire: str, length: int
) -> None:
    decoder = decoder_for(wire)
    events = feed(decoder, [recording(f"{wire}-1")[:length]])
    heard = "".join(event.text for event in events if isinstance(event, TextDelta))

    parts = decoder.partial(NOW)

    assert stored(parts) == parts
    assert "".join(part.text for part in parts if isinstance(part, Text)) == heard
    assert all(part.finished_at == NOW for part in parts if isinstance(part, Reasoning))
    for call in (part for part in parts if isinstance(part, ToolCall) and part.tool == "read_file"):
        assert call.arguments == {"path": "a.txt", "lines": [1, 2.5]}
    for other in WIRE_NAMES:
        next_request(other, [user("Hi"), assistant(*parts), user("Go on")])


@pytest.mark.requirement("L43")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_no_prefix_of_a_stream_is_an_answer(wire: str) -> None:
    data = recording(f"{wire}-1")
    for length in range(0, data.index(TERMINALS[wire]), 7):
        decoder = decoder_for(wire)
        feed(decoder, [data[:length]])

        assert not decoder.ended
        with pytest.raises(ProviderError) as caught:
            decoder.final(NOW)
        assert (caught.value.kind, caught.value.retryable) == (ErrorKind.STREAM_CLOSED, True)


@pytest.mark.requirement("L09")
def test_a_call_with_half_its_arguments_is_dropped_and_one_with_all_is_kept() -> None:
    data = recording("anthropic-1")
    half = data[: data.index(b'"partial_json":"\\"lines')]
    decoder = decoder_for("anthropic")
    feed(decoder, [half])
    assert [p.tool for p in decoder.partial(NOW) if isinstance(p, ToolCall)] == ["web_search"]

    whole = data[: data.index(b'"id":"toolu_02"')]
    decoder = decoder_for("anthropic")
    feed(decoder, [whole])
    calls = [part.tool for part in decoder.partial(NOW) if isinstance(part, ToolCall)]
    assert calls == ["web_search", "read_file"]


@pytest.mark.requirement("L10")
def test_deltas_of_nothing_but_spaces_are_kept() -> None:
    decoder = decoder_for("chat")
    for text in ("a", "  ", "\n", "b"):
        chunk = b'{"choices":[{"delta":{"content":"%s"}}]}' % text.replace("\n", "\\n").encode()
        decode(decoder, "", chunk)

    assert decoder.partial(NOW) == (Text("a  \nb"),)


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"content_block_delta"}',
        b'{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}',
        b'{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}',
        b'{"type":"message_start","message":3}',
        b'{"type":"response.output_text.delta","output_index":4,"delta":"x"}',
        b'{"type":"response.output_item.added","output_index":0,"item":{}}',
        b'{"type":"response.completed"}',
        b'{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}',
        b'{"choices":[{"delta":{"content":7}}]}',
        b'{"choices":"x"}',
        b'{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}',
        b'{"candidates":[5]}',
        b'{"usage":"x","usageMetadata":[]}',
        b"[]",
        b"7",
        b"{",
        b'{"a":"\xff"}',
        b'{"text":"\\ud800"}',
    ],
)
def test_no_event_however_odd_crashes_a_decoder(wire: str, data: bytes) -> None:
    decoder = decoder_for(wire)
    error: ProviderError | None = None
    try:
        decode(decoder, "", data)
    except ProviderError as raised:
        error = raised
    assert error is None or error.kind is ErrorKind.UNKNOWN
    decoder.partial(NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "text", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "index",
                    "delta",
                    "item",
                    "output_index",
                    "choices",
                    "candidates",
                    "content",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    wire=st.sampled_from(WIRE_NAMES),
    event=st.dictionaries(
        st.sampled_from(["type", "choices", "candidates", "message", "delta", "usage", "index"]),
        JSON,
        max_size=5,
    ),
)
def test_random_objects_never_crash_a_decoder(wire: str, event: dict[str, object]) -> None:
    decoder = decoder_for(wire)
    with suppress(ProviderError):
        decode(decoder, "", orjson.dumps(event))
    decoder.partial(NOW)


def test_endpoints_do_not_show_their_secrets() -> None:
    endpoint = endpoint_for("chat", auth=HeaderAuth("authorization", "sk-very-secret"))

    assert "very-secret" not in repr(endpoint)


@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat", "gemini"])
def test_what_is_too_deep_to_be_sent_again_is_refused(wire: str) -> None:
    assert parsed_arguments('{"a":' * 100 + "1" + "}" * 100) is not None
    assert parsed_arguments('{"a":' * 102 + "1" + "}" * 102) is None
    assert parsed_arguments('{"a":[' + "[]," * 500 + "[]]}") is not None
    with pytest.raises(ProviderError, match="too deep"):
        decode(decoder_for(wire), "", b'{"a":' + b"[" * 150 + b"]" * 150 + b"}")
