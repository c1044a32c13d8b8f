"""Every row of the table of Anthropic's rules refuses what it names, and only that."""

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.wires.anthropic_binding import BETA
from holdfast_simulator.wires.anthropic_rules import RULES
from holdfast_simulator.wires.base import first_rejection
from tests.support.simulator import SCHEMA, Json, body, call, sealed

A = WireName.ANTHROPIC
KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def without(name: str) -> Json:
    found = body(A)
    del found[name]
    return found


def said(*messages: Json) -> Json:
    return body(A) | {"messages": list(messages)}


def user(*content: Json | str) -> Json:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Json | str) -> Json:
    return user(*content) | {"role": "assistant"}


def use(name: str = "toolu_1", given: object = None) -> Json:
    return {"type": "tool_use", "id": name, "name": "t", "input": {} if given is None else given}


def result(name: str = "toolu_1") -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": "ok"}


def text(words: str, **more: object) -> Json:
    return {"type": "text", "text": words, **more}


def marked(ttl: str = "5m") -> Json:
    return text("x", cache_control={"type": "ephemeral", "ttl": ttl})


TOOL = {"name": "t", "input_schema": SCHEMA}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": sealed(Purpose.THINKING, "hm")}
HI = user("hi")
ON = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive"}
BOUND_THOUGHT = THOUGHT | {
    "signature": seal(Purpose.BOUND_THINKING, "hm", Chance(b"test"), tail=b"another chat....")
}

CASES: dict[str, tuple[Json | None, dict[str, str], str]] = {
    "api-key-missing": (body(A), {"anthropic-version": "2023-06-01"}, "x-api-key"),
    "version-missing": (body(A), {"x-api-key": "k"}, "header is required"),
    "version-unknown": (body(A), KEY | {"anthropic-version": "2020-01-01"}, "not a valid version"),
    "not-json": (None, KEY, "not valid JSON"),
    "model-missing": (without("model"), KEY, "model: Field required"),
    "messages-missing": (without("messages"), KEY, "messages: Field required"),
    "max-tokens-missing": (without("max_tokens"), KEY, "max_tokens: Field required"),
    "unknown-parameter": (body(A) | {"frobnicate": 1}, KEY, "frobnicate: Extra inputs"),
    "model-unknown": (body(A) | {"model": "no-such-model"}, KEY, "model: no-such-model"),
    "max-tokens-range": (body(A) | {"max_tokens": 0}, KEY, "greater than or equal to 1"),
    "stream-type": (body(A) | {"stream": "yes"}, KEY, "valid boolean"),
    "temperature-range": (body(A) | {"temperature": 1.5}, KEY, "temperature: range: 0..1"),
    "messages-empty": (said(), KEY, "at least one message"),
    "role-unknown": (said({"role": "tool", "content": "x"}), KEY, "messages.0.role"),
    "message-unknown-key": (said(HI | {"name": "x"}), KEY, "messages.0.name: Extra inputs"),
    "first-role": (said(assistant("hi")), KEY, "first message must use"),
    "alternation": (said(HI, HI), KEY, "roles must alternate"),
    "content-empty": (
        said(HI, assistant("yes"), {"role": "user", "content": []}),
        KEY,
        "messages.2",
    ),
    "block-type-unknown": (said(user({"type": "poem"})), KEY, "Input tag 'poem'"),
    "text-empty": (said(user(text(""))), KEY, "must be non-empty"),
    "text-blank": (said(user(text(" \n"))), KEY, "non-whitespace"),
    "trailing-whitespace": (said(HI, assistant("so ")), KEY, "trailing whitespace"),
    "call-id-pattern": (
        said(HI, assistant(use("a b")), user(result("a b"))),
        KEY,
        "should match pattern",
    ),
    "call-input-not-object": (
        said(HI, assistant(use(given=[1])), user(result())),
        KEY,
        "valid dictionary",
    ),
    "call-ids-repeated": (said(HI, assistant(use(), use()), user(result())), KEY, "must be unique"),
    "result-repeated": (said(HI, assistant(use()), user(result(), result())), KEY, "single result"),
    "call-unpaired": (
        said(HI, assistant(use()), user("well?")),
        KEY,
        "without `tool_result` blocks",
    ),
    "result-orphan": (said(HI, assistant("hm"), user(result())), KEY, "unexpected `tool_use_id`"),
    "server-result-orphan": (
        said(
            HI,
            assistant({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
            HI,
        ),
        KEY,
        "`server_tool_use` block before it",
    ),
    "thinking-signature": (
        said(HI, assistant(THOUGHT | {"thinking": "other"}, text("a")), HI),
        KEY,
        "messages.1.content.0: Invalid `signature`",
    ),
    "redacted-data": (
        said(HI, assistant({"type": "redacted_thinking", "data": "AAAA"}, text("a")), HI),
        KEY,
        "Invalid `data`",
    ),
    "binding-beta": (
        body(A) | {"thinking": {"type": "adaptive", "block_binding": {}}},
        KEY,
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    "binding-behaviour": (
        body(A) | {"thinking": ADAPTIVE | {"block_binding": {"prefix_mismatch_behavior": "hide"}}},
        KEY | {"anthropic-beta": BETA},
        "Input should be 'error' or 'drop_block'",
    ),
    "thinking-bound": (
        said(HI, assistant(BOUND_THOUGHT, text("a")), HI) | {"model": "claude-opus-5-5"},
        KEY,
        "The block is bound to a different conversation",
    ),
    "thinking-last": (said(HI, assistant(THOUGHT), HI), KEY, "cannot be `thinking`"),
    "breakpoint-on-thinking": (
        said(HI, assistant(THOUGHT | {"cache_control": {"type": "ephemeral"}}, text("a")), HI),
        KEY,
        "cache_control: Extra inputs",
    ),
    "breakpoints-too-many": (said(user(*[marked()] * 5)), KEY, "Found 5"),
    "breakpoints-order": (said(user(marked("5m"), marked("1h"))), KEY, "must not come after"),
    "tool-name-pattern": (
        body(A) | {"tools": [TOOL | {"name": "a b"}]},
        KEY,
        "should match pattern",
    ),
    "tool-names-repeated": (body(A) | {"tools": [TOOL, TOOL]}, KEY, "names must be unique"),
    "tool-schema": (body(A) | {"tools": [{"name": "t"}]}, KEY, "input_schema: Field required"),
    "provider-tool-unsupported": (
        body(A)
        | {
            "model": "claude-sonnet-4-5",
            "tools": [{"type": "web_search_20260318", "name": "web_search"}],
        },
        KEY,
        "does not support tool types: web_search_20260318",
    ),
    "container-wrong": (body(A) | {"container": "container_x"}, KEY, "was not found"),
    "container-missing": (
        said(HI, assistant({"type": "server_tool_use", "id": "s", "name": "code_execution"})),
        KEY,
        "container_id is required",
    ),
    "tool-choice-without-tools": (
        body(A) | {"tool_choice": {"type": "auto"}},
        KEY,
        "while providing tools",
    ),
    "tool-choice-unknown": (
        body(A) | {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "u"}},
        KEY,
        "Tool 'u' not found",
    ),
    "thinking-budget-min": (
        body(A) | {"thinking": {"type": "enabled", "budget_tokens": 10}},
        KEY,
        "greater than or equal to 1024",
    ),
    "thinking-budget-max": (
        body(A) | {"thinking": ON, "max_tokens": 2000},
        KEY,
        "must be greater than `thinking.budget_tokens`",
    ),
    "thinking-forced-tool": (
        body(A) | {"thinking": ON, "tools": [TOOL], "tool_choice": {"type": "any"}},
        KEY,
        "forces tool use",
    ),
    "thinking-temperature": (
        body(A) | {"thinking": ON, "temperature": 0.5},
        KEY,
        "only be set to 1",
    ),
}


def test_the_table_and_the_cases_name_the_same_rules() -> None:
    assert [rule.name for rule in RULES] == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_refuses_what_it_names(name: str) -> None:
    given, headers, words = CASES[name]
    found = first_rejection(RULES, call(A, given, headers))
    assert found is not None
    assert found[0] == name
    assert words in found[1].message
    statuses = {"api-key-missing": 401, "model-unknown": 404}
    assert found[1].status == statuses.get(name, 400)


def test_a_whole_turn_with_thinking_and_tools_is_accepted() -> None:
    given = said(HI, assistant(THOUGHT, text("a"), use()), user(result(), text("go on")))
    assert first_rejection(RULES, call(A, given | {"tools": [TOOL], "thinking": ON})) is None


def test_the_newest_version_takes_no_sampling_parameters() -> None:
    headers = KEY | {"anthropic-version": "2026-10-21"}
    found = first_rejection(RULES, call(A, body(A) | {"temperature": 0.5}, headers))
    assert found is not None
    assert found[1].message == "temperature: Extra inputs are not permitted"
