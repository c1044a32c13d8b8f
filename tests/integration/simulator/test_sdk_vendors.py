"""The official SDKs of vendors as clients of the simulator that plays them."""

import asyncio
from typing import Any

import groq
import openai
import pytest
from mistralai.client import Mistral

from holdfast_simulator.server import Simulator
from tests.support.simulator import SCHEMA

ASKED = '[[sim: think "Which city?" | say "Let me look." | call get_weather {"city": "Oslo"}]]'
TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "d", "parameters": SCHEMA},
    }
]
MESSAGES: Any = [{"role": "user", "content": ASKED}]


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


@pytest.mark.parametrize(
    "vendor",
    ["openai", "deepseek", "moonshot", "zai", "together", "fireworks", "cerebras", "openrouter"],
)
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
