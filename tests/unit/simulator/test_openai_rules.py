"""Every row of the tables of the two OpenAI wires refuses what it names, and only that."""

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.seal import Purpose
from holdfast_simulator.wires import chat_rules, responses_rules
from holdfast_simulator.wires.base import first_rejection
from holdfast_simulator.wires.pairing import follower_id
from tests.support.simulator import SCHEMA, Json, body, call, sealed

R, C = WireName.RESPONSES, WireName.CHAT
Case = tuple[Json | None, str, str | None]
"""The body, words of the message, and the code."""


def given(*items: Json, **more: object) -> Json:
    return body(R) | {"input": list(items)} | more


def fc(name: str = "call_1", **more: object) -> Json:
    return {"type": "function_call", "call_id": name, "name": "t", "arguments": "{}", **more}


def out(name: str = "call_1") -> Json:
    return {"type": "function_call_output", "call_id": name, "output": "ok"}


def ctc(name: str = "call_1", **more: object) -> Json:
    return {"type": "custom_tool_call", "call_id": name, "name": "p", "input": "x", **more}


def ctc_out(name: str = "call_1") -> Json:
    return {"type": "custom_tool_call_output", "call_id": name, "output": "ok"}


def rs(**more: object) -> Json:
    final = sealed(Purpose.REASONING)
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": final, **more}


HI: Json = {"role": "user", "content": "hi"}
FUNCTION: Json = {"type": "function", "name": "t", "parameters": SCHEMA}
CUSTOM: Json = {"type": "custom", "name": "p"}
GRAMMAR: Json = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
OPEN_SCHEMA: Json = {"type": "object", "properties": {}}
DRAFT = sealed(Purpose.REASONING_DRAFT)

RESPONSES: dict[str, Case] = {
    "api-key-missing": (body(R), "didn't provide an API key", None),
    "not-json": (None, "could not parse", None),
    "model-missing": ({"input": "x"}, "'model'", "missing_required_parameter"),
    "unknown-parameter": (body(R) | {"frob": 1}, "Unknown parameter: 'frob'.", "unknown_parameter"),
    "input-missing": ({"model": "gpt-5.4"}, "'input'", "missing_required_parameter"),
    "model-unknown": (body(R) | {"model": "no-such-1"}, "does not exist", "model_not_found"),
    "stream-type": (body(R) | {"stream": 1}, "expected a boolean", "invalid_type"),
    "stream-options": (body(R, stream=False) | {"stream_options": {}}, "only allowed when", None),
    "input-empty": (body(R) | {"input": []}, "empty array", "empty_array"),
    "item-type-unknown": (given({"type": "poem"}), "Invalid value: 'poem'", "invalid_value"),
    "role-unknown": (
        given({"role": "tool", "content": "x"}),
        "Invalid value: 'tool'",
        "invalid_value",
    ),
    "content-missing": (given({"role": "user"}), "input[0].content", "missing_required_parameter"),
    "content-type": (
        given({"role": "user", "content": [{"type": "output_text", "text": "x"}]}),
        "'output_text'",
        "invalid_value",
    ),
    "arguments-type": (given(HI, fc(arguments={}), out()), "expected a string", "invalid_type"),
    "input-type": (given(HI, ctc(input={}), ctc_out()), "'input[1].input'", "invalid_type"),
    "call-id-length": (
        given(HI, fc("c" * 65), out("c" * 65)),
        "maximum length 64",
        "string_above_max_length",
    ),
    "items-repeated": (given(HI, rs(), rs(), fc(), out()), "Duplicate item", None),
    "call-ids-repeated": (given(HI, fc(), fc(), out()), "Duplicate function call", None),
    "output-orphan": (given(HI, out()), "No tool call found", None),
    "call-unpaired": (given(HI, fc()), "No tool output found for function call call_1.", None),
    "reasoning-lost": (
        given(HI, rs(encrypted_content=None), fc(), out(), store=False),
        "Items are not persisted",
        None,
    ),
    "reasoning-alone": (given(HI, rs()), "without its required following item", None),
    "reasoning-needed": (
        given(HI, fc(id=follower_id("fc", "rs_" + "a" * 50, Chance(b"t"))), out()),
        "without its required 'reasoning' item: 'rs_aaaaaaaaaaaaaaaa'",
        None,
    ),
    "reasoning-encrypted": (
        given(HI, rs(encrypted_content=DRAFT), fc(), out()),
        "could not be verified",
        "invalid_encrypted_content",
    ),
    "include-unknown": (body(R) | {"include": ["all"]}, "Invalid value: 'all'", "invalid_value"),
    "previous-response": (
        body(R) | {"previous_response_id": "resp_1"},
        "not found",
        "previous_response_not_found",
    ),
    "output-tokens-min": (
        body(R) | {"max_output_tokens": 3},
        ">= 16",
        "integer_below_min_value",
    ),
    "temperature-range": (body(R) | {"temperature": 3}, "<= 2", "decimal_above_max_value"),
    "temperature-model": (body(R) | {"temperature": 1}, "not supported", "unsupported_parameter"),
    "tool-name-pattern": (
        body(R) | {"tools": [FUNCTION | {"name": "a b"}]},
        "does not match pattern",
        "invalid_value",
    ),
    "tool-strict-schema": (
        body(R) | {"tools": [FUNCTION | {"strict": True, "parameters": OPEN_SCHEMA}]},
        "'additionalProperties' is required",
        "invalid_function_parameters",
    ),
    "tool-type-unknown": (
        body(R) | {"tools": [{"type": "web"}]},
        "Invalid value: 'web'",
        "invalid_value",
    ),
    "tool-format": (
        body(R) | {"tools": [CUSTOM | {"format": {"type": "grammar", "syntax": "ebnf"}}]},
        "'tools[0].format.definition'",
        "missing_required_parameter",
    ),
    "tool-container-missing": (
        body(R) | {"tools": [{"type": "code_interpreter"}]},
        "'tools[0].container'",
        "missing_required_parameter",
    ),
    "tool-choice-without-tools": (body(R) | {"tool_choice": "required"}, "'tools' parameter", None),
    "tool-choice-unknown": (
        body(R) | {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "u"}},
        "not found in 'tools'",
        None,
    ),
}


def said(*messages: Json, **more: object) -> Json:
    return body(C) | {"messages": list(messages)} | more


def asks(name: str = "call_1", arguments: object = "{}") -> Json:
    return {"id": name, "type": "function", "function": {"name": "t", "arguments": arguments}}


def by(*calls: Json) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


TOLD: Json = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
TOOL: Json = {"type": "function", "function": {"name": "t", "parameters": SCHEMA}}

CHAT: dict[str, Case] = {
    "api-key-missing": (body(C), "didn't provide an API key", None),
    "not-json": (None, "could not parse", None),
    "model-missing": ({"messages": [HI]}, "must provide a model", None),
    "messages-missing": ({"model": "m"}, "'messages'", "missing_required_parameter"),
    "unknown-parameter": (body(C) | {"frob": 1}, "argument supplied: frob", None),
    "model-unknown": (body(C) | {"model": "no-such-1"}, "does not exist", "model_not_found"),
    "stream-type": (body(C) | {"stream": "x"}, "expected a boolean", "invalid_type"),
    "stream-options": (body(C, stream=False) | {"stream_options": {}}, "only allowed when", None),
    "messages-empty": (said(), "empty array", "empty_array"),
    "role-unknown": (
        said({"role": "bard", "content": "x"}),
        "Invalid value: 'bard'",
        "invalid_value",
    ),
    "calls-empty": (said(HI, by()), "empty array", "empty_array"),
    "content-null": (said({"role": "user", "content": None}), "got null", None),
    "part-type-unknown": (
        said({"role": "user", "content": [{"type": "poem"}]}),
        "Invalid value: 'poem'",
        "invalid_value",
    ),
    "arguments-type": (said(HI, by(asks(arguments={})), TOLD), "expected a string", "invalid_type"),
    "call-ids-repeated": (said(HI, by(asks(), asks()), TOLD), "Duplicate value", None),
    "tool-id-missing": (
        said(HI, by(asks()), {"role": "tool", "content": "x"}),
        "tool_call_id",
        "missing_required_parameter",
    ),
    "result-orphan": (said(HI, TOLD), "must be a response to a preceeding message", None),
    "call-unpaired": (said(HI, by(asks()), HI), "did not have response messages: call_1", None),
    "tool-type": (
        body(C) | {"tools": [TOOL | {"type": "x"}]},
        "Invalid value: 'x'",
        "invalid_value",
    ),
    "tool-name-pattern": (
        body(C) | {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "does not match pattern",
        "invalid_value",
    ),
    "tool-strict-schema": (
        body(C)
        | {
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "t", "strict": True, "parameters": OPEN_SCHEMA},
                }
            ]
        },
        "'additionalProperties' is required",
        "invalid_function_parameters",
    ),
    "tool-choice-without-tools": (body(C) | {"tool_choice": "auto"}, "only allowed when", None),
    "tool-choice-unknown": (
        body(C) | {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "u"}}},
        "no function named 'u'",
        None,
    ),
    "parallel-without-tools": (body(C) | {"parallel_tool_calls": True}, "only allowed when", None),
    "max-tokens-model": (
        body(C) | {"model": "o3", "max_tokens": 5},
        "max_completion_tokens",
        "unsupported_parameter",
    ),
    "temperature-range": (body(C) | {"temperature": -1}, ">= 0", "decimal_below_min_value"),
    "temperature-model": (
        body(C) | {"model": "o3", "temperature": 0.2},
        "does not support 0.2",
        "unsupported_value",
    ),
}
TABLES = {R: (responses_rules.RULES, RESPONSES), C: (chat_rules.RULES, CHAT)}
STATUSES = {(R, "reasoning-lost"): 404, (C, "model-unknown"): 404}


@pytest.mark.parametrize("wire", TABLES)
def test_the_table_and_the_cases_name_the_same_rules(wire: WireName) -> None:
    rules, cases = TABLES[wire]
    assert [rule.name for rule in rules] == list(cases)


@pytest.mark.parametrize(
    ("wire", "name"), [(wire, name) for wire, (_, cases) in TABLES.items() for name in cases]
)
def test_a_rule_refuses_what_it_names(wire: WireName, name: str) -> None:
    rules, cases = TABLES[wire]
    payload, words, code = cases[name]
    headers: dict[str, str] | None = {} if name == "api-key-missing" else None
    found = first_rejection(rules, call(wire, payload, headers))
    assert found is not None
    assert found[0] == name
    assert words in found[1].message
    assert found[1].code == code
    status = 401 if name == "api-key-missing" else STATUSES.get((wire, name), 400)
    assert found[1].status == status


def test_whole_turns_are_accepted() -> None:
    turn = given(HI, rs(), fc(id="fc_1"), out(), {"role": "user", "content": "go on"})
    assert first_rejection(responses_rules.RULES, call(R, turn)) is None
    turn = given(HI, ctc(), fc("call_2"), ctc_out(), out("call_2"))
    turn |= {"tools": [CUSTOM | {"format": GRAMMAR}, FUNCTION]}
    turn |= {"tool_choice": {"type": "custom", "name": "p"}}
    assert first_rejection(responses_rules.RULES, call(R, turn)) is None
    turn = said(HI, by(asks()), TOLD, HI)
    assert first_rejection(chat_rules.RULES, call(C, turn)) is None


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (given(HI, ctc(), out()), "No tool call found for function call output"),
        (given(HI, fc(), ctc_out()), "No tool call found for custom tool call output"),
        (given(HI, ctc()), "No tool output found for custom tool call call_1."),
        (body(R) | {"tools": [CUSTOM | {"name": "a b"}]}, "'tools[0].name'"),
        (body(R) | {"tools": [CUSTOM | {"format": {"type": "json"}}]}, "'text' and 'grammar'"),
        (
            body(R) | {"tools": [CUSTOM | {"format": GRAMMAR | {"syntax": "ebnf"}}]},
            "'lark' and 'regex'",
        ),
        (
            body(R) | {"tools": [CUSTOM], "tool_choice": {"type": "function", "name": "p"}},
            "Tool choice 'function' not found",
        ),
        (
            body(R) | {"tools": [CUSTOM], "tool_choice": {"type": "custom", "name": "q"}},
            "Tool choice 'custom' not found",
        ),
    ],
)
def test_calls_of_custom_tools_have_rules_of_their_own(payload: Json, words: str) -> None:
    found = first_rejection(responses_rules.RULES, call(R, payload))
    assert found is not None
    assert words in found[1].message
