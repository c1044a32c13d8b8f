"""Every rule of a vendor refuses what it names, in its words, and only there."""

from typing import Any

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.vendors import NAMES, as_vendor, played
from holdfast_simulator.wires.base import first_rejection
from holdfast_simulator.wires.chat_vendor_rules import SIGNED_CALL, bound_id
from holdfast_simulator.wires.chat_vendors import CHAT_VENDORS, VENDORS
from holdfast_simulator.wires.openai_common import error_body
from tests.support.simulator import Json, body, call

C = WireName.CHAT
THOUGHT = "Which zone?"
REF: Json = {
    "type": "function",
    "function": {"name": "t", "parameters": {"properties": {"x": {"$ref": "#/$defs/X"}}}},
}


def chat(*messages: Json, **more: Any) -> Json:
    given = body(C) | {"messages": [{"role": "user", "content": "hi"}, *messages]} | more
    return {key: value for key, value in given.items() if value is not None}


def made(name: str, **more: Any) -> tuple[Json, Json]:
    """A message that calls and its result."""
    function = {"name": "t", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function}]
    said: Json = {"role": "assistant", "content": None, "tool_calls": calls, **more}
    return said, {"role": "tool", "tool_call_id": name, "content": "ok"}


def mistral(*messages: Json, **more: Any) -> Json:
    return chat(*messages, stream_options=None, **more)


def content(**part: Any) -> Json:
    return {"role": "user", "content": [part]}


def deep(**more: Any) -> tuple[Json, Json]:
    return made(bound_id("deepseek", THOUGHT, 0, "w"), **more)


def thinking(text: str) -> Json:
    signature = seal(Purpose.THINKING, THOUGHT, Chance(b"t"))
    return {"type": "reasoning.text", "text": text, "signature": signature}


GEMINI = {"model": "google/gemini-3-pro-preview"}
CLAUDE = {"model": "anthropic/claude-sonnet-4.5"}
MARK = {"cache_control": {"type": "ephemeral"}}
SIGNATURE = {
    "type": "reasoning.encrypted",
    "id": f"{SIGNED_CALL}1",
    "data": seal(Purpose.THOUGHT, f"{SIGNED_CALL}1", Chance(b"t")),
}
SAID: Json = {"role": "assistant", "content": "a"}

REFUSED: dict[str, tuple[str, Json, str]] = {
    "deepseek-reasoning": ("deepseek", chat(*made("call_1")), "must be passed back to the API"),
    "moonshot-reasoning": (
        "moonshot",
        chat(*made("call_1", reasoning_content="")),
        "is missing in assistant tool call message at index 1",
    ),
    "text-only": (
        "deepseek",
        chat(content(type="image_url", image_url={"url": "data:"})),
        "unknown variant `image_url`, expected `text`",
    ),
    "no-files": ("vllm", chat(content(type="file", file={})), "Unknown part type: file"),
    "no-references": ("zai", chat(tools=[REF]), "Invalid API parameter"),
    "mistral-extra": ("mistral", chat(), "stream_options"),
    "mistral-fields": ("mistral", mistral(SAID | {"reasoning_content": "x"}), "reasoning_content"),
    "mistral-ids": ("mistral", mistral(*made("call_1")), "with a length of 9"),
    "mistral-order": (
        "mistral",
        mistral(*made("D681PevKs"), {"role": "user", "content": "?"}),
        "Unexpected role 'user' after role 'tool'",
    ),
    "groq-fields": ("groq", chat(SAID | {"reasoning": "x"}), "property 'reasoning' is unsupported"),
    "openrouter-signed-calls": (
        "openrouter",
        chat(*made(f"{SIGNED_CALL}1"), **GEMINI),
        "missing a thought_signature",
    ),
    "openrouter-thinking": (
        "openrouter",
        chat(SAID | {"reasoning_details": [thinking("Other")]}, **CLAUDE),
        "Invalid `signature`",
    ),
    "cache-marks": (
        "openrouter",
        chat({"role": "user", "content": [{"type": "text", "text": "x", **MARK}] * 5}),
        "Found 5",
    ),
}
TAKEN: dict[str, tuple[str, Json]] = {
    "reasoning": ("deepseek", chat(*deep(reasoning_content=THOUGHT))),
    "reasoning of another vendor": ("deepseek", chat(*made("x", reasoning_content=""))),
    "no thinking": ("deepseek", chat(*made("x"), thinking={"type": "disabled"})),
    "a stand-in": ("moonshot", chat(*made("x", reasoning_content=" "))),
    "ids of nine": ("mistral", mistral(*made("D681PevKs"))),
    "signed calls": (
        "openrouter",
        chat(*made(f"{SIGNED_CALL}1", reasoning_details=[SIGNATURE]), **GEMINI),
    ),
    "signed thinking": (
        "openrouter",
        chat(SAID | {"reasoning_details": [thinking(THOUGHT)]}, **CLAUDE),
    ),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses_in_the_words_of_its_vendor(rule: str) -> None:
    vendor, given, words = REFUSED[rule]
    wire = CHAT_VENDORS[vendor]

    found = first_rejection(wire.rules, call(C, given))

    assert found is not None
    assert found[0] == rule
    assert words in str(wire.error_body(found[1], "req_1"))
    assert found[1].status == (422 if rule in ("mistral-extra", "mistral-fields") else 400)


def test_every_rule_of_a_vendor_has_a_case() -> None:
    assert {rule.name for vendor in VENDORS for rule in vendor.added} == set(REFUSED)


@pytest.mark.parametrize("case", TAKEN)
def test_what_is_right_is_taken(case: str) -> None:
    vendor, given = TAKEN[case]

    assert first_rejection(CHAT_VENDORS[vendor].rules, call(C, given)) is None


def test_reasoning_that_was_given_must_come_back() -> None:
    lost = chat(*deep(reasoning_content=""))

    assert first_rejection(CHAT_VENDORS["deepseek"].rules, call(C, lost)) is not None


def test_at_least_twelve_vendors_are_played() -> None:
    assert len(NAMES) >= 12
    assert played("mistral", "/as/mistral/v1/chat/completions") is CHAT_VENDORS["mistral"]
    assert played("mistral", "/as/mistral/v1/responses") is None
    assert played("nobody", "/as/nobody/v1/chat/completions") is None
    assert played("xai", "/v1/responses") is not played("openai", "/v1/responses")


def test_google_cloud_has_the_model_in_the_address() -> None:
    path = "/as/claude-gcp/v1/models/claude-sonnet-4-5:streamRawPredict"
    whole = call(C, {"anthropic_version": "2026-10-21", "messages": []}, {})

    read = as_vendor(whole, "claude-gcp", path)

    assert read.body == {"model": "claude-sonnet-4-5", "messages": []}
    assert "anthropic-version" in read.headers
    assert "anthropic-version" not in as_vendor(call(C, {}, {}), "claude-gcp", path).headers


def test_xai_takes_instructions_alone() -> None:
    wire = played("xai", "/v1/responses")
    assert wire is not None
    given = body(WireName.RESPONSES) | {"instructions": "Be kind."}
    both = given | {"previous_response_id": "resp_1"}

    assert first_rejection(wire.rules, call(WireName.RESPONSES, given)) is None
    found = first_rejection(wire.rules, call(WireName.RESPONSES, both))
    assert found is not None, both
    assert "instructions and previous_response_id" in error_body(found[1])["error"]["message"]
