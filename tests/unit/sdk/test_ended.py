"""A stream that the server ended for another one of the same user does not come back at once."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from typing_extensions import override

from holdfast.web.streams import Ended
from holdfast_client.aio import follow as aio
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.config import Target
from holdfast_client.errors import WaitTimeout
from holdfast_client.events import event_of
from holdfast_client.patience import Patience
from holdfast_client.sync import follow as sync
from holdfast_client.sync.http import Http
from tests.requirements import requirement

TARGET = Target(url="http://server.example", token="hf_key")
BEGUN = b"event: lagged\ndata: {}\n\n"
SHORT_S = 30.0
"""Less than what the server says to wait."""


class Said(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """What the server says on one connection."""

    @override
    def __iter__(self) -> Iterator[bytes]:
        yield BEGUN + Ended().sse()

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield BEGUN + Ended().sse()


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
    route: Any = aio.Route("stream", "socket", event_of)
    events = aio.follow(http, route, None, Patience(SHORT_S))
    assert (await anext(events)).kind == "lagged"
    with pytest.raises(WaitTimeout):
        await anext(events)
    await http.aclose()
    assert asked == ["/api/v1/stream"]


@requirement("L142")
def test_the_blocking_one_waits_as_well() -> None:
    asked = list[str]()
    http = Http(TARGET, 1)
    http.client.close()
    http.client = httpx2.Client(transport=ending(asked))
    route: Any = sync.Route("stream", "socket", event_of)
    events = sync.follow(http, route, None, Patience(SHORT_S))
    assert next(events).kind == "lagged"
    with pytest.raises(WaitTimeout):
        next(events)
    http.close()
    assert asked == ["/api/v1/stream"]
