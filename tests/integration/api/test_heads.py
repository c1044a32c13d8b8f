"""What a client without a credential can cost before the app sees its request: heads that do not
end, connections that say nothing, crowds from one address."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.waits import HANG_S
from tests.support.web import Cell, a_cell

PIECE: Final = 64 * 2**10
OFFERED: Final = 32 * 2**20
TAKEN_MAX: Final = 12 * 2**20
"""The bound is 64 KB. The rest are the buffers of both sockets, which the kernel fills."""
SMALL = b"a: b\r\n" * (PIECE // 6)
LONG = b"x" * PIECE
ASK = b"GET /api/v1/version HTTP/1.1\r\nhost: x\r\n"
GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"
CHUNKED = b"POST /api/v1/sessions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"

ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "small headers": (GET, SMALL),
    "one header's value": (GET + b"a: ", LONG),
    "one header's name": (GET, LONG),
    "the address": (b"GET /", LONG),
    "empty lines": (b"", b"\r\n" * (PIECE // 2)),
    "trailers": (CHUNKED, SMALL),
    "one trailer's value": (CHUNKED + b"a: ", LONG),
}

TOO_MUCH: dict[str, tuple[bytes, int]] = {
    "headers": (GET + b"a: b\r\n" * 101 + b"\r\n", 431),
    "address": (b"GET /" + b"x" * 17_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 414),
}


def address_of(cell: Cell) -> tuple[str, int]:
    parts = urlsplit(cell.urls[0])
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@asynccontextmanager
async def connected(
    cell: Cell, own: str = "127.0.0.1"
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(*address_of(cell), local_addr=(own, 0))
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes = ASK
) -> int:
    """The status of the answer; 0 if the connection was closed without one."""
    try:
        writer.write(asked + b"\r\n")
        async with asyncio.timeout(HANG_S):
            said = await reader.readuntil(b"\r\n")
    except (ConnectionError, asyncio.IncompleteReadError):
        return 0
    return int(said.split()[1])


async def ended(reader: asyncio.StreamReader) -> None:
    """Until the server has closed the connection."""
    async with asyncio.timeout(HANG_S):
        try:
            while await reader.read(PIECE):
                pass
        except ConnectionError:
            pass


def counted(cell: Cell, name: str, **labels: str) -> float:
    return cell.served[0].server.metrics.value(name, **labels)


async def taken(cell: Cell, begin: bytes, more: bytes) -> int:
    """How many bytes the server takes before it closes the connection."""
    loop = asyncio.get_running_loop()
    sent = 0
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        raw.setblocking(False)
        await loop.sock_connect(raw, address_of(cell))
        try:
            async with asyncio.timeout(HANG_S):
                for piece in chain((begin,), repeat(more, OFFERED // PIECE)):
                    await loop.sock_sendall(raw, piece)
                    sent += len(piece)
        except ConnectionError:
            pass
    return sent


@requirement("L142")
@pytest.mark.parametrize("kind", ENDLESS)
async def test_a_head_without_end_is_cut_off(empty: Replicas, kind: str) -> None:
    async with a_cell(empty) as cell:
        assert await taken(cell, *ENDLESS[kind]) < TAKEN_MAX
        assert counted(cell, "holdfast_http_heads_refused_total") == 1
        assert (await cell.admin.get("me")).status == 200


@requirement("L142")
@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_a_head_past_a_bound_is_answered(empty: Replicas, kind: str) -> None:
    head, status = TOO_MUCH[kind]
    async with a_cell(empty) as cell, connected(cell) as (reader, writer):
        writer.write(head)
        async with asyncio.timeout(HANG_S):
            said = await reader.read()
        assert int(said.split()[1]) == status
        head_, _, body = said.partition(b"\r\n\r\n")
        assert b"content-type: application/problem+json" in head_
        assert json.loads(body)["status"] == status
        assert said.count(b"HTTP/1.1 ") == 1, "one answer, and the rest is not read"


async def test_a_body_may_be_larger_than_a_head(empty: Replicas) -> None:
    async with a_cell(empty) as cell:
        text = "x" * 300_000
        made = await cell.admin.post("chats", {"message": {"text": text}})
        assert made.status == 201, made.raw


SILENT: dict[str, bytes] = {
    "nothing": b"",
    "half a head": GET + b"a: b\r\n",
    "an empty line": b"\r\n",
    "a request, then half a head": GET + b"\r\n" + GET,
    "a head, and a body that the app does not want": GET + b"content-length: 9\r\n\r\nx",
}


@requirement("L142")
async def test_connections_that_send_no_whole_request_are_closed(empty: Replicas) -> None:
    async with a_cell(empty, head_s=0.5) as cell:
        opened = [(said, await asyncio.open_connection(*address_of(cell))) for said in SILENT]
        for said, (_, writer) in opened:
            writer.write(SILENT[said])
        try:
            for _, (reader, _) in opened:
                await ended(reader)
        finally:
            for _, (_, writer) in opened:
                writer.close()
        assert counted(cell, "holdfast_http_silent_total") >= len(SILENT) - 1
        assert (await cell.admin.get("me")).status == 200


AFTER_AN_ANSWER: dict[str, tuple[bytes, bytes]] = {
    "half a head": (GET + b"\r\n", GET),
    "an empty line": (GET + b"\r\n", b"\r\n"),
    "more of a body that the app did not want": (GET + b"content-length: 9\r\n\r\n", b"x"),
}


@requirement("L142")
@pytest.mark.parametrize("kind", AFTER_AN_ANSWER)
async def test_bytes_after_an_answer_do_not_keep_a_connection(empty: Replicas, kind: str) -> None:
    """They end uvicorn's own timer for idle connections."""
    request, more = AFTER_AN_ANSWER[kind]
    async with a_cell(empty, head_s=0.5) as cell, connected(cell) as (reader, writer):
        writer.write(request)
        async with asyncio.timeout(HANG_S):
            await reader.readuntil(b"\r\n\r\n")
        writer.write(more)
        await ended(reader)
        assert counted(cell, "holdfast_http_silent_total") == 1


@requirement("L142")
async def test_a_drip_of_bytes_does_not_keep_a_connection(empty: Replicas) -> None:
    async with a_cell(empty, head_s=0.5) as cell, connected(cell) as (reader, writer):
        writer.write(GET)
        async with asyncio.timeout(HANG_S):
            while not reader.at_eof():
                try:
                    writer.write(b"a")
                    await asyncio.wait_for(reader.read(1), 0.1)
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
        assert counted(cell, "holdfast_http_silent_total") == 1


async def test_streams_and_sockets_outlive_the_time_for_a_head(empty: Replicas) -> None:
    async with a_cell(empty, head_s=0.5) as cell:
        chat_id = await cell.admin.new_chat()
        url = f"{cell.admin.url}/api/v1/events"
        async with (
            cell.admin.stream(chat_id) as events,
            cell.admin.http.ws_connect(url, headers=cell.admin.headers) as listening,
        ):
            async for event in events:
                if event["type"] == "chat.state":
                    break
            # Real time: longer than a client may take for a head.
            await asyncio.sleep(1.5)
            await cell.admin.post(f"chats/{chat_id}/messages", {"text": "hello"})
            async with asyncio.timeout(HANG_S):
                async for event in events:
                    if event["type"] == "message.created":
                        break
                told = [await listening.receive() for _ in range(2)]
            assert [each.type for each in told] == [aiohttp.WSMsgType.TEXT] * 2
        assert counted(cell, "holdfast_http_silent_total") == 0


@requirement("L142")
async def test_an_address_at_its_bound_is_refused_and_another_is_served(empty: Replicas) -> None:
    bounds = {"connections_per_address_max": 2, "trusted_proxies": "10.0.0.1"}
    async with a_cell(empty, **bounds) as cell:
        async with connected(cell, "127.0.0.2") as one, connected(cell, "127.0.0.2") as two:
            assert [await answer(*one), await answer(*two)] == [200, 200]
            async with connected(cell, "127.0.0.2") as third:
                assert await answer(*third) in (429, 0)
            async with connected(cell, "127.0.0.3") as other:
                assert await answer(*other) == 200
        refused = counted(cell, "holdfast_http_connections_refused_total", bound="address")
        assert refused == 1
        # What was closed is counted no longer.
        async with asyncio.timeout(HANG_S):
            while True:
                async with connected(cell, "127.0.0.2") as again:
                    if await answer(*again) == 200:
                        break


@requirement("L142")
async def test_a_process_at_its_bound_refuses_and_then_serves_again(empty: Replicas) -> None:
    async with a_cell(empty, connections_max=1) as cell:
        async with connected(cell) as one:
            assert await answer(*one) == 200
            async with connected(cell) as two:
                assert await answer(*two) in (503, 0)
            refused = counted(cell, "holdfast_http_connections_refused_total", bound="process")
            assert refused == 1
        async with asyncio.timeout(HANG_S):
            while True:
                async with connected(cell) as again:
                    if await answer(*again) == 200:
                        break


@requirement("L142")
@pytest.mark.parametrize(
    "bounds",
    [
        {"connections_max": 1},
        {"connections_per_address_max": 1, "trusted_proxies": "10.0.0.1"},
    ],
)
async def test_a_process_that_is_full_still_answers_probes(
    empty: Replicas, bounds: dict[str, Any]
) -> None:
    async with a_cell(empty, **bounds) as cell, connected(cell) as one:
        assert await answer(*one) == 200
        async with connected(cell) as probe:
            assert await answer(*probe, GET) == 200
        async with connected(cell) as client:
            assert await answer(*client) in (429, 503, 0)


async def test_a_socket_counts_until_it_is_closed(empty: Replicas) -> None:
    async with a_cell(empty) as cell:
        url = f"{cell.admin.url}/api/v1/events"
        async with cell.admin.http.ws_connect(url, headers=cell.admin.headers):
            assert counted(cell, "holdfast_http_connections") >= 1
        await cell.admin.http.close()
        async with asyncio.timeout(HANG_S):
            while counted(cell, "holdfast_http_connections"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
