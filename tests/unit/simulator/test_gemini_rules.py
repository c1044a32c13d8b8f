"""Every row of the table of Gemini's rules refuses what it names, and only that."""

from dataclasses import replace

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.seal import Purpose
from holdfast_simulator.wires.base import first_rejection
from holdfast_simulator.wires.gemini_rules import RULES
from tests.support.simulator import Json, body, call, sealed

G = WireName.GEMINI


def said(*contents: Json) -> Json:
    return {"contents": list(contents)}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def calls(args: object = None, **more: object) -> Json:
    signature = {"thoughtSignature": sealed(Purpose.THOUGHT)}
    call: Json = {"name": "t", "args": {} if args is None else args}
    return {"functionCall": call, **signature, **more}


HI = user({"text": "hi"})
TOLD = {"functionResponse": {"name": "t", "response": {"result": "ok"}}}
DECLARED = {"name": "t"}


def tools(*declared: Json) -> Json:
    return body(G) | {"tools": [{"functionDeclarations": list(declared)}]}


CASES: dict[str, tuple[Json | None, str]] = {
    "api-key-missing": (body(G), "unregistered callers"),
    "not-json": (None, "Invalid JSON payload"),
    "unknown-field": (body(G) | {"frob": 1}, 'Unknown name "frob"'),
    "model-unknown": (body(G), "is not found for API version"),
    "contents-missing": ({}, "contents is not specified"),
    "role-unknown": (said({"role": "bard", "parts": [{"text": "x"}]}), "valid role"),
    "parts-empty": (said({"role": "user", "parts": []}), "must not be empty"),
    "part-without-data": (said(user({"thought": True})), "required oneof field 'data'"),
    "call-place": (said(HI, model({"text": "x"}), model(calls()), user(TOLD)), "after a user turn"),
    "response-place": (said(HI, model({"text": "x"}), user(TOLD)), "after a function call turn"),
    "response-count": (
        said(HI, model(calls(), calls()), user(TOLD)),
        "number of function response",
    ),
    "ends-with-user": (said(HI, model({"text": "x"})), "end with a user role"),
    "response-mixed": (
        said(HI, model(calls()), user(TOLD, {"text": "x"})),
        "ending with a model turn",
    ),
    "continuation-token-wrong": (
        body(G) | {"continuationToken": "bm90IG91cnM="},
        "invalid argument",
    ),
    "args-not-object": (said(HI, model(calls([1])), user(TOLD)), "Invalid value at"),
    "signature-missing": (
        said(HI, model(calls(thoughtSignature="")), user(TOLD)),
        "missing a thought_signature",
    ),
    "signature-wrong": (
        said(HI, model(calls(thoughtSignature="AAAA")), user(TOLD)),
        "Thought signature is not valid",
    ),
    "tools-mixed": (
        body(G) | {"tools": [{"functionDeclarations": [DECLARED]}, {"googleSearch": {}}]},
        "include_server_side_tool_invocations",
    ),
    "function-name": (tools({"name": "1 x"}), "Invalid function name"),
    "functions-repeated": (tools(DECLARED, DECLARED), "Duplicate function declaration"),
    "allowed-function-unknown": (
        tools(DECLARED)
        | {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["u"]}}},
        "u is not in function_declarations",
    ),
    "temperature-range": (body(G) | {"generationConfig": {"temperature": 9}}, "range [0.0, 2.0]"),
}


def test_the_table_and_the_cases_name_the_same_rules() -> None:
    assert [rule.name for rule in RULES] == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_refuses_what_it_names(name: str) -> None:
    given, words = CASES[name]
    asked = call(G, given, {} if name == "api-key-missing" else None)
    if name == "model-unknown":
        asked = replace(asked, path_model="no-such-model")
    found = first_rejection(RULES, asked)
    assert found is not None
    assert found[0] == name
    assert words in found[1].message
    statuses = {"api-key-missing": 403, "model-unknown": 404}
    assert found[1].status == statuses.get(name, 400)


def test_both_spellings_of_a_field_and_the_known_dummy_signature_are_accepted() -> None:
    dummy = calls(thoughtSignature="skip_thought_signature_validator")
    given = said(HI, model(dummy), user(TOLD)) | {"generation_config": {"max_output_tokens": 9}}
    assert first_rejection(RULES, call(G, given)) is None
