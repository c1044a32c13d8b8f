"""Bodies are bounded in size and in time, whatever they announce."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from starlette.types import Message, Receive, Scope, Send

from holdfast.api.errors import BadRequest, TooManyRequests
from holdfast.api.guard import AFTER, Guard
from holdfast.api.rates import Rates
from tests.support.virtual import virtual_runner as virtual_runner


async def read_through(
    messages: Sequence[Message], *headers: tuple[bytes, bytes], s_max: float = 5.0
) -> int:
    """How many bytes an app gets of a body; after the last message nothing more comes."""
    coming = list(messages)
    taken = 0

    async def receive() -> Message:
        if coming:
            return coming.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(_message: Message) -> None:
        pass

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        nonlocal taken
        more = True
        while more:
            message = await receive()
            taken += len(message.get("body", b""))
            more = message.get("more_body", False)

    refused: list[BadRequest] = []

    async def catching(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except BadRequest as error:
            refused.append(error)

    guard = Guard(catching, body_bytes_max=10, body_s_max=s_max, requests_max=1, version="1")
    await guard({"type": "http", "path": "/", "headers": list(headers)}, receive, send)
    if refused:
        raise refused[0]
    return taken


def body(data: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


async def test_a_body_within_the_bounds_passes() -> None:
    assert await read_through([body(b"12345", more=True), body(b"67890")]) == 10


@pytest.mark.parametrize(
    ("messages", "headers", "code"),
    [
        ([body(b"12345678901")], [], "body_too_large"),
        ([body(b"123456", more=True), body(b"78901", more=True)], [], "body_too_large"),
        ([], [(b"content-length", b"11")], "body_too_large"),
        ([body(b"1", more=True)], [(b"content-length", b"2")], "request_timeout"),
        ([], [(b"content-length", b"-1")], "request_timeout"),
    ],
)
async def test_a_body_past_a_bound_is_refused(
    messages: list[Message], headers: list[tuple[bytes, bytes]], code: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        await read_through(messages, *headers, s_max=0.05)
    assert refused.value.code == code


async def test_a_bucket_is_everybodys_own_and_fills_again() -> None:
    rates = Rates(per_s=20.0, burst=2)
    rates.take("ada")
    rates.take("ada")
    with pytest.raises(TooManyRequests) as refused:
        rates.take("ada")
    assert refused.value.retry_after_s == pytest.approx(0.05)
    rates.take("bob")
    await asyncio.sleep(0.04)
    with pytest.raises(TooManyRequests):
        rates.take("ada")
    await asyncio.sleep(0.02)
    rates.take("ada")


async def ask(guard: Guard, path: str = "/") -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return body(b"")

    async def send(message: Message) -> None:
        sent.append(message)

    await guard({"type": "http", "path": path, "headers": []}, receive, send)
    return sent


@pytest.mark.parametrize("media_type", [b"application/json", b"text/event-stream; charset=utf-8"])
async def test_places_are_given_back_once(media_type: bytes) -> None:
    within: list[int] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        within.append(guard.under_way)
        headers = [(b"content-type", media_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        within.append(guard.under_way)
        await send({"type": "http.response.body", "body": b""})

    guard = Guard(app, body_bytes_max=10, body_s_max=1, requests_max=1, version="1")
    for _ in range(3):
        assert (await ask(guard))[0]["status"] == 200
        assert guard.under_way == 0
    assert within == [1, 0 if b"stream" in media_type else 1] * 3


async def test_a_request_that_fails_gives_its_place_back() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("unforeseen")

    guard = Guard(app, body_bytes_max=10, body_s_max=1, requests_max=1, version="1")
    for _ in range(3):
        assert (await ask(guard))[0]["status"] == 500
    assert guard.under_way == 0


async def test_one_too_many_is_sent_away_unless_it_is_a_probe() -> None:
    inner: list[list[Message]] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["path"] == "/":
            inner.extend([await ask(guard, "/other"), await ask(guard, "/healthz")])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guard = Guard(app, body_bytes_max=10, body_s_max=1, requests_max=1, version="1")
    assert (await ask(guard))[0]["status"] == 200
    assert [sent[0]["status"] for sent in inner] == [503, 200]
    assert (b"retry-after", b"1") in inner[0][0]["headers"]
    assert guard.under_way == 0


class Noted:
    """What goes on after the layers; notes what happens to it."""

    def __init__(self, seen: list[str], *, fails: bool = False) -> None:
        self._seen = seen
        self._fails = fails

    async def go_on(self, receive: Receive, send: Send) -> None:
        self._seen.append("goes on")
        if self._fails:
            raise RuntimeError("unforeseen")

    async def let_go(self) -> None:
        self._seen.append("lets go")


@pytest.mark.parametrize(
    ("layer_fails", "fails", "seen"),
    [
        (False, False, ["begins", "layers are gone", "goes on", "lets go"]),
        (True, False, ["begins", "layers are gone", "lets go"]),
        (False, True, ["begins", "layers are gone", "goes on", "lets go"]),
    ],
    ids=["well", "a layer fails", "it fails"],
)
async def test_what_goes_on_does_so_without_the_layers_and_lets_go_on_every_way(
    layer_fails: bool, fails: bool, seen: list[str]
) -> None:
    noted: list[str] = []
    scopes: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        scope[AFTER].append(Noted(noted, fails=fails))
        scope["endpoint"] = "large"
        scopes.append(scope)
        noted.append("begins")
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if layer_fails:
                raise RuntimeError("unforeseen")
        finally:
            noted.append("layers are gone")

    guard = Guard(app, body_bytes_max=10, body_s_max=1, requests_max=1, version="1")
    with pytest.raises(RuntimeError) if layer_fails or fails else nullcontext():
        await ask(guard)
    assert noted == seen
    assert guard.under_way == 0
    assert ("endpoint" in scopes[0]) is layer_fails, "what layers leave is forgotten"


async def test_who_hangs_up_before_it_goes_on_is_let_go() -> None:
    noted: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        scope[AFTER].append(Noted(noted))
        await asyncio.Event().wait()

    guard = Guard(app, body_bytes_max=10, body_s_max=1, requests_max=1, version="1")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ask(guard)
    assert noted == ["lets go"]
