"""The official SDKs of vendors as clients of the simulator that plays them."""

import asyncio
import warnings
from typing import Any

import anthropic
import groq
import openai
import pytest
from anthropic.lib.vertex import AsyncAnthropicVertex
from mistralai.client import Mistral

from holdfast_simulator.server import Simulator
from holdfast_simulator.vendors import NAMES
from tests.support.simulator import SCHEMA

ASKED = '[[sim: think "Which city?" | say "Let me look." | call get_weather {"city": "Oslo"}]]'
TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "d", "parameters": SCHEMA},
    }
]
MESSAGES: Any = [{"role": "user", "content": ASKED}]
SAYS: Any = [{"role": "user", "content": '[[sim: say "Let me look."]]'}]
COMPATIBLE = (
    *("openai", "deepseek", "moonshot", "zai", "together", "fireworks", "cerebras"),
    *("openrouter", "vllm", "ollama"),
)


async def test_mistral_streams_chunks_and_short_ids(simulator: Simulator) -> None:
    thoughts, texts, ids = "", "", list[str]()
    async with (
        asyncio.timeout(60),
        Mistral(api_key="any", server_url=f"{simulator.url}/as/mistral") as client,
    ):
        stream = await client.chat.stream_async(
            model="magistral-medium-latest", messages=MESSAGES, tools=TOOLS
        )
        async for event in stream:
            delta = event.data.choices[0].delta if event.data.choices else None
            content: Any = delta.content if delta else None
            for chunk in content or ():
                if chunk.type == "thinking":
                    thoughts += "".join(one.text for one in chunk.thinking)
                elif chunk.type == "text":
                    texts += chunk.text
            ids += [one.id for one in (delta.tool_calls or () if delta else ()) if one.id]

    assert (thoughts, texts) == ("Which city?", "Let me look.")
    assert [len(one) for one in ids if one != "null"] == [9]


async def test_groq_streams_reasoning(simulator: Simulator) -> None:
    thoughts, calls = "", list[str]()
    async with (
        asyncio.timeout(60),
        groq.AsyncGroq(api_key="any", base_url=f"{simulator.url}/as/groq") as client,
    ):
        stream = await client.chat.completions.create(
            model="openai/gpt-oss-120b", messages=MESSAGES, tools=TOOLS, stream=True
        )
        async for event in stream:
            delta = event.choices[0].delta
            thoughts += delta.reasoning or ""
            named = [one.function for one in delta.tool_calls or () if one.function]
            calls += [function.name for function in named if function.name]
        wrong: Any = [*MESSAGES, {"role": "assistant", "content": "x", "reasoning_content": ""}]
        with pytest.raises(groq.BadRequestError, match="unsupported"):
            await client.chat.completions.create(model="m", messages=wrong)

    assert (thoughts, calls) == ("Which city?", ["get_weather"])


@pytest.mark.parametrize("vendor", COMPATIBLE)
async def test_openai_is_a_client_of_every_compatible_vendor(
    simulator: Simulator, vendor: str
) -> None:
    base = f"{simulator.url}/as/{vendor}/v1"
    async with asyncio.timeout(60), openai.AsyncOpenAI(api_key="any", base_url=base) as client:
        whole = await client.chat.completions.create(
            model="google/gemini-3-pro-preview", messages=MESSAGES, tools=TOOLS
        )
        stream = await client.chat.completions.create(
            model="google/gemini-3-pro-preview", messages=MESSAGES, tools=TOOLS, stream=True
        )
        ends = [e.choices[0].finish_reason async for e in stream if e.choices]

    assert whole.choices[0].message.content == "Let me look."
    assert ends[-1] == whole.choices[0].finish_reason == "tool_calls"
    extra: Any = whole.choices[0].message.model_extra
    if vendor == "openrouter":
        assert [one["type"] for one in extra["reasoning_details"]][-1] == "reasoning.encrypted"


async def test_an_unknown_vendor_is_not_found(simulator: Simulator) -> None:
    base = f"{simulator.url}/as/nobody/v1"
    async with openai.AsyncOpenAI(api_key="any", base_url=base, max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match="404"):
            await client.chat.completions.create(model="m", messages=MESSAGES)


async def test_anthropic_is_a_client_of_claude_there_and_on_google_cloud(
    simulator: Simulator,
) -> None:
    clients: list[Any] = [
        anthropic.AsyncAnthropic(api_key="any", base_url=f"{simulator.url}/as/anthropic"),
        AsyncAnthropicVertex(
            region="global",
            project_id="p",
            access_token="any",
            base_url=f"{simulator.url}/as/claude-gcp/v1",
        ),
    ]
    for client in clients:
        async with asyncio.timeout(60), client:
            whole = await client.messages.create(
                model="claude-sonnet-5", max_tokens=1_000, messages=SAYS
            )
        assert [block.text for block in whole.content] == ["Let me look."]


async def test_openai_is_a_client_of_xai_on_responses(simulator: Simulator) -> None:
    base = f"{simulator.url}/as/xai/v1"
    async with asyncio.timeout(60), openai.AsyncOpenAI(api_key="any", base_url=base) as client:
        whole = await client.responses.create(model="grok-4.6", input=SAYS)
    assert whole.output_text == "Let me look."


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
@pytest.mark.parametrize("vendor", ["gemini", "vertex"])
async def test_genai_is_a_client_of_gemini_and_vertex(simulator: Simulator, vendor: str) -> None:
    with warnings.catch_warnings():
        # Its own source holds a bad escape, which warns when it is first compiled.
        warnings.simplefilter("ignore")
        from google import genai
        from google.genai import types

    options = types.HttpOptions(base_url=f"{simulator.url}/as/{vendor}")
    client = genai.Client(api_key="any", http_options=options)
    models: Any = client.aio.models  # its annotations name types that are not installed
    try:
        async with asyncio.timeout(60):
            whole = await models.generate_content(
                model="gemini-3-pro-preview", contents=SAYS[0]["content"]
            )
    finally:
        await client.aio.aclose()
    assert whole.text == "Let me look."


def test_every_vendor_that_is_played_has_an_sdk_as_client() -> None:
    others = {"mistral", "groq", "anthropic", "claude-gcp", "xai", "gemini", "vertex"}
    assert {*COMPATIBLE, *others} == set(NAMES)
