"""Thinking that a model does not show: the stream is silent, and alive."""

import asyncio
from typing import Any, Final

import aiohttp
import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.chat import ErrorKind
from holdfast.domain.parts import Text
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.requirements import requirement
from tests.support.model import NOW, WIRE_NAMES, call_for, user
from tests.support.simulated import endpoint_at

SAFE_S: Final = 50.0
SILENT_S: Final = 1.0
PATIENT: Final = Deadlines(silence_s=SILENT_S, progress_s=SILENT_S, thinking_s=SAFE_S)
HIDDEN: Final = 'Well? [[sim: hidden=2500 | every=100 | say "Forty-two."]]'
FOREVER: Final = 'Well? [[sim: hidden=60000 | every=100 | say "Forty-two."]]'
MODELS: Final = {
    "anthropic": "claude-sonnet-5",
    "responses": "gpt-5.6-sol",
    "chat": "gpt-5.6-sol",
    "gemini": "gemini-3.5-flash",
}


async def heard(wire: str, prompt: str, deadlines: Deadlines) -> tuple[ProviderStream, int]:
    """One attempt, and how many requests the provider saw."""
    facts = facts_of(VENDORS[f"simulator-{wire}"], MODELS[wire])
    assert facts.thinks
    async with (
        simulator_process() as url,
        open_transport(lambda: NOW) as transport,
        asyncio.timeout(SAFE_S),
    ):
        call = call_for(wire, [user(prompt)], model=facts)
        stream = ProviderStream(transport, endpoint_at(url, wire), call, deadlines)
        async with stream:
            async for _ in stream:
                pass
        async with aiohttp.ClientSession() as session, session.get(f"{url}/sim/requests") as told:
            requests: list[Any] = (await told.json())["requests"]
        return stream, len(requests)


@requirement("F09")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_hidden_thinking_is_no_silence(wire: str) -> None:
    stream, requests = await heard(wire, HIDDEN, PATIENT)

    assert stream.final is not None
    said = "".join(part.text for part in stream.final.parts if isinstance(part, Text))
    assert said == "Forty-two."
    assert stream.final.usage is not None
    assert stream.final.usage.output > len(said.split()), "the thinking is billed"
    assert requests == 1


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_thinking_ends_at_its_own_deadline_pings_or_not(wire: str) -> None:
    with pytest.raises(ProviderError) as failed:
        await heard(wire, FOREVER, Deadlines(thinking_s=0.5))

    assert failed.value.kind is ErrorKind.TIMEOUT
    assert failed.value.retryable
    assert "thinking deadline of 0.5 s" in failed.value.detail


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_stream_that_does_not_know_thinking_takes_it_for_silence(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: without the fourth clock, the attempt fails and is billed again."""

    def deaf(_stream: ProviderStream) -> None:
        pass

    monkeypatch.setattr(ProviderStream, "_note_thinking", deaf)
    short = Deadlines(first_part_s=SILENT_S, silence_s=SILENT_S, progress_s=SILENT_S)

    with pytest.raises(ProviderError) as failed:
        await heard(wire, HIDDEN, short)

    assert failed.value.kind is ErrorKind.TIMEOUT
