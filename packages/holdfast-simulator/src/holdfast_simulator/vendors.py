"""Which vendors the simulator plays, and on which wire, by the end of the path.

/as/mistral/v1/chat/completions      one simulator plays every vendor, under `/as/NAME`
holdfast lab simulate --as mistral   or one vendor at the plain paths
"""

from dataclasses import replace
from typing import Final

from holdfast_simulator.asked import WireName
from holdfast_simulator.wires.anthropic import AnthropicWire
from holdfast_simulator.wires.base import Call, Rejection, Rule, Wire
from holdfast_simulator.wires.chat import ChatWire
from holdfast_simulator.wires.chat_vendors import CHAT_VENDORS
from holdfast_simulator.wires.gemini import GeminiWire
from holdfast_simulator.wires.openai_common import bad, body_of
from holdfast_simulator.wires.responses import ResponsesWire

WIRES: Final[tuple[Wire, ...]] = (AnthropicWire(), ResponsesWire(), ChatWire(), GeminiWire())
ANTHROPIC, RESPONSES, CHAT, GEMINI = WIRES
RAW_PREDICT: Final = ("streamRawPredict", "rawPredict")


def _both_contexts(call: Call) -> Rejection | None:
    body = body_of(call)
    if "instructions" in body and "previous_response_id" in body:
        return bad("Argument not supported: instructions and previous_response_id together")
    return None


class XaiWire(ResponsesWire):
    """xAI's form of the Responses API."""

    rules = (Rule("xai-both-contexts", _both_contexts), *ResponsesWire.rules)


OTHERS: Final[dict[tuple[str, WireName], Wire]] = {
    ("openai", WireName.RESPONSES): RESPONSES,
    ("xai", WireName.RESPONSES): XaiWire(),
    ("anthropic", WireName.ANTHROPIC): ANTHROPIC,
    ("claude-gcp", WireName.ANTHROPIC): ANTHROPIC,
    ("gemini", WireName.GEMINI): GEMINI,
    ("vertex", WireName.GEMINI): GEMINI,
}
SEALS_ALONE: Final = ("xai", "vertex")
"""Vendors that cannot read what the inventor of their wire has sealed."""
NAMES: Final = tuple(dict.fromkeys([*CHAT_VENDORS, *(vendor for vendor, _ in OTHERS)]))
ENDS: Final = {
    "chat/completions": WireName.CHAT,
    "responses": WireName.RESPONSES,
    "messages": WireName.ANTHROPIC,
    "RawPredict": WireName.ANTHROPIC,
    "rawPredict": WireName.ANTHROPIC,
    "enerateContent": WireName.GEMINI,
}


def played(vendor: str, path: str) -> Wire | None:
    """The wire that the vendor speaks at this path; None if it speaks none there."""
    name = next((wire for end, wire in ENDS.items() if path.endswith(end)), None)
    if name is WireName.CHAT:
        return CHAT_VENDORS.get(vendor)
    return None if name is None else OTHERS.get((vendor, name))


def as_vendor(call: Call, vendor: str, path: str) -> Call:
    """The request as the vendor's wire reads it."""
    if vendor in SEALS_ALONE:
        call = replace(call, party=vendor)
    model, _, method = path.rpartition("/")[2].partition(":")
    if method not in RAW_PREDICT:
        return call
    # Google Cloud has the model in the address and the version in the body; without them, the
    # rules of the wire refuse the request.
    given = call.body or {}
    if "anthropic_version" not in given or "model" in given:
        return call
    body = {key: value for key, value in given.items() if key != "anthropic_version"}
    headers = {**call.headers, "anthropic-version": "2023-06-01"}
    return replace(call, body={"model": model, **body}, headers=headers)
