"""A stream that the server ended for another one of the same user does not come back at once."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from typing_extensions import override

from holdfast.api.streams import REPLACED
from holdfast.domain.events import EventType
from holdfast.domain.ids import Version
from holdfast.stream.events import StreamEvent
from holdfast_client.aio import follow as aio
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.config import Target
from holdfast_client.errors import WaitTimeoutError
from holdfast_client.events import event_of
from holdfast_client.patience import Patience
from holdfast_client.sync import follow as sync
from holdfast_client.sync.http import Http
from tests.requirements import requirement

TARGET = Target(url="http://server.example", api_key="hfst_key")
BEGUN = StreamEvent(EventType.QUEUE_UPDATED, None, b'{"messages":[]}', Version(1)).sse()
SHORT_S = 30.0
"""Less than what the server says to wait."""


class Said(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """What the server says on one connection."""

    @override
    def __iter__(self) -> Iterator[bytes]:
        yield BEGUN + REPLACED.sse()

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield BEGUN + REPLACED.sse()


def ending(asked: list[str]) -> httpx2.MockTransport:
    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(200, stream=Said())

    return httpx2.MockTransport(answer)


@requirement("L142")
async def test_it_waits_as_long_as_it_is_told() -> None:
    asked = list[str]()
    http = AsyncHttp(TARGET, 1)
    await http.client.aclose()
    http.client = httpx2.AsyncClient(transport=ending(asked))
    route: Any = aio.Route("events", event_of)
    events = aio.follow(http, route, None, Patience(SHORT_S))
    assert (await anext(events)).type == "queue.updated"
    with pytest.raises(WaitTimeoutError):
        await anext(events)
    await http.aclose()
    assert asked == ["/api/v1/events"]


@requirement("L142")
def test_the_blocking_one_waits_as_well() -> None:
    asked = list[str]()
    http = Http(TARGET, 1)
    http.client.close()
    http.client = httpx2.Client(transport=ending(asked))
    route: Any = sync.Route("events", event_of)
    events = sync.follow(http, route, None, Patience(SHORT_S))
    assert next(events).type == "queue.updated"
    with pytest.raises(WaitTimeoutError):
        next(events)
    http.close()
    assert asked == ["/api/v1/events"]
