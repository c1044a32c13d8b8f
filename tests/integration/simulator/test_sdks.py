"""The official SDKs as clients: what they parse is what a real provider would have sent."""

import asyncio
from collections.abc import AsyncGenerator

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletionMessageToolCall
from openai.types.responses import (
    CustomToolParam,
    ResponseCustomToolCallOutputParam,
    ResponseCustomToolCallParam,
    ResponseInputParam,
    ResponseReasoningItem,
)

from holdfast.tools.workspace.patches import GRAMMAR, parse
from holdfast_simulator.server import Simulator
from tests.support.simulator import SCHEMA

GOLDEN = {"x-sim-scenario": "golden"}
KEY = "any"


@pytest.fixture
async def claude(simulator: Simulator) -> AsyncGenerator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        api_key=KEY, base_url=simulator.url, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def gpt(simulator: Simulator) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        api_key=KEY, base_url=f"{simulator.url}/v1", max_retries=0
    ) as client:
        yield client


async def test_anthropic_streams(claude: anthropic.AsyncAnthropic) -> None:
    async with asyncio.timeout(60):
        async with claude.messages.stream(
            model="claude-sonnet-5",
            max_tokens=2000,
            messages=[{"role": "user", "content": "weather?"}],
            extra_headers=GOLDEN,
        ) as stream:
            message = await stream.get_final_message()
    kinds = [block.type for block in message.content]
    assert kinds[:4] == [
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
    ]
    assert message.stop_reason == "tool_use"
    calls = [block for block in message.content if block.type == "tool_use"]
    assert [call.input for call in calls] == [
        {"city": "Oslo", "unit": "celsius"},
        {"city": "São Paulo", "unit": "celsius"},
    ]
    cited = [block for block in message.content if block.type == "text" and block.citations]
    assert len(cited) == 1
    assert message.usage.output_tokens > 50


async def test_anthropic_without_stream_and_with_the_agent(
    claude: anthropic.AsyncAnthropic,
) -> None:
    message = await claude.messages.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        messages=[{"role": "user", "content": "What is the weather in Oslo?"}],
        tools=[{"name": "get_weather", "description": "Weather", "input_schema": SCHEMA}],
    )
    call = message.content[-1]
    assert call.type == "tool_use"
    assert call.input == {"city": "Oslo"}
    models = await claude.models.list()
    assert models.data[0].id == "claude-sonnet-5"


async def test_anthropic_errors_are_typed(claude: anthropic.AsyncAnthropic) -> None:
    with pytest.raises(anthropic.RateLimitError):
        await claude.messages.create(
            model="claude-sonnet-5",
            max_tokens=20,
            messages=[{"role": "user", "content": "hi"}],
            extra_headers={"x-sim-fault": "rate-limit-seconds"},
        )
    with pytest.raises(anthropic.BadRequestError, match="non-empty"):
        await claude.messages.create(
            model="claude-sonnet-5",
            max_tokens=20,
            messages=[{"role": "user", "content": [{"type": "text", "text": ""}]}],
        )


async def test_responses_stream(gpt: openai.AsyncOpenAI) -> None:
    async with asyncio.timeout(60):
        async with gpt.responses.stream(
            model="gpt-5.4",
            input="weather?",
            include=["reasoning.encrypted_content"],
            extra_headers=GOLDEN,
        ) as stream:
            text = ""
            async for event in stream:
                if event.type == "response.output_text.delta":
                    text += event.delta
            response = await stream.get_final_response()
    assert response.output_text == text
    assert response.status == "completed"
    reasoning = [item for item in response.output if isinstance(item, ResponseReasoningItem)]
    assert all(item.encrypted_content for item in reasoning)
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens > 0


PATCH = "*** Begin Patch\\n*** Delete File: a\\n*** End Patch"
CUSTOM: CustomToolParam = {
    "type": "custom",
    "name": "apply_patch",
    "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
}


async def test_responses_calls_of_a_custom_tool(gpt: openai.AsyncOpenAI) -> None:
    """As deltas, as an item, and back with its result: all as the SDK has it."""
    said: ResponseInputParam = [
        {"role": "user", "content": f'[[sim: call apply_patch {{"patch": "{PATCH}"}}]]'}
    ]
    async with asyncio.timeout(60):
        async with gpt.responses.stream(model="gpt-5.4", input=said, tools=[CUSTOM]) as stream:
            text = ""
            async for event in stream:
                if event.type == "response.custom_tool_call_input.delta":
                    text += event.delta
            response = await stream.get_final_response()
    [call] = [item for item in response.output if item.type == "custom_tool_call"]
    assert (call.name, call.input) == ("apply_patch", PATCH.replace("\\n", "\n"))
    assert text == call.input

    item: ResponseCustomToolCallParam = {
        "type": "custom_tool_call", "call_id": call.call_id, "name": call.name, "input": call.input,
    }  # fmt: skip
    result: ResponseCustomToolCallOutputParam = {
        "type": "custom_tool_call_output", "call_id": call.call_id, "output": "done",
    }  # fmt: skip
    after = await gpt.responses.create(
        model="gpt-5.4", input=[*said, item, result], tools=[CUSTOM], tool_choice="none"
    )
    assert after.status == "completed"
    with pytest.raises(openai.BadRequestError, match="No tool output found for custom tool call"):
        await gpt.responses.create(model="gpt-5.4", input=[*said, item], tools=[CUSTOM])


async def test_responses_agent_fills_a_tool_whose_input_is_a_text(gpt: openai.AsyncOpenAI) -> None:
    response = await gpt.responses.create(
        model="gpt-5.4", input="Apply a patch.", tools=[CUSTOM], tool_choice="required"
    )
    [call] = [item for item in response.output if item.type == "custom_tool_call"]
    assert parse(call.input)


async def test_responses_without_stream(gpt: openai.AsyncOpenAI) -> None:
    response = await gpt.responses.create(model="gpt-5.4", input='[[sim: say "hello"]]')
    assert response.output_text == "hello"


async def test_chat_stream_and_whole(gpt: openai.AsyncOpenAI) -> None:
    stream = await gpt.chat.completions.create(
        model="sim-open",
        messages=[{"role": "user", "content": '[[sim: say "hello there"]]'}],
        stream=True,
        stream_options={"include_usage": True},
    )
    text, usage = "", None
    async with asyncio.timeout(60):
        async for chunk in stream:
            usage = chunk.usage or usage
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert text == "hello there"
    assert usage is not None
    assert usage.completion_tokens == 4
    completion = await gpt.chat.completions.create(
        model="sim-open",
        messages=[{"role": "user", "content": "weather?"}],
        extra_headers=GOLDEN,
    )
    calls = completion.choices[0].message.tool_calls or []
    assert all(isinstance(call, ChatCompletionMessageToolCall) for call in calls)
    assert len(calls) == 2


async def test_openai_errors_are_typed_and_models_listed(gpt: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="context window"):
        await gpt.responses.create(
            model="gpt-5.4", input="hi", extra_headers={"x-sim-fault": "context-overflow"}
        )
    with pytest.raises(openai.NotFoundError):
        await gpt.chat.completions.create(
            model="no-such-model", messages=[{"role": "user", "content": "hi"}]
        )
    models = [model.id async for model in gpt.models.list()]
    assert "sim-open" in models
