"""Addresses that a user set never lead inside, whatever they are called or resolve to."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from holdfast.adapters.guarded import AddressRefused, guarded_connector, guarded_socket
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.chat import ErrorKind
from tests.support.model import NOW, call_for, endpoint_for, user
from tests.support.servers import LAST, OK, Peer, chunk, nothing_left, serving
from tests.unit.domain.test_addresses import CLOSED

WHOLE = (
    b'data: {"id":"c","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


class Names(AbstractResolver):
    """A resolver that says what it is told, and something else the next time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(  # pyright: ignore[reportImplicitOverride]
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in answer
        ]

    async def close(self) -> None:  # pyright: ignore[reportImplicitOverride]
        pass


async def refused(url: str, names: Names | None = None) -> ProviderError:
    endpoint = endpoint_for("chat", base_url=url, guarded=True)
    async with open_transport(lambda: NOW, resolver=names) as transport:
        stream = ProviderStream(transport, endpoint, call_for("chat", [user("Hi")]), Deadlines())
        with pytest.raises(ProviderError) as caught:
            async with asyncio.timeout(60), stream:
                pass
    await nothing_left()
    return caught.value


def literal(address: str) -> str:
    return f"https://[{address}]/v1" if ":" in address else f"https://{address}/v1"


@pytest.mark.parametrize("address", [a for a in CLOSED if "%" not in a and "[" not in a])
async def test_closed_addresses_are_refused_as_literals_and_behind_a_name(address: str) -> None:
    behind_a_name = await refused("https://innocent.example/v1", Names([address]))
    assert (behind_a_name.kind, behind_a_name.retryable) == (ErrorKind.CONFIG, False)
    assert behind_a_name.detail == "address not allowed"

    if not any(odd in address for odd in ("/", "8:443", "①", ".internal", "localhost")):
        as_literal = await refused(literal(address), Names(["127.0.0.1"]))
        assert (as_literal.kind, as_literal.retryable) == (ErrorKind.CONFIG, False)


@pytest.mark.parametrize(
    "answers", [["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["::1", "8.8.8.8"], []]
)
async def test_one_closed_address_among_many_is_enough(answers: list[str]) -> None:
    assert (await refused("https://mixed.example/v1", Names(answers))).kind is ErrorKind.CONFIG


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example/v1",
        "https://x.example:22/v1",
        "https://x.example:8080/v1",
        "https://user@x.example/v1",
        "https://user:pw@x.example/v1",
        "ftp://x.example/v1",
        "file:///etc/passwd",
        "https://",
    ],
)
async def test_other_schemes_ports_and_users_are_refused(url: str) -> None:
    assert (await refused(url, Names(["8.8.8.8"]))).kind is ErrorKind.CONFIG


async def test_a_name_is_resolved_once_and_the_checked_address_is_the_one_connected() -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(OK + chunk(WHOLE) + LAST)

    def only_ours(address: str) -> bool:
        return address == "127.0.0.1"

    rebinding = Names(["127.0.0.1"], ["10.0.0.1"])
    async with serving(handle) as server:
        connector = guarded_connector(1, rebinding, only_ours)
        async with aiohttp.ClientSession(connector=connector) as session:
            url = f"http://rebinding.example:{server.port}/"
            async with session.post(url, data=b"x") as response:
                assert response.status == 200
                await response.read()
        assert rebinding.asked == 1
        assert b"host: rebinding.example" in server.requests[0].head.lower()
    await nothing_left()


def test_a_socket_to_a_closed_address_is_never_made() -> None:
    info: Any = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 443))
    with pytest.raises(AddressRefused):
        guarded_socket()(info)


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(OK + chunk(WHOLE) + LAST)

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with serving(handle) as server, open_transport(lambda: NOW) as transport:
        endpoint = endpoint_for("chat", base_url=server.url)
        stream = ProviderStream(transport, endpoint, call_for("chat", [user("Hi")]))
        async with asyncio.timeout(60), stream:
            events = [event async for event in stream]
        assert events
        assert stream.final is not None


async def test_many_streams_share_the_transport_and_leave_nothing() -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(OK + chunk(WHOLE) + LAST)

    async with serving(handle) as server, open_transport(lambda: NOW) as transport:
        endpoint = endpoint_for("chat", base_url=server.url)

        async def one() -> None:
            stream = ProviderStream(transport, endpoint, call_for("chat", [user("Hi")]))
            async with stream:
                async for _ in stream:
                    pass
            assert stream.final is not None

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for _ in range(200):
                tasks.create_task(one())
        assert len(server.requests) == 200
    await nothing_left()
