"""What vendors of the Chat Completions wire want otherwise, by the rows that name them."""

import logging
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.types import (
    CachePolicy,
    Endpoint,
    ModelFacts,
    ThinkingStyle,
    Tool,
)
from holdfast.adapters.providers.wires import WIRES, chat
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending, MessageBody
from holdfast.domain.parts import File, Native, Reasoning, Text, ToolCall
from holdfast.ports.models import Reply
from tests.support.model import (
    NOW,
    assistant,
    body_of,
    call_for,
    feed,
    results,
    stored,
    tool_call,
    tool_result,
    user,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 32
HI = (user("Hi"),)


def vendor(name: str) -> Endpoint:
    base = None if VENDORS[name].base_url else "http://gpu.example/v1"
    values: dict[str, Any] = {"resource": "acme"} if name.startswith("azure") else {}
    return endpoint_of(VENDORS[name], "key-123456", base_url=base, **values)


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **top: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"id": "c1", "choices": [choice], **top}) + b"\n\n"


def called(call_id: str = "a", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "clock", "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}


def play(name: str, *chunks: bytes) -> Reply:
    decoder = WIRES["chat"].decoder(call_for("chat", HI), vendor(name))
    feed(decoder, [b"".join(chunks)])
    return decoder.final(NOW)


def said(name: str, *chunks: bytes) -> dict[str, Any]:
    """The assistant message that goes back after this reply, through the stored form."""
    reply = play(name, *chunks)
    answered = [
        results(tool_result(part.call_id)) for part in reply.parts if isinstance(part, ToolCall)
    ]
    history = [*HI, assistant(*stored(reply.parts)), *answered, user("Well?")]
    return messages_for(name, history)[1]


def messages_for(name: str, history: list[MessageBody], **changes: Any) -> list[dict[str, Any]]:
    return body_of(call_for("chat", history, **changes), vendor(name))["messages"]


# Reasoning goes back (F4).


@pytest.mark.parametrize("name", ["deepseek", "moonshot", "zai"])
def test_reasoning_content_goes_back_with_the_call(name: str) -> None:
    message = said(
        name,
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning_content": "look."}),
        chunk(called()),
        chunk(finish="tool_calls"),
    )

    assert message["reasoning_content"] == "Let me look."
    assert message["tool_calls"][0]["id"] == "a"


@pytest.mark.parametrize(("name", "stand_in"), [("deepseek", ""), ("moonshot", " ")])
def test_a_calling_message_without_reasoning_has_a_stand_in(name: str, stand_in: str) -> None:
    foreign = Reasoning("Hm.", NOW, Native("anthropic", {"type": "thinking", "thinking": "Hm."}))
    history = [
        *HI,
        assistant(foreign, tool_call("toolu_1")),
        results(tool_result("toolu_1")),
        assistant(Text("Noon.")),
        user("Well?"),
    ]

    messages = messages_for(name, history)

    assert messages[1]["reasoning_content"] == stand_in
    assert "reasoning_content" not in messages[3]  # it calls nothing
    assert "reasoning_content" not in messages_for("groq", history)[1]


def test_reasoning_of_two_parts_is_one_text() -> None:
    message = said(
        "deepseek",
        chunk({"reasoning_content": "One."}),
        chunk({"content": "So."}),
        chunk({"reasoning_content": " Two."}),
        chunk(called()),
        chunk(finish="tool_calls"),
    )

    assert message["reasoning_content"] == "One. Two."


@pytest.mark.parametrize("name", ["deepseek", "moonshot", "zai"])
def test_no_effort_switches_thinking_off(name: str) -> None:
    facts = ModelFacts(model="m", thinking=ThinkingStyle.EFFORT, efforts=("none", "low", "high"))
    body = body_of(call_for("chat", HI, model=facts, effort="none"), vendor(name))
    high = body_of(call_for("chat", HI, model=facts, effort="high"), vendor(name))

    assert body["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in body
    assert high["reasoning_effort"] == "high"


# OpenRouter (F5).

THOUGHT = {"type": "reasoning.text", "text": "Hm.", "index": 0}
SIGNED = {"type": "reasoning.text", "text": "", "signature": "s", "index": 0}
SEALED = {"type": "reasoning.encrypted", "data": "sealed", "index": 1, "id": "a"}


def detail(*details: dict[str, Any], **delta: Any) -> bytes:
    return chunk({"reasoning_details": list(details), **delta})


def test_details_after_the_call_go_back_with_it() -> None:
    message = said(
        "openrouter",
        detail(THOUGHT, reasoning="Hm."),
        chunk(called()),
        detail(SEALED),
        chunk(finish="tool_calls"),
    )

    assert message["reasoning_details"] == [THOUGHT, SEALED]
    assert message["tool_calls"][0]["id"] == "a"


def test_details_with_the_call_or_with_the_last_text_go_back() -> None:
    with_call = said(
        "openrouter", chunk({**called(), "reasoning_details": [SEALED]}), chunk(finish="tool_calls")
    )
    with_text = said(
        "openrouter",
        chunk({"content": "Yes", "reasoning_details": [SEALED]}),
        chunk({"content": "."}),
        chunk(finish="stop"),
    )

    assert with_call["reasoning_details"] == [SEALED]
    assert with_text == {"role": "assistant", "content": "Yes.", "reasoning_details": [SEALED]}


def test_details_of_interleaved_thinking_are_one_list() -> None:
    second = {"type": "reasoning.text", "text": "Well.", "index": 2, "signature": "t"}
    message = said(
        "openrouter",
        detail(THOUGHT, reasoning="Hm."),
        chunk({"content": "So."}),
        detail(SIGNED),
        detail(SEALED),
        detail(second, reasoning="Well."),
        chunk(called()),
        chunk(finish="tool_calls"),
    )

    assert message["reasoning_details"] == [{**THOUGHT, "signature": "s"}, SEALED, second]


def test_details_that_are_different_entries_are_not_joined() -> None:
    first = {"type": "reasoning.encrypted", "data": "x", "id": "a"}
    second = {"type": "reasoning.encrypted", "data": "y", "id": "b"}
    message = said(
        "openrouter",
        detail(first),
        detail(second),
        detail({"type": "reasoning.text", "text": "1", "signature": "s"}, reasoning="1"),
        detail({"type": "reasoning.text", "text": "2", "signature": "t"}, reasoning="2"),
        chunk({"content": "Yes"}),
        chunk(finish="stop"),
    )

    assert [entry.get("data") or entry["text"] for entry in message["reasoning_details"]] == [
        "x", "y", "1", "2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("anthropic/claude-opus-5.5", ["Hm.", "plain"]),
        ("google/gemini-4-argon", ["sealed", "plain"]),
        ("deepseek/deepseek-v4", ["plain"]),
        ("openrouter/auto", ["Hm.", "sealed", "plain"]),
    ],
)
def test_details_go_back_only_to_the_company_that_made_them(model: str, kept: list[str]) -> None:
    details = [
        {**THOUGHT, "format": "anthropic-claude-v1", "signature": "s"},
        {**SEALED, "format": "google-gemini-v1"},
        {"type": "reasoning.text", "text": "plain", "format": "unknown", "index": 3},
    ]
    native = Native("chat:openrouter", {"reasoning_details": details})
    history = [*HI, assistant(Reasoning("Hm.", NOW, native), Text("Yes")), user("Well?")]

    message = messages_for("openrouter", history, model=ModelFacts(model=model))[1]

    found = [entry.get("data") or entry["text"] for entry in message["reasoning_details"]]
    assert found == kept


def test_a_message_of_nothing_but_details_is_left_out() -> None:
    reply = play("openrouter", detail(SEALED), chunk(finish="length"))
    history = [*HI, assistant(*reply.parts, ending=Ending.LENGTH), user("Well?")]

    assert [message["role"] for message in messages_for("openrouter", history)] == ["user"]


def openrouter_body(model: str, policy: CachePolicy = CachePolicy()) -> dict[str, Any]:  # noqa: B008
    history = [
        user("One"),
        assistant(Text("Two")),
        user("Three"),
        assistant(tool_call("a")),
        results(tool_result("a")),
    ]
    call = call_for(
        "chat", history, model=ModelFacts(model=model), system=("Be kind.",), cache=policy
    )
    return body_of(call, vendor("openrouter"))


def marked(body: dict[str, Any]) -> list[int]:
    return [at for at, one in enumerate(body["messages"]) if "cache_control" in str(one)]


def test_cache_marks_of_claude_on_openrouter() -> None:
    body = openrouter_body("anthropic/claude-opus-5.5", CachePolicy("1h", "5m"))

    hour = {"type": "ephemeral", "ttl": "1h"}
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, hour]
    assert marked(body) == [0, 3, 5]  # the system prompt, the last question, the last result
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "Be kind.", "cache_control": hour}
    ]
    assert body["messages"][5]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_cache_marks_of_gemini_on_openrouter_spare_the_last_message() -> None:
    body = openrouter_body("google/gemini-4-argon")

    assert marked(body) == [0, 3]
    assert "cache_control" not in str(body["tools"])
    one = call_for("chat", HI, model=ModelFacts(model="google/g"), cache=CachePolicy())
    assert marked(body_of(one, vendor("openrouter"))) == []


def test_other_models_and_vendors_have_no_cache_marks() -> None:
    assert marked(openrouter_body("openai/gpt-6")) == []
    assert marked(openrouter_body("anthropic/claude-opus-5.5", CachePolicy(None, None))) == []
    claude = call_for("chat", HI, model=ModelFacts(model="anthropic/c"), cache=CachePolicy())
    assert "cache_control" not in str(body_of(claude, vendor("together")))


@pytest.mark.parametrize(
    ("cost", "micros"),
    [(0.00014, 140), (0.0000135, 14), (0, 0), (None, None), ("1", None), (-1, None), (True, None)],
)
def test_the_cost_that_openrouter_tells_is_the_cost(cost: Any, micros: int | None) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "cost": cost}
    end = chunk({"content": "Yes"}, "stop", usage=usage)

    told = play("openrouter", end).usage
    other = play("together", end).usage

    assert told is not None
    assert other is not None
    assert (told.billed_micros, other.billed_micros) == (micros, None)
    assert "billed_micros" not in told.counts()


def test_openrouter_is_told_who_asks() -> None:
    request = WIRES["chat"].request(call_for("chat", HI), vendor("openrouter"))

    assert request.headers["X-Title"] == "Holdfast"
    assert "HTTP-Referer" in request.headers


# Mistral (F6).


def thinking(*texts: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": t} for t in texts], **more}


def test_mistral_takes_no_stream_options_and_max_tokens() -> None:
    body = body_of(call_for("chat", HI, output_max=9, cache_key="k"), vendor("mistral"))

    assert "stream_options" not in body
    assert (body["max_tokens"], body["prompt_cache_key"]) == (9, "k")


def test_mistral_content_in_chunks_is_thinking_and_text_and_goes_back() -> None:
    chunks = (
        chunk({"content": [thinking("Let me ")]}),
        chunk({"content": [thinking("see.", signature="s")]}),
        chunk({"content": [{"type": "text", "text": "It "}, {"type": "reference", "ids": [1]}]}),
        chunk({"content": "is noon."}),
        chunk(called("D681PevKs")),
        chunk(finish="tool_calls"),
    )

    parts = play("mistral", *chunks).parts
    assert [part.kind for part in parts] == ["reasoning", "text", "tool_call"]
    assert isinstance(parts[0], Reasoning)
    assert (parts[0].text, parts[1]) == ("Let me see.", Text("It is noon."))
    assert said("mistral", *chunks)["content"] == [
        thinking("Let me see.", signature="s"),
        {"type": "text", "text": "It is noon."},
    ]


def test_mistral_call_ids_are_nine_letters_or_digits_and_results_follow() -> None:
    ids = ["toolu_01A09q90qw90lq917835lq9", "call_1", "D681PevKs", "call_1_2", "123456789"]
    history = [
        *HI,
        assistant(*(tool_call(one) for one in ids)),
        results(*(tool_result(one) for one in ids)),
    ]

    messages = messages_for("mistral", history)

    sent = [call["id"] for call in messages[1]["tool_calls"]]
    assert all(len(one) == 9 and one.isascii() and one.isalnum() for one in sent)
    assert (sent[2], sent[4], len(set(sent))) == (ids[2], ids[4], 5)
    assert [message["tool_call_id"] for message in messages[2:]] == sent
    assert messages_for("mistral", history) == messages
    assert [call["id"] for call in messages_for("groq", history)[1]["tool_calls"]] == ids


def test_mistral_gets_a_reply_between_a_result_and_the_user() -> None:
    history = [*HI, assistant(tool_call("D681PevKs")), results(tool_result("D681PevKs"))]

    roles = [one["role"] for one in messages_for("mistral", [*history, user("And now?")])]

    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [one["role"] for one in messages_for("mistral", history)][-1] == "tool"


# Ends (F7).


@pytest.mark.parametrize(
    ("finish", "ending"),
    [
        *((finish, Ending.COMPLETE) for finish in ("stop", "tool_calls", "function_call", "eos")),
        *((finish, Ending.LENGTH) for finish in ("length", "model_length")),
    ],
)
def test_ends_that_are_known(finish: str, ending: Ending) -> None:
    assert play("vllm", chunk({"content": "Yes"}), chunk(finish=finish)).ending is ending


@pytest.mark.parametrize("finish", ["abort", "error", "insufficient_system_resource"])
def test_an_end_by_the_server_is_tried_again(finish: str) -> None:
    with pytest.raises(ProviderError) as caught:
        play("vllm", chunk({"content": "Ye"}), chunk(finish=finish))

    assert (caught.value.kind, caught.value.retryable) == (ErrorKind.UNAVAILABLE, True)


@pytest.mark.parametrize(
    "delta", [called(arguments='{"x'), {"reasoning_content": "Hm"}, {"content": ""}]
)
def test_an_unknown_end_of_an_unfinished_reply_is_tried_again(delta: dict[str, Any]) -> None:
    with pytest.raises(ProviderError) as caught:
        play("vllm", chunk(delta), chunk(finish="somehow"))

    assert (caught.value.kind, caught.value.retryable) == (ErrorKind.STREAM_CLOSED, True)


def test_an_unknown_end_of_a_whole_reply_is_one_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chat.log_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        whole = (chunk({"content": "Yes"}), chunk(called()), chunk(finish="odd"))
        endings = {play("vllm", *whole).ending for _ in range(3)}

    assert endings == {Ending.COMPLETE}
    assert [record.message for record in caplog.records] == ["providers: unknown finish reason"]


# Schemas, files, addresses.

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "first": {"$ref": "#/$defs/Node", "description": "The first."},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Size"}},
        "lost": {"$ref": "#/$defs/Nowhere"},
        "far": {"$ref": "https://example.com/schema"},
    },
    "$defs": {"Node": NODE, "Size": {"enum": ["s", "m"]}},
}


def test_zai_gets_schemas_without_references() -> None:
    call = call_for("chat", HI, tools=(Tool(name="t", schema=TREE),))

    sent = body_of(call, vendor("zai"))["tools"][0]["function"]["parameters"]

    assert "$ref" not in str(sent)
    assert "$defs" not in sent
    node: dict[str, Any] = {"type": "object", "properties": {"next": {}}}
    assert sent["properties"] == {
        "first": {**node, "description": "The first."},
        "list": {"type": "array", "items": {"enum": ["s", "m"]}},
        "lost": {},
        "far": {},
    }
    assert body_of(call, vendor("groq"))["tools"][0]["function"]["parameters"] == TREE


def test_references_that_multiply_are_cut_short() -> None:
    pair = [{"$ref": f"#/$defs/{level + 1}"} for level in range(40)]
    definitions = {str(level): {"anyOf": [pair[level], pair[level]]} for level in range(40)}
    bomb = {"properties": {"x": {"$ref": "#/$defs/0"}}, "$defs": definitions}
    call = call_for("chat", HI, tools=(Tool(name="t", schema=bomb),))

    assert len(WIRES["chat"].request(call, vendor("zai")).body) < 1_000_000


def test_files_that_a_vendor_cannot_be_shown_are_words() -> None:
    picture, paper = File("p", "image/png", "p.png"), File("d", "application/pdf", "d.pdf")
    history = [user("Look:", picture, paper)]
    files = {"p": PNG, "d": b"%PDF-1.7 \xff"}.get

    blind = messages_for("deepseek", history, files=files)[0]["content"]
    seeing = messages_for("mistral", history, files=files)[0]["content"]
    reading = messages_for("openrouter", history, files=files)[0]["content"]

    assert isinstance(blind, str)
    assert "p.png (image/png) cannot be shown" in blind
    assert [part["type"] for part in seeing] == ["text", "image_url", "text"]
    assert [part["type"] for part in reading] == ["text", "image_url", "file"]
