"""Smallest valid requests of the four wires, and ways to change them."""

import copy
from typing import Any

from holdfast_simulator.asked import WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.vendors import WIRES
from holdfast_simulator.wires.base import Call, Wire

Json = dict[str, Any]

KEYS: dict[WireName, dict[str, str]] = {
    WireName.ANTHROPIC: {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    WireName.RESPONSES: {"authorization": "Bearer k"},
    WireName.CHAT: {"authorization": "Bearer k"},
    WireName.GEMINI: {"x-goog-api-key": "k"},
}
MODELS: dict[WireName, str] = {
    WireName.ANTHROPIC: "claude-sonnet-5",
    WireName.RESPONSES: "gpt-5.4",
    WireName.CHAT: "sim-open",
    WireName.GEMINI: "gemini-3-pro-preview",
}
PATHS: dict[WireName, str] = {
    WireName.ANTHROPIC: "/v1/messages",
    WireName.RESPONSES: "/v1/responses",
    WireName.CHAT: "/v1/chat/completions",
    WireName.GEMINI: "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
}
SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def body(wire: WireName, text: str = "hello", *, stream: bool = True, tools: bool = False) -> Json:
    match wire:
        case WireName.ANTHROPIC:
            found: Json = {
                "model": MODELS[wire],
                "max_tokens": 4096,
                "stream": stream,
                "messages": [{"role": "user", "content": text}],
            }
            offered: Any = [{"name": "get_weather", "description": "d", "input_schema": SCHEMA}]
        case WireName.RESPONSES:
            found = {"model": MODELS[wire], "stream": stream, "input": text}
            found["include"] = ["reasoning.encrypted_content"]
            offered = [{"type": "function", "name": "get_weather", "parameters": SCHEMA}]
        case WireName.CHAT:
            found = {"model": MODELS[wire], "stream": stream}
            found["messages"] = [{"role": "user", "content": text}]
            if stream:
                found["stream_options"] = {"include_usage": True}
            offered = [
                {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
            ]
        case WireName.GEMINI:
            found = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
            declared = {"name": "get_weather", "parametersJsonSchema": SCHEMA}
            offered = [{"functionDeclarations": [declared]}]
    if tools:
        found["tools"] = copy.deepcopy(offered)
    return found


def wire_of(name: WireName) -> Wire:
    return next(wire for wire in WIRES if wire.name is name)


def call(wire: WireName, given: Json | None, headers: dict[str, str] | None = None) -> Call:
    return Call(
        headers=KEYS[wire] if headers is None else headers,
        body=given,
        path_model=MODELS[wire],
        path_streams=True,
    )


def sealed(purpose: Purpose, bound: str = "") -> str:
    return seal(purpose, bound, Chance(b"test"))
