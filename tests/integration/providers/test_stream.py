"""The stream loop against servers that misbehave: every fault ends in the documented error, in
time, with what was said before it, and with no task or socket left."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers import stream as stream_module
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.adapters.providers.types import Endpoint, HeaderAuth
from holdfast.domain.chat import ErrorKind
from holdfast.domain.parts import Part, Text
from holdfast.ports.models import Event, TextDelta
from tests.support.model import NOW, WIRE_NAMES, call_for, endpoint_for, play, recording, user
from tests.support.servers import (
    LAST,
    OK,
    Handler,
    Peer,
    RawServer,
    answer,
    chunk,
    nothing_left,
    serving,
)

K = ErrorKind
SAFE_S = 50.0
"""Ends a test that hangs; sooner than the deadlines that a test does not shorten."""
NO_FIRST_PART = Deadlines(first_part_s=0.3)
NO_PROGRESS = Deadlines(progress_s=0.3)
SILENCE = Deadlines(silence_s=1.0)
SHORT_TAIL = Deadlines(tail_s=0.1)
BEGUN = b'data: {"id":"c","choices":[{"delta":{"content":"Hel"}}]}\n\n'
MORE = b'data: {"id":"c","choices":[{"delta":{"content":"lo"}}]}\n\n'
FINISH = b'data: {"id":"c","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"


class Seen:
    """What a caller sees of one attempt."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.parts: tuple[Part, ...] = ()
        self.error: ProviderError | None = None
        self.stream: ProviderStream | None = None


@asynccontextmanager
async def transport() -> AsyncGenerator[Transport]:
    async with open_transport(lambda: NOW) as opened:
        yield opened


async def attempt(
    opened: Transport,
    endpoint: Endpoint,
    deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
    **options: Any,
) -> Seen:
    seen = Seen()
    call = call_for(endpoint.wire, [user("Hi")])
    stream = seen.stream = ProviderStream(opened, endpoint, call, deadlines, **options)
    try:
        async with asyncio.timeout(SAFE_S), stream:
            async for event in stream:
                seen.events.append(event)
    except ProviderError as error:
        seen.error = error
    seen.parts = stream.partial()
    return seen


def at(server: RawServer, wire: str = "chat", **changes: Any) -> Endpoint:
    return endpoint_for(wire, base_url=server.url, **changes)


async def against(handler: Handler, wire: str = "chat", **options: Any) -> Seen:
    async with serving(handler) as server:
        async with transport() as opened:
            seen = await attempt(opened, at(server, wire), **options)
        async with asyncio.timeout(SAFE_S):
            if server.open:
                await server.idle.wait()
    await nothing_left()
    return seen


def sends(*pieces: bytes, then: str = "end") -> Handler:
    async def handle(peer: Peer) -> None:
        for piece in pieces:
            await peer.send(piece)
        match then:
            case "end":
                await peer.send(LAST)
            case "close":
                peer.writer.close()
            case "reset":
                peer.reset()
            case "hang":
                await peer.gone()
            case _:
                raise AssertionError(then)

    return handle


def begun(*pieces: bytes, then: str = "end") -> Handler:
    return sends(OK + chunk(BEGUN), *(chunk(piece) for piece in pieces), then=then)


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_good_stream_is_an_answer_and_its_connection_serves_again(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "DRAIN_S", SAFE_S)  # the last chunk may be late
    data = recording(f"{wire}-1")
    pieces = [chunk(data[i : i + 97]) for i in range(0, len(data), 97)]
    async with serving(sends(OK, *pieces)) as server:
        async with transport() as opened:
            for _ in range(3):
                seen = await attempt(opened, at(server, wire))
                assert seen.error is None
                assert seen.stream is not None
                assert seen.stream.final == play(wire, data)
                assert seen.parts == play(wire, data).parts
        assert (server.connections, len(server.requests)) == (1, 3)
    sent = server.requests[0]
    assert b"accept-encoding: identity" in sent.head.lower()
    assert wire == "gemini" or orjson.loads(sent.body)["stream"] is True
    await nothing_left()


FAULTS: dict[str, tuple[Handler, ErrorKind, bool, str | None]] = {
    "clean end without the terminal event": (begun(MORE), K.STREAM_CLOSED, True, "Hello"),
    "clean end at once": (sends(OK), K.STREAM_CLOSED, True, ""),
    "clean end inside an event": (begun(MORE[:20]), K.STREAM_CLOSED, True, "Hel"),
    "end inside a character": (begun(b'data: {"x":"\xc3'), K.STREAM_CLOSED, True, "Hel"),
    "cut without the last chunk": (begun(MORE, then="close"), K.STREAM_CLOSED, True, "Hello"),
    "cut inside a chunk": (
        sends(OK + chunk(BEGUN) + b"ff\r\nshort", then="close"),
        K.STREAM_CLOSED,
        True,
        "Hel",
    ),
    "cut before the headers": (sends(then="close"), K.STREAM_CLOSED, True, ""),
    "cut inside the headers": (sends(b"HTTP/1.1 200", then="close"), K.STREAM_CLOSED, True, ""),
    "reset": (begun(then="reset"), K.STREAM_CLOSED, True, None),
    "reset at once": (sends(then="reset"), K.STREAM_CLOSED, True, ""),
    "silence before the headers": (sends(then="hang"), K.TIMEOUT, True, ""),
    "silence after the headers": (sends(OK, then="hang"), K.TIMEOUT, True, ""),
    "silence in the middle": (begun(then="hang"), K.TIMEOUT, True, "Hel"),
    "an event that is not JSON": (begun(b"data: {oops\n\n"), K.UNKNOWN, True, "Hel"),
    "an event that is not UTF-8": (begun(b'data: {"a":"\xff"}\n\n'), K.UNKNOWN, True, "Hel"),
    "an event of another shape": (begun(b'data: {"choices":7}\n\n'), K.UNKNOWN, False, "Hel"),
    "an error event": (
        begun(b'data: {"error":{"code":529,"type":"overloaded_error"}}\n\n'),
        K.OVERLOADED,
        True,
        "Hel",
    ),
    "a page instead of a stream": (
        sends(answer("200 OK", b"<html>hello</html>", "content-type: text/html"), then="hang"),
        K.CONFIG,
        False,
        "",
    ),
    "a body instead of a stream": (
        sends(answer("200 OK", b'{"choices":[]}', "content-type: application/json"), then="hang"),
        K.CONFIG,
        False,
        "",
    ),
    "a redirect": (
        sends(answer("307 Moved", b"", "location: http://127.0.0.1:1/"), then="hang"),
        K.CONFIG,
        False,
        "",
    ),
    "not HTTP": (sends(b"SSH-2.0-OpenSSH\r\n\r\n", then="hang"), K.UNKNOWN, True, ""),
    "endless headers": (
        sends(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000, then="hang"),
        K.UNKNOWN,
        True,
        "",
    ),
    "a bad chunk size": (sends(OK + b"zz\r\n", then="hang"), K.UNKNOWN, True, ""),
    "500": (sends(answer("500 Oops", b"{}"), then="hang"), K.UNAVAILABLE, True, ""),
    "529": (sends(answer("529 Busy", b"{}"), then="hang"), K.OVERLOADED, True, ""),
    "a proxy's page": (
        sends(answer("502 Bad", b"<html>Bad</html>"), then="hang"),
        K.UNAVAILABLE,
        True,
        "",
    ),
    "an error whose body never comes": (
        sends(b"HTTP/1.1 429 Slow\r\ncontent-length: 50\r\n\r\n", then="close"),
        K.RATE_LIMIT,
        True,
        "",
    ),
    "an overflow": (
        sends(answer("400 Bad", b'{"error":{"message":"prompt is too long"}}'), then="hang"),
        K.CONTEXT_OVERFLOW,
        False,
        "",
    ),
}


@pytest.mark.requirement("L43", "L50")
@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_ends_as_documented(fault: str) -> None:
    handler, kind, retryable, heard = FAULTS[fault]

    deadlines = Deadlines()
    if kind is K.TIMEOUT:
        deadlines = SILENCE if heard else NO_FIRST_PART

    seen = await against(handler, deadlines=deadlines)

    assert seen.error is not None, "a silent success"
    assert (seen.error.kind, seen.error.retryable) == (kind, retryable), seen.error
    assert seen.error.provider == "chat"
    assert seen.stream is not None
    assert seen.stream.final is None
    if heard is not None:  # a reset may overtake what was sent before it
        assert "".join(e.text for e in seen.events if isinstance(e, TextDelta)) == heard
        assert seen.parts == ((Text(heard),) if heard else ())


@pytest.mark.requirement("L43")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_on_every_wire_the_terminal_event_is_required(wire: str) -> None:
    whole = recording(f"{wire}-1").split(b"\n\n")
    for kept in range(0, len(whole) - (4 if wire == "chat" else 2), 5):
        seen = await against(sends(OK + chunk(b"\n\n".join(whole[:kept]) + b"\n\n")), wire)

        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.STREAM_CLOSED, True)


@pytest.mark.requirement("L50")
@pytest.mark.parametrize(
    "ping", [b": ping\n\n", b'data: {"id":"c","choices":[]}\n\n'], ids=["comments", "empty events"]
)
@pytest.mark.parametrize("first", [b"", BEGUN], ids=["before", "after the first part"])
async def test_pings_forever_do_not_keep_a_dead_stream_alive(ping: bytes, first: bytes) -> None:
    async def handle(peer: Peer) -> None:
        async with asyncio.TaskGroup() as tasks:
            gone = tasks.create_task(peer.gone())
            await peer.send(OK + chunk(first))
            while not gone.done():
                peer.writer.write(chunk(ping))
                await asyncio.wait([gone], timeout=0.02)

    seen = await against(handle, deadlines=NO_PROGRESS if first else NO_FIRST_PART)

    assert seen.error is not None
    assert (seen.error.kind, seen.error.retryable) == (K.TIMEOUT, True)
    assert ("progress" if first else "first-part") in seen.error.detail


async def test_an_event_without_end_is_refused_and_not_held() -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(OK + chunk(BEGUN) + chunk(b"data: "))
        for _ in range(10_000):
            await peer.send(chunk(b"x" * 65536))

    seen = await against(handle, event_bytes_max=1024 * 1024)

    assert seen.error is not None
    assert (seen.error.kind, seen.error.retryable) == (K.UNKNOWN, False)
    assert "more than 1048576 bytes" in seen.error.detail
    assert seen.parts == (Text("Hel"),)


@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
async def test_a_compressed_answer_is_refused_unread(status: str) -> None:
    bomb = gzip.compress(b"data: " + b"x" * 50_000_000, 9)
    head = ("content-encoding: gzip", "content-type: text/event-stream")

    seen = await against(sends(answer(status, bomb, *head), then="hang"))

    assert seen.error is not None
    assert seen.error.kind is (K.UNKNOWN if status.startswith("200") else K.UNAVAILABLE)


@pytest.mark.requirement("L45")
async def test_hints_and_secrets_of_an_error_answer() -> None:
    body = b'{"error":{"message":"Key sk-live-12345678 and my-own-key: https://x.example/?k=v"}}'
    reply = answer("429 Slow", body, "retry-after: 9", "Retry-After-Ms: 1500")
    async with serving(sends(reply, then="hang")) as server, transport() as opened:
        auth = HeaderAuth("authorization", "my-own-key", "Bearer ")
        seen = await attempt(opened, at(server, auth=auth))

    assert seen.error is not None
    assert (seen.error.kind, seen.error.status) == (K.RATE_LIMIT, 429)
    assert seen.error.retry_after_s == 1.5
    for secret in ("sk-live", "my-own-key", "k=v"):
        assert secret not in f"{seen.error} {seen.error.detail} {seen.error.sentence}"
    assert b"authorization: Bearer my-own-key" in server.requests[0].head
    await nothing_left()


async def test_what_was_decoded_before_an_error_in_the_same_read_is_delivered_first() -> None:
    seen = await against(sends(OK + chunk(BEGUN + MORE + b"data: {oops\n\n")))

    assert [event.text for event in seen.events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    assert seen.error is not None


@pytest.mark.parametrize("then", ["hang", "reset", "close"])
async def test_after_the_declared_end_the_connection_may_do_what_it_likes(then: str) -> None:
    seen = await against(begun(MORE + FINISH, then=then), deadlines=SHORT_TAIL)
    assert seen.error is None or then == "reset"
    if seen.error is None:
        assert seen.stream is not None
        assert seen.stream.final is not None

    closed = await against(begun(MORE + FINISH + DONE + b"data: {oops\n\n", then=then))
    assert closed.error is None or then == "reset"


async def test_nobody_listens() -> None:
    async with serving(sends()) as server:
        port = server.port
    async with transport() as opened:
        for url in (f"http://127.0.0.1:{port}", "http://name.invalid"):
            seen = await attempt(opened, endpoint_for("chat", base_url=url), Deadlines())
            assert seen.error is not None
            assert (seen.error.kind, seen.error.retryable) == (K.UNAVAILABLE, True)
            assert seen.stream is not None
            assert not seen.stream.opened
        seen = await attempt(opened, endpoint_for("chat", base_url="no url"), Deadlines())
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.CONFIG, False)
    await nothing_left()


@pytest.mark.parametrize(
    "changes",
    [
        {"auth": HeaderAuth("authorization", "secret\nx-evil: 1")},
        {"base_url": "http://" + "a" * 300 + ".example"},
        {"base_url": "http://[::1"},
        {"base_url": "http://x.example:99999"},
    ],
)
async def test_what_cannot_be_sent_is_a_matter_of_settings(changes: dict[str, Any]) -> None:
    async with serving(sends()) as server, transport() as opened:
        changes = {"base_url": server.url, **changes}
        seen = await attempt(opened, endpoint_for("chat", **changes), Deadlines())

    assert seen.error is not None
    assert (seen.error.kind, seen.error.retryable) == (K.CONFIG, False)
    assert "cret" not in f"{seen.error} {seen.error.detail}"


async def test_a_large_prompt_is_sent_whole() -> None:
    large = "x" * 3_000_000
    async with serving(begun(MORE + FINISH + DONE)) as server, transport() as opened:
        call = call_for("chat", [user(large)])
        async with asyncio.timeout(SAFE_S), ProviderStream(opened, at(server), call) as stream:
            assert [event async for event in stream]
    assert orjson.loads(server.requests[0].body)["messages"][0]["content"] == large


async def test_plain_http_where_tls_is_expected_is_a_matter_of_settings() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer("400 Bad", b""))
        writer.close()

    listener = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with listener, transport() as opened:
        port = listener.sockets[0].getsockname()[1]
        endpoint = endpoint_for("chat", base_url=f"https://127.0.0.1:{port}")
        seen = await attempt(opened, endpoint)
    assert seen.error is not None
    assert (seen.error.kind, seen.error.retryable) == (K.CONFIG, False)
    await nothing_left()


@pytest.mark.requirement("L50")
async def test_a_cancelled_reader_closes_the_socket_at_once() -> None:
    hung_up = asyncio.Event()
    streaming = asyncio.Event()

    async def handle(peer: Peer) -> None:
        await peer.send(OK + chunk(BEGUN))
        streaming.set()
        await peer.gone()
        hung_up.set()
        peer.writer.close()

    async with serving(handle) as server, transport() as opened:
        task = asyncio.create_task(attempt(opened, at(server), Deadlines()))
        async with asyncio.timeout(SAFE_S):
            await streaming.wait()
            task.cancel()
            await hung_up.wait()  # no deadline of the stream is as short as this timeout
        with pytest.raises(asyncio.CancelledError):
            await task
    await nothing_left()


async def test_a_reader_that_leaves_early_closes_the_socket_and_keeps_the_partial() -> None:
    async with serving(begun(then="hang")) as server, transport() as opened:
        stream = ProviderStream(opened, at(server), call_for("chat", [user("Hi")]))
        async with stream:
            async for _ in stream:
                break
        assert stream.partial() == (Text("Hel"),)
        assert stream.opened
        async with asyncio.timeout(SAFE_S):
            await server.idle.wait()
    await nothing_left()


async def test_a_slow_reader_is_not_cancelled_by_our_clocks() -> None:
    go_on = asyncio.Event()
    async with serving(begun(MORE, FINISH + DONE)) as server, transport() as opened:
        short = Deadlines(silence_s=1.0, progress_s=0.3, tail_s=0.1)
        stream = ProviderStream(opened, at(server), call_for("chat", [user("Hi")]), short)
        # Real time: the reader pauses for longer than the deadlines.
        asyncio.get_running_loop().call_later(1.2, go_on.set)
        async with asyncio.timeout(SAFE_S), stream:
            events = [await anext(stream)]
            await go_on.wait()
            events += [event async for event in stream]
        assert stream.final is not None
        assert stream.final.parts == (Text("Hello"),)
    await nothing_left()


@pytest.mark.requirement("L56")
@pytest.mark.parametrize("handler", [sends(then="hang"), begun(then="hang")])
async def test_our_own_deadline_is_told_from_the_providers(handler: Handler) -> None:
    ours = Deadlines(total_s=0.2)

    seen = await against(handler, deadlines=ours)

    assert seen.error is not None
    assert (seen.error.kind, seen.error.retryable) == (K.TIMEOUT, False)
    assert seen.error.own_deadline
