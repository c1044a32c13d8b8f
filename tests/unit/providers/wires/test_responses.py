"""What is particular to the OpenAI Responses wire."""

from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.types import ModelFacts, OneTool, ProviderTool, Quirks
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Reasoning, Text, ToolCall
from tests.support.model import (
    NOW,
    assistant,
    body_of,
    call_for,
    decoder_for,
    endpoint_for,
    feed,
    play,
    recorded_turn,
    recording,
    results,
    tool_result,
    user,
)

RECORDED = recorded_turn("responses")


def body(history: Any = None, **changes: Any) -> dict[str, Any]:
    endpoint = endpoint_for("responses", quirks=Quirks(cache_key=True))
    return body_of(call_for("responses", history or [user("Hi")], **changes), endpoint)


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)


def item(index: int, done: dict[str, Any], **added: Any) -> list[dict[str, Any]]:
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**done, **added}},
        {"type": "response.output_item.done", "output_index": index, "item": done},
    ]


def message(text: str, kind: str = "output_text", key: str = "text") -> dict[str, Any]:
    content = [{"type": kind, key: text}]
    return {"id": "m", "type": "message", "role": "assistant", "content": content}


def ended(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"id": "r", "status": status, **fields}}


def types_of(sent: dict[str, Any]) -> list[str]:
    return [entry["type"] for entry in sent["input"]]


@pytest.mark.requirement("L32")
def test_when_the_provider_keeps_the_reply_its_reasoning_is_not_sent_back() -> None:
    sent = body(RECORDED, stored=True)

    assert "reasoning" not in types_of(sent)
    assert "web_search_call" not in types_of(sent)
    assert all("id" not in entry for entry in sent["input"])
    assert "include" not in sent
    assert sent["store"] is True


@pytest.mark.requirement("L32")
def test_reasoning_is_never_sent_without_the_item_that_followed_it() -> None:
    first = RECORDED[1].parts
    # Interrupted: the text after the second reasoning came without its own item.
    cut = [RECORDED[0], assistant(*first[:4], Text("It will")), user("Well?")]

    sent = body(cut)

    assert types_of(sent) == ["message", "message", "message"]
    assert sent["input"][1]["content"][0]["text"] == "It will"


def test_reasoning_without_ciphertext_is_dropped_and_its_followers_lose_their_ids() -> None:
    bare = Reasoning(
        "hm", native=Native("responses", {"type": "reasoning", "id": "rs", "summary": []})
    )
    call = next(
        part for part in RECORDED[1].parts if isinstance(part, ToolCall) and part.tool == "clock"
    )
    history = [user("Hi"), assistant(bare, call), results(tool_result(call.call_id))]

    sent = body(history)

    assert types_of(sent) == ["message", "function_call", "function_call_output"]
    assert "id" not in sent["input"][1]


def test_a_model_that_does_not_reason_gets_no_reasoning() -> None:
    sent = body(RECORDED, model=ModelFacts(model="gpt-4.1"))

    assert "reasoning" not in types_of(sent)
    assert "include" not in sent


def test_settings() -> None:
    search = ProviderTool("responses", {"type": "web_search"})
    foreign = ProviderTool("anthropic", {"type": "web_search_20250305"})
    sent = body(
        effort="high",
        output_max=500,
        cache_key="chat-1",
        tool_choice=OneTool("clock"),
        provider_tools=(search, foreign),
        temperature=0.3,
        extra={"stream": False},
    )

    assert sent["reasoning"] == {"effort": "high", "summary": "auto"}
    assert sent["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert (sent["max_output_tokens"], sent["prompt_cache_key"]) == (500, "chat-1")
    assert sent["tool_choice"] == {"type": "function", "name": "clock"}
    assert sent["tools"][-1] == {"type": "web_search"}
    assert "temperature" not in sent
    assert (sent["stream"], sent["store"]) == (True, False)


def test_the_finished_item_delivers_what_the_deltas_left_out() -> None:
    events = item(0, message("Yes."), content=[])
    final = play("responses", stream(*events, ended()))

    assert [part.text for part in final.parts if isinstance(part, Text)] == ["Yes."]


def test_an_item_that_contradicts_its_deltas_is_an_error() -> None:
    added, done = item(0, message("Yes."), content=[])
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "No"}
    with pytest.raises(ProviderError):
        play("responses", stream(added, delta, done, ended()))


def test_a_length_limit_cuts_and_an_open_item_keeps_what_it_has() -> None:
    added = item(0, message("x"), content=[])[0]
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "One, two"}
    end = ended("incomplete", incomplete_details={"reason": "max_output_tokens"})
    final = play("responses", stream(added, delta, end))

    assert (final.ending, final.finish) == (Ending.LENGTH, "max_output_tokens")
    assert final.parts == (Text("One, two"),)


@pytest.mark.requirement("L42")
def test_a_refusal_with_only_reasoning_is_a_content_filter() -> None:
    thought = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    refusal = item(1, message("", "refusal", "refusal"))
    with pytest.raises(ProviderError) as caught:
        play("responses", stream(*item(0, thought), *refusal, ended()))
    assert caught.value.kind is ErrorKind.CONTENT_FILTER

    filtered = ended("incomplete", incomplete_details={"reason": "content_filter"})
    with pytest.raises(ProviderError) as caught:
        play("responses", stream(*item(0, thought), filtered))
    assert caught.value.kind is ErrorKind.CONTENT_FILTER

    decoder = decoder_for("responses")
    feed(decoder, [stream(*item(0, message("I can't.", "refusal", "refusal")), ended())])
    with pytest.raises(ProviderError):
        decoder.final(NOW)
    kept = [part.text for part in decoder.partial(NOW) if isinstance(part, Text)]
    assert kept == ["I can't."]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None},
            ErrorKind.RATE_LIMIT,
        ),
        (
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "instructions": "Say that the prompt is too long",
                    "error": {"code": "server_error", "message": "x"},
                },
            },
            ErrorKind.UNAVAILABLE,
        ),
    ],
)
def test_error_events_raise(event: dict[str, Any], kind: ErrorKind) -> None:
    decoder = decoder_for("responses")
    begun = b"\n\n".join(recording("responses-1").split(b"\n\n")[:12]) + b"\n\n"
    with pytest.raises(ProviderError) as caught:
        feed(decoder, [begun, stream(event)])
    assert caught.value.kind is kind
    assert decoder.partial(NOW)


def test_items_out_of_order_are_an_error() -> None:
    with pytest.raises(ProviderError):
        play("responses", stream(*item(1, message("b")), *item(0, message("a")), ended()))


def test_what_the_provider_invents_is_kept_for_it() -> None:
    compaction = {"id": "cmp", "type": "compaction", "encrypted_content": "x"}
    final = play("responses", stream(*item(0, compaction), *item(1, message("Yes.")), ended()))
    sent = body([user("Hi"), assistant(*final.parts), user("Well?")])

    assert sent["input"][1] == compaction


def test_cache_writes_are_counted() -> None:
    """GPT-5.6 and later bill them at 1.25 of the input."""
    details = {"cached_tokens": 100, "cache_write_tokens": 300}
    usage = {"input_tokens": 500, "input_tokens_details": details, "output_tokens": 5}
    final = play("responses", stream(*item(0, message("Hi")), ended(usage=usage)))
    assert final.usage is not None
    assert (final.usage.input, final.usage.cache_read) == (500, 100)
    assert final.usage.cache_write_5m == 300
