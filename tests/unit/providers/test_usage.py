"""A bill that is not complete is unknown: at least so much, never just so much."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.prices import cost_micros
from holdfast.adapters.providers.types import Decoder, ProviderTool
from holdfast.adapters.providers.wires import WIRES
from holdfast.ports.models import Usage
from tests.support.model import (
    NOW,
    WIRE_NAMES,
    call_for,
    decoder_for,
    endpoint_for,
    feed,
    play,
    recording,
    user,
)

AT = datetime(2026, 11, 14, tzinfo=UTC)
USED = {"prompt_tokens": 10, "completion_tokens": 3}
SO_FAR = {"promptTokenCount": 10, "candidatesTokenCount": 3}


def event(**data: Any) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def chat(text: str, usage: dict[str, int] | None = None, finish: str | None = None) -> bytes:
    choice = {"delta": {"content": text}, "finish_reason": finish}
    return event(id="c", choices=[choice], usage=usage)


def gemini(text: str, usage: dict[str, int] | None = None, finish: str | None = None) -> bytes:
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": finish}
    return event(candidates=[candidate], usageMetadata=usage)


def known(decoder: Decoder) -> Usage | None:
    return decoder.usage if decoder.counted else None


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_before_its_terminal_event_no_recorded_stream_has_a_known_bill(wire: str) -> None:
    data = recording(f"{wire}-1")
    terminal = {
        "anthropic": b"event: message_delta",
        "responses": b"event: response.completed",
        "chat": b'"finish_reason":"tool_calls"',
        "gemini": b'"finishReason":"STOP"',
    }[wire]
    decoder = decoder_for(wire)

    feed(decoder, [data[: data.index(terminal)]])

    assert known(decoder) is None
    assert decoder.partial(NOW)
    assert play(wire, data).usage is not None


def test_a_provider_that_counts_along_is_known_up_to_the_last_event() -> None:
    for wire, say, used in (("chat", chat, USED), ("gemini", gemini, SO_FAR)):
        decoder = decoder_for(wire)

        feed(decoder, [say("Hel", used)])
        assert known(decoder) == Usage(input=10, output=3)
        feed(decoder, [say("lo")])
        assert known(decoder) is None
        assert decoder.usage == Usage(input=10, output=3)


def test_a_search_of_gemini_is_billed_apart_and_told_at_the_end() -> None:
    call = call_for(
        "gemini", [user("Hi")], provider_tools=[ProviderTool("gemini", {"googleSearch": {}})]
    )
    decoder = WIRES["gemini"].decoder(call, endpoint_for("gemini"))

    feed(decoder, [gemini("Hel", SO_FAR)])
    assert known(decoder) is None
    feed(decoder, [gemini("lo", SO_FAR, "STOP")])
    assert known(decoder) == Usage(input=10, output=3)


def test_the_opening_of_anthropic_is_a_lower_bound() -> None:
    decoder = decoder_for("anthropic")
    message = {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}

    feed(decoder, [event(type="message_start", message=message)])

    assert known(decoder) is None
    assert decoder.usage == Usage(input=10, output=1)


def test_what_is_unknown_has_no_price() -> None:
    assert cost_micros(None, "anthropic/claude-sonnet-4-5", AT) is None
