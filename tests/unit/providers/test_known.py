"""Every literal of the official SDKs' types is named in our tables.

A literal that a new SDK brings fails here: it is then handled, kept or ignored on purpose.
"""

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from anthropic.types import beta
from google.genai import types as genai
from openai.types import responses
from openai.types.chat import chat_completion_chunk as chunk
from openai.types.responses import response_output_text, response_reasoning_item
from openai.types.responses.response import IncompleteDetails

from holdfast.adapters.providers import known
from holdfast.adapters.providers.wires.anthropic import AnthropicDecoder
from holdfast.adapters.providers.wires.responses import ResponsesDecoder


def literals(given: Any) -> set[str]:
    """The values of a `Literal`, or the `type` of the models of a union."""
    origin = typing.get_origin(given)
    if origin is typing.Literal:
        return set(typing.get_args(given))
    if origin is typing.Annotated:
        return literals(typing.get_args(given)[0])
    if origin in (typing.Union, types.UnionType, list):
        inner = (each for each in typing.get_args(given) if each is not type(None))
        return set[str]().union(*map(literals, inner))
    return literals(given.model_fields["type"].annotation)


def field(model: Any, name: str) -> set[str]:
    return literals(model.model_fields[name].annotation)


def wire_names(model: Any) -> set[str]:
    """The fields of a model as they are spelled on Google's wire."""
    return {_camel(name) for name in model.model_fields}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def values(enum: Iterable[Any]) -> set[str]:
    return {each.value for each in enum}


SAID: Mapping[str, tuple[set[str], Mapping[str, object]]] = {
    # The beta types are a superset of the plain ones.
    "anthropic events": (
        literals(beta.BetaRawMessageStreamEvent),
        known.ANTHROPIC["events"],
    ),
    "anthropic deltas": (literals(beta.BetaRawContentBlockDelta), known.ANTHROPIC["deltas"]),
    "anthropic blocks": (literals(beta.BetaContentBlock), known.ANTHROPIC["blocks"]),
    "anthropic stop reasons": (literals(beta.BetaStopReason), known.ANTHROPIC["stop_reasons"]),
    "responses events": (literals(responses.ResponseStreamEvent), known.RESPONSES["events"]),
    "responses items": (literals(responses.ResponseOutputItem), known.RESPONSES["items"]),
    "responses contents": (
        field(responses.ResponseOutputMessage, "content")
        | literals(response_reasoning_item.Content)
        | literals(response_reasoning_item.Summary),
        known.RESPONSES["contents"],
    ),
    "responses annotations": (
        literals(response_output_text.Annotation),
        known.RESPONSES["annotations"],
    ),
    "responses statuses": (literals(responses.ResponseStatus), known.RESPONSES["statuses"]),
    "responses incomplete reasons": (
        field(IncompleteDetails, "reason"),
        known.RESPONSES["incomplete_reasons"],
    ),
    "chat deltas": (set(chunk.ChoiceDelta.model_fields), known.CHAT["deltas"]),
    "chat finish reasons": (
        field(chunk.Choice, "finish_reason"),
        known.CHAT["finish_reasons"],
    ),
    "gemini parts": (wire_names(genai.Part), known.GEMINI["parts"]),
    "gemini candidates": (wire_names(genai.Candidate), known.GEMINI["candidates"]),
    "gemini outcomes": (values(genai.Outcome), known.GEMINI["outcomes"]),
    "gemini finish reasons": (values(genai.FinishReason), known.GEMINI_FINISHES),
    "gemini block reasons": (values(genai.BlockedReason), known.GEMINI_BLOCKS),
}


def unnamed(said: set[str], table: Mapping[str, object]) -> list[str]:
    return sorted(said - table.keys())


@pytest.mark.parametrize("name", SAID)
def test_every_literal_of_the_sdk_is_named(name: str) -> None:
    said, table = SAID[name]
    assert said
    assert unnamed(said, table) == []


@pytest.mark.parametrize("name", SAID)
def test_a_literal_that_the_table_lacks_is_noticed(name: str) -> None:
    said, table = SAID[name]
    for lost in said:
        mutant = {literal: fate for literal, fate in table.items() if literal != lost}
        assert unnamed(said, mutant) == [lost]


@pytest.mark.parametrize(
    ("table", "decoder"),
    [(known.ANTHROPIC, AnthropicDecoder), (known.RESPONSES, ResponsesDecoder)],
)
def test_handled_events_are_those_with_a_handler(
    table: Mapping[str, known.Literals], decoder: Any
) -> None:
    handled = {literal for literal, fate in table["events"].items() if fate == known.HANDLED}
    assert handled == set(decoder._HANDLERS)


def test_what_is_ignored_has_a_reason() -> None:
    fates = {
        fate
        for tables in (known.ANTHROPIC, known.RESPONSES, known.CHAT, known.GEMINI)
        for table in tables.values()
        for fate in table.values()
    }
    assert [fate for fate in fates - {known.HANDLED, known.KEPT} if " " not in fate] == []
