"""The clients that `benchmarks.providers` compares, each reading a reply with the least it can do.

All are given the same prompt in the form that they would keep it in, and all do the same with the
reply: note each piece of text (`Heard`). Retries are off. What they are asked and told is recorded
from the simulator (`prepare`).
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import aiohttp
import anthropic
import openai
import orjson
from google import genai
from google.genai import types as google
from pydantic_ai import messages
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import Transport, authorised, open_transport
from holdfast.adapters.providers.types import Call, Endpoint, Object, Tool
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text, ToolCall, ToolResult
from holdfast.ports.models import TextDelta

BARE: Final = "bare aiohttp + json"
BARE_ORJSON: Final = "bare aiohttp + orjson"
BARE_TIMED: Final = "bare aiohttp + json, read timeout"
OURS: Final = "holdfast"
PYDANTIC_AI: Final = "pydantic-ai"
SDKS: Final[Mapping[str, str]] = {
    "anthropic": "anthropic SDK",
    "responses": "openai SDK",
    "chat": "openai SDK",
    "gemini": "google-genai",
}
MODELS: Final[Mapping[str, str]] = {
    "anthropic": "claude-sonnet-5",
    "responses": "gpt-5.4",
    "chat": "sim-open",
    "gemini": "gemini-3-pro-preview",
}
PREFIXES: Final = {"anthropic": "", "responses": "/v1", "chat": "/v1", "gemini": "/v1beta"}
TOOLS: Final = tuple(
    Tool(
        name=f"tool_{number}",
        description="Looks something up and gives back what it found.",
        schema={"type": "object", "properties": {"query": {"type": "string"}}},
    )
    for number in range(5)
)


def now() -> datetime:
    return datetime.now(UTC)


def endpoint_at(url: str, wire: str) -> Endpoint:
    return endpoint_of(VENDORS[f"simulator-{wire}"], "k", base_url=url + PREFIXES[wire])


def call_of(wire: str, history: list[MessageBody]) -> Call:
    facts = facts_of(VENDORS[f"simulator-{wire}"], MODELS[wire])
    return Call(model=replace(facts, model=MODELS[wire]), history=history, tools=TOOLS)


class Heard:
    """What a client has read, and a signal when it began."""

    __slots__ = ("_began", "texts")

    def __init__(self, began: Callable[[], None]) -> None:
        self._began = began
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        if text:
            self.texts.append(text)
            if len(self.texts) == 1:
                self._began()


@dataclass(frozen=True)
class Prompt:
    """The same prompt in everybody's own words, made before any clock runs."""

    call: Call
    body: Object  # as it lies on the wire
    contents: list[google.Content]
    talk: list[messages.ModelMessage]


Streaming: TypeAlias = Callable[[Prompt, Heard], Awaitable[None]]
Clients: TypeAlias = dict[str, dict[str, Streaming]]  # by wire, then by name


def prompt_of(wire: str, history: list[MessageBody]) -> Prompt:
    call = call_of(wire, history)
    body: Object = orjson.loads(WIRES[wire].request(call, endpoint_at("http://h", wire)).body)
    found: list[Object] = body["contents"] if wire == "gemini" else []
    return Prompt(
        call=call,
        body=body,
        contents=[google.Content.model_validate(content) for content in found],
        talk=[_message(said) for said in history],
    )


def _message(said: MessageBody) -> messages.ModelMessage:
    if said.role is Role.ASSISTANT:
        parts: list[messages.ModelResponsePart] = []
        for part in said.parts:  # reasoning is left out: pydantic-ai has less to send than others
            if isinstance(part, Text):
                parts.append(messages.TextPart(content=part.text))
            elif isinstance(part, ToolCall):
                parts.append(
                    messages.ToolCallPart(
                        tool_name=part.tool,
                        args=dict(part.arguments),
                        tool_call_id=part.call_id,
                    )
                )
        return messages.ModelResponse(parts=parts)
    asked: list[messages.ModelRequestPart] = []
    for part in said.parts:
        if isinstance(part, ToolResult):
            asked.append(
                messages.ToolReturnPart(
                    tool_name=part.tool, content=part.output, tool_call_id=part.call_id
                )
            )
        elif isinstance(part, Text):
            asked.append(messages.UserPromptPart(content=part.text))
    return messages.ModelRequest(parts=asked)


# What a delta looks like on each wire.


def _anthropic_text(event: Object) -> str:
    return event["delta"]["text"] if event["type"] == "content_block_delta" else ""


def _responses_text(event: Object) -> str:
    return event["delta"] if event["type"] == "response.output_text.delta" else ""


def _chat_text(event: Object) -> str:
    choices = event["choices"]
    return (choices[0]["delta"].get("content") or "") if choices else ""


def _gemini_text(event: Object) -> str:
    for candidate in event.get("candidates", ()):
        for part in candidate.get("content", {}).get("parts", ()):
            return part.get("text", "")
    return ""


TEXT_OF: Final[Mapping[str, Callable[[Object], str]]] = {
    "anthropic": _anthropic_text,
    "responses": _responses_text,
    "chat": _chat_text,
    "gemini": _gemini_text,
}


def bare_client(
    session: aiohttp.ClientSession,
    endpoint: Endpoint,
    loads: Callable[[bytes], Any],
    dumps: Callable[[object], bytes],
) -> Streaming:
    """What nobody can do without: POST, split lines, parse JSON, take the text."""
    text_of = TEXT_OF[endpoint.wire]
    request = WIRES[endpoint.wire].request(call_of(endpoint.wire, []), endpoint)
    headers = dict(authorised(request, endpoint, now()))

    async def stream(prompt: Prompt, heard: Heard) -> None:
        async with session.post(request.url, data=dumps(prompt.body), headers=headers) as response:
            assert response.status == 200
            rest = b""
            while received := await response.content.readany():
                *lines, rest = (rest + received).split(b"\n")
                for line in lines:
                    if line[:6] == b"data: " and line[6:12] != b"[DONE]":
                        heard.add(text_of(loads(line[6:])))

    return stream


def sdk_client(
    opened: Callable[[Prompt], Awaitable[Any]], text_of: Callable[[Any], str]
) -> Streaming:
    async def stream(prompt: Prompt, heard: Heard) -> None:
        async for event in await opened(prompt):
            heard.add(text_of(event))

    return stream


def sdk_clients(
    claude: anthropic.AsyncAnthropic, gpt: openai.AsyncOpenAI, gemini: genai.Client
) -> dict[str, Streaming]:
    """The official SDKs, at their cheapest: raw events, no accumulating helpers."""
    message: Any = claude.messages.create  # Any: a body is no typed set of arguments
    response: Any = gpt.responses.create
    completion: Any = gpt.chat.completions.create
    models: Any = gemini.aio.models
    declared = [
        google.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.schema
        )
        for tool in TOOLS
    ]
    config = google.GenerateContentConfig(tools=[google.Tool(function_declarations=declared)])

    def generated(prompt: Prompt) -> Awaitable[Any]:
        return models.generate_content_stream(
            model=MODELS["gemini"], contents=prompt.contents, config=config
        )

    return {
        "anthropic": sdk_client(
            lambda prompt: message(**prompt.body),
            lambda event: event.delta.text if event.type == "content_block_delta" else "",
        ),
        "responses": sdk_client(
            lambda prompt: response(**prompt.body),
            lambda event: event.delta if event.type == "response.output_text.delta" else "",
        ),
        "chat": sdk_client(
            lambda prompt: completion(**prompt.body),
            lambda chunk: (chunk.choices[0].delta.content or "") if chunk.choices else "",
        ),
        "gemini": sdk_client(generated, lambda chunk: chunk.text or ""),
    }


def pydantic_ai_client(model: Model) -> Streaming:
    """Its lowest entrance, without the agent."""
    settings: Any = ModelSettings()
    settings["max_retries"] = 0
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.schema),
                strict=False,
            )
            for tool in TOOLS
        ]
    )

    async def stream(prompt: Prompt, heard: Heard) -> None:
        async with model_request_stream(
            model, prompt.talk, model_settings=settings, model_request_parameters=parameters
        ) as events:
            async for event in events:
                match event:
                    case messages.PartStartEvent(part=messages.TextPart(content=text)):
                        heard.add(text)
                    case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
                        heard.add(text)
                    case _:
                        pass

    return stream


@asynccontextmanager
async def open_clients(url: str) -> AsyncGenerator[Clients]:
    """Every client of every wire, with connections of its own that are kept between streams."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        )
        patience = aiohttp.ClientTimeout(total=None, sock_read=Deadlines().silence_s)
        timed = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=patience)
        )
        transport = await stack.enter_async_context(open_transport(now))
        claude = await stack.enter_async_context(
            anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
        )
        gpt = await stack.enter_async_context(
            openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
        )
        gemini = genai.Client(api_key="k", http_options=google.HttpOptions(base_url=url))
        stack.push_async_callback(gemini.aio.aclose)
        sdks = sdk_clients(claude, gpt, gemini)
        models: dict[str, Model] = {
            "anthropic": AnthropicModel(
                MODELS["anthropic"], provider=AnthropicProvider(anthropic_client=claude)
            ),
            "responses": OpenAIResponsesModel(
                MODELS["responses"], provider=OpenAIProvider(openai_client=gpt)
            ),
            "chat": OpenAIChatModel(MODELS["chat"], provider=OpenAIProvider(openai_client=gpt)),
            "gemini": GoogleModel(MODELS["gemini"], provider=GoogleProvider(client=gemini)),
        }

        def our_client(endpoint: Endpoint) -> Streaming:
            async def stream(prompt: Prompt, heard: Heard) -> None:
                async with ProviderStream(transport, endpoint, prompt.call) as events:
                    async for event in events:
                        if type(event) is TextDelta:
                            heard.add(event.text)
                assert events.final is not None

            return stream

        clients: Clients = {}
        for wire in WIRES:
            endpoint = endpoint_at(url, wire)
            clients[wire] = {
                BARE: bare_client(session, endpoint, json.loads, _dumps),
                OURS: our_client(endpoint),
                BARE_TIMED: bare_client(timed, endpoint, json.loads, _dumps),
                BARE_ORJSON: bare_client(session, endpoint, orjson.loads, orjson.dumps),
                SDKS[wire]: sdks[wire],
                PYDANTIC_AI: pydantic_ai_client(models[wire]),
            }
        yield clients


def _dumps(body: object) -> bytes:
    return json.dumps(body).encode()


# What they are asked and told: the simulator's words, recorded once.


async def record(transport: Transport, url: str, wire: str, deltas: int) -> list[list[str]]:
    words = " ".join(f"word{number % 97:02}" for number in range(deltas))
    asked = user(f'[[sim: say "{words}"]]')
    endpoint = endpoint_at(url, wire)
    request = WIRES[wire].request(call_of(wire, [asked]), endpoint)
    async with await transport.send(request, endpoint, silence_s=30) as response:
        assert response.status == 200
        body = await response.text()
    events = re.findall(r".*?(?:\r\n\r\n|\n\n)", body, re.DOTALL)
    shows = [number for number, event in enumerate(events) if _text_in(wire, event)]
    assert len(shows) == deltas, f"{wire}: {len(shows)} deltas"
    first, last = shows[0] + 1, shows[-1] + 1
    return [events[:first], events[first:last], events[last:]]


def _text_in(wire: str, event: str) -> str:
    found = re.search(r"^data: ({.*)", event, re.MULTILINE)
    return TEXT_OF[wire](orjson.loads(found[1])) if found else ""


def user(text: str) -> MessageBody:
    return MessageBody(role=Role.USER, parts=(Text(text),))


async def history_of(
    transport: Transport, url: str, wire: str, messages_count: int
) -> list[MessageBody]:
    """A chat as it would lie in the store: each round a question, a call, a result, an answer."""
    prose = "The quick brown fox jumps over the lazy dog, and then it rests in the shade. " * 4
    history: list[MessageBody] = []
    for number in range(messages_count // 4):
        query = f'{{"query": "number {number} of many things to look up"}}'
        call = f'think "{prose[:150]}" | say "{prose[:80]}" | call tool_{number % 5} {query}'
        calling = await _reply(transport, url, wire, f"{call} | seed={number}")
        results = [
            ToolResult(called.call_id, called.tool, {"found": prose, "count": number})
            for called in calling.calls
        ]
        assert len(results) == 1
        history += [
            user(prose[:200]),
            calling,
            MessageBody(role=Role.TOOL, parts=tuple(results)),
            await _reply(transport, url, wire, f'say "{prose}" | seed={number + 1000}'),
        ]
    asked = [*history, user('And now? [[sim: say "It is checked."]]')]
    await _heard_by_us(transport, url, wire, asked)  # the simulator refuses a broken history
    return asked


async def _reply(transport: Transport, url: str, wire: str, directive: str) -> MessageBody:
    stream = await _heard_by_us(transport, url, wire, [user(f"[[sim: {directive}]]")])
    assert stream.final is not None
    return MessageBody(role=Role.ASSISTANT, parts=stream.final.parts, ending=stream.final.ending)


async def _heard_by_us(
    transport: Transport, url: str, wire: str, history: list[MessageBody]
) -> ProviderStream:
    async with ProviderStream(transport, endpoint_at(url, wire), call_of(wire, history)) as stream:
        async for _ in stream:
            pass
    return stream


@dataclass(frozen=True)
class Material:
    recordings: dict[str, list[list[str]]]
    histories: dict[str, list[MessageBody]]


async def prepare(url: str, lengths: Sequence[int], messages_count: int) -> Material:
    """Streams of so many deltas, and a history of so many messages, on every wire."""
    material = Material({}, {})
    async with open_transport(now) as transport:
        for wire in WIRES:
            for deltas in lengths:
                found = await record(transport, url, wire, deltas)
                material.recordings[f"{wire}-{deltas}"] = found
            material.histories[wire] = await history_of(transport, url, wire, messages_count)
    return material
