"""Google's SDK as a client: what it parses is what Gemini would have sent."""

import asyncio
import warnings
from typing import Any

import pytest

from holdfast_simulator.server import Simulator

with warnings.catch_warnings():
    # Its own source holds a bad escape, which warns when it is first compiled.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import types

GOLDEN = {"x-sim-scenario": "golden"}


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
async def test_gemini_streams_and_answers_whole(simulator: Simulator) -> None:
    options = types.HttpOptions(base_url=simulator.url, headers=GOLDEN)
    client = genai.Client(api_key="any", http_options=options)
    models: Any = client.aio.models  # its annotations name types that are not installed
    asked = {"model": "gemini-3-pro-preview", "contents": "weather?"}
    try:
        async with asyncio.timeout(60):
            stream = await models.generate_content_stream(**asked)
            chunks: list[Any] = [chunk async for chunk in stream]
            whole = await models.generate_content(**asked)
    finally:
        await client.aio.aclose()
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    calls = [part for part in parts if part.function_call]
    assert [call.function_call.args["city"] for call in calls] == ["Oslo", "São Paulo"]
    assert calls[0].thought_signature
    assert any(part.thought for part in parts)
    last = chunks[-1].candidates[0]
    assert last.finish_reason is types.FinishReason.STOP
    assert last.grounding_metadata.web_search_queries == ["weather today"]
    assert chunks[-1].usage_metadata.thoughts_token_count > 0
    assert len(whole.function_calls) == 2


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
async def test_a_paused_reply_is_continued_by_the_sdk(simulator: Simulator) -> None:
    headers = {"x-sim": 'say "One. " | stop=pause | then | say "Two."'}
    options = types.HttpOptions(base_url=simulator.url, headers=headers)
    client = genai.Client(api_key="any", http_options=options)
    models: Any = client.aio.models
    try:
        async with asyncio.timeout(60):
            stream = await models.generate_content_stream(
                model="gemini-3-pro-preview", contents="count"
            )
            chunks: list[Any] = [chunk async for chunk in stream]
    finally:
        await client.aio.aclose()
    assert "".join(chunk.text or "" for chunk in chunks) == "One. Two."
    assert len(list(simulator.record)) == 2
