"""A Gemini reply in two requests, against a simulator that verifies the token and the body."""

import asyncio

from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import open_transport
from holdfast.adapters.providers.types import HeaderAuth
from holdfast.domain.messages import Ending
from holdfast_simulator.server import Config, running
from tests.support.model import NOW, assistant, call_for, endpoint_for, stored, user

SAFE_S = 50.0
ASKED = '[[sim: say "One." | stop=pause | then | say "Two."]]'


async def test_a_gemini_reply_goes_on_where_it_was_paused() -> None:
    history = [user(ASKED)]
    endings: list[Ending] = []
    texts: list[str] = []
    outputs: list[int] = []
    async with (
        asyncio.timeout(SAFE_S),
        running(Config()) as simulator,
        open_transport(lambda: NOW) as transport,
    ):
        endpoint = endpoint_for(
            "gemini",
            base_url=f"{simulator.url}/v1beta",
            auth=HeaderAuth("x-goog-api-key", "any"),
        )
        for _ in range(2):
            call = call_for("gemini", history)
            async with ProviderStream(transport, endpoint, call) as stream:
                async for _event in stream:
                    pass
            assert stream.final is not None
            assert stream.final.usage is not None
            outputs.append(stream.final.usage.output)
            endings.append(stream.final.ending)
            texts += [part.text for part in stream.final.parts if part.kind == "text" and part.text]
            history.append(assistant(*stored(stream.final.parts), ending=stream.final.ending))
        refused = [entry.rejected_by for entry in simulator.record if entry.rejected_by]

    assert (endings, texts) == ([Ending.PAUSED, Ending.COMPLETE], ["One.", "Two."])
    assert all(outputs)
    assert refused == []
