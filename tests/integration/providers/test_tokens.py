"""Credentials that end: renewed before their end, by one request at a time, and after a 401."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, auth_of
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.tokens import RenewingAuth, Secret, Token, TokenFailed
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.adapters.providers.types import AwsAuth, Endpoint, FixedAuth, HeaderAuth
from holdfast.domain.chat import ErrorKind
from holdfast_simulator.clock import Clock
from holdfast_simulator.server import Config, Simulator, running
from tests.support.model import NOW, WIRE_NAMES, call_for, user
from tests.support.servers import Peer, answer, serving
from tests.support.simulated import endpoint_at

MINUTE = timedelta(minutes=1)


def bearer(secret: Secret) -> FixedAuth:
    assert isinstance(secret, str)
    return HeaderAuth("authorization", secret, "Bearer ")


@dataclass
class Tokens:
    """A source that counts, and does as it is told."""

    lives: timedelta | None = timedelta(hours=1)
    asked: int = 0
    fails: TokenFailed | None = None
    gate: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def token(self, now: datetime) -> Token:
        self.asked += 1
        self.begun.set()
        number = self.asked
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return f"token-{number}", None if self.lives is None else now + self.lives


def secret_of(auth: FixedAuth) -> str:
    assert isinstance(auth, HeaderAuth)
    return auth.secret


@pytest.mark.parametrize(
    ("lives", "kept", "renewed"),
    [(60 * MINUTE, 54 * MINUTE, 55 * MINUTE), (4 * MINUTE, 1.9 * MINUTE, 2 * MINUTE)],
    ids=["five minutes before its end", "short-lived: at half its life"],
)
async def test_a_token_is_renewed_before_its_end(
    lives: timedelta, kept: timedelta, renewed: timedelta
) -> None:
    source = Tokens(lives)
    auth = RenewingAuth(source, bearer, "p")
    assert secret_of(await auth.current(NOW)) == "token-1"
    assert secret_of(await auth.current(NOW + kept)) == "token-1"
    assert secret_of(await auth.current(NOW + renewed)) == "token-2"
    assert auth.secrets == ("token-2",)
    assert "token-2" not in repr(await auth.current(NOW + renewed))


async def test_a_token_without_an_end_is_kept_until_it_is_refused() -> None:
    source = Tokens(None)
    auth = RenewingAuth(source, bearer, "p")
    held = await auth.current(NOW)
    assert await auth.current(NOW + timedelta(days=365)) == held
    assert secret_of(await auth.renewed(held, NOW)) == "token-2"
    assert secret_of(await auth.renewed(held, NOW)) == "token-2", "another request renewed it"
    assert source.asked == 2


async def test_requests_share_one_renewal_and_its_failure() -> None:
    source = Tokens(gate=asyncio.Event())
    assert source.gate is not None
    auth = RenewingAuth(source, bearer, "p")
    for fails in (None, TokenFailed("password=canary-4711", passing=True)):
        source.gate.clear()
        source.begun.clear()
        source.fails, source.asked = fails, 0
        late = NOW + timedelta(days=1) if fails else NOW
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(_outcome(auth, late)) for _ in range(50)]
            await source.begun.wait()
            source.gate.set()
        outcomes = {task.result() for task in asking}
        if fails is None:
            assert (outcomes, source.asked) == ({"token-1"}, 1)
        else:
            assert outcomes == {"auth: the token source failed: password=[redacted] (passing)"}
            assert source.asked == 1


async def _outcome(auth: RenewingAuth, now: datetime) -> str:
    try:
        return secret_of(await auth.current(now))
    except ProviderError as error:
        return f"{error} ({'passing' if error.retryable else 'final'})"


async def test_requests_go_on_with_the_old_token_while_one_renews_and_after_a_failure() -> None:
    source = Tokens()
    auth = RenewingAuth(source, bearer, "p")
    await auth.current(NOW)
    near = NOW + 56 * MINUTE
    source.gate, source.begun = asyncio.Event(), asyncio.Event()
    source.fails = TokenFailed("no route")
    async with asyncio.TaskGroup() as group:
        first = group.create_task(auth.current(near))
        await source.begun.wait()
        assert secret_of(await auth.current(near)) == "token-1", "does not wait"
        source.gate.set()
    assert secret_of(first.result()) == "token-1"
    await auth.current(near)
    assert source.asked == 2, "not asked again at once"
    with pytest.raises(ProviderError, match="no route"):
        await auth.current(NOW + 60 * MINUTE)
    source.fails = None
    assert secret_of(await auth.current(NOW + 60 * MINUTE)) == "token-4"


async def test_a_request_that_is_cancelled_leaves_the_renewal_to_the_next() -> None:
    source = Tokens(gate=asyncio.Event())
    assert source.gate is not None
    auth = RenewingAuth(source, bearer, "p")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await auth.current(NOW)
    source.gate.set()
    assert isinstance(await auth.current(NOW), HeaderAuth)


# Against the simulator, whose keys end when they say so.


@dataclass
class Epoch:
    """The clock of both sides."""

    at: datetime = NOW
    issued: list[str] = field(default_factory=list[str])

    def now(self) -> datetime:
        return self.at

    async def token(self, now: datetime) -> Token:
        """Tokens that say nothing of their end to us, and live for an hour at the provider."""
        ends = int((self.at + timedelta(hours=1)).timestamp())
        self.issued.append(f"sim-until-{ends}")
        return self.issued[-1], None


@asynccontextmanager
async def simulated(epoch: Epoch) -> AsyncGenerator[tuple[Simulator, Transport]]:
    clock = Clock(wall_s=lambda: epoch.now().timestamp(), mono_s=lambda: 0.0)
    async with running(Config(clock=clock)) as simulator, open_transport(epoch.now) as transport:
        yield simulator, transport


async def said(transport: Transport, endpoint: Endpoint) -> Any:
    async with (
        asyncio.timeout(60),
        ProviderStream(transport, endpoint, call_for(endpoint.wire, [user("Hi")])) as stream,
    ):
        return [event async for event in stream]


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_401_renews_the_token_and_repeats_the_request_once(wire: str) -> None:
    epoch = Epoch()
    async with simulated(epoch) as (simulator, transport):
        auth = RenewingAuth(epoch, bearer, "p")
        endpoint = replace(endpoint_at(simulator.url, wire), auth=auth)
        assert await said(transport, endpoint)
        epoch.at += timedelta(hours=2)
        assert await said(transport, endpoint)
        assert [entry.status for entry in simulator.record] == [200, 401, 200]
        assert len(epoch.issued) == 2


async def test_a_token_that_stays_refused_is_an_error_and_not_a_loop() -> None:
    epoch = Epoch(at=NOW)
    async with simulated(epoch) as (simulator, transport):
        gone = int(NOW.timestamp()) - 1
        tokens = iter((f"sim-until-{gone}", f"sim-until-{gone - 1}", "never"))

        class Stale:
            async def token(self, now: datetime) -> Token:
                return next(tokens), None

        auth = RenewingAuth(Stale(), bearer, "p")
        endpoint = replace(endpoint_at(simulator.url, "chat"), auth=auth)
        with pytest.raises(ProviderError) as caught:
            await said(transport, endpoint)
        assert (caught.value.kind, caught.value.retryable) == (ErrorKind.AUTH, False)
        assert [entry.status for entry in simulator.record] == [401, 401]


async def test_a_source_without_a_token_is_an_error_that_names_the_provider() -> None:
    async with open_transport(lambda: NOW) as transport:
        source = Tokens(fails=TokenFailed("the token program 'x' ended with status 1: no"))
        endpoint = replace(
            endpoint_at("http://127.0.0.1:1", "chat"), auth=RenewingAuth(source, bearer, "p")
        )
        with pytest.raises(ProviderError) as caught:
            await said(transport, endpoint)
    error = caught.value
    assert (error.kind, error.retryable, error.title) == (ErrorKind.AUTH, False, "The simulator")
    assert "ended with status 1" in error.detail


async def test_renewed_aws_keys_sign_the_request_and_403_renews_them() -> None:
    signed: list[str] = []

    async def refuse_the_first(peer: Peer) -> None:
        head = peer.head.decode()
        signed.append(head.partition("Credential=")[2].partition("/")[0])
        status = "403 Forbidden" if signed[-1] == "AKID1" else "400 Bad Request"
        await peer.send(answer(status, b"{}"))

    class Keys:
        asked = 0

        async def token(self, now: datetime) -> Token:
            self.asked += 1
            return AwsKeys(f"AKID{self.asked}", f"secret-{self.asked}", "us-east-1"), None

    vendor = VENDORS["bedrock-anthropic"]
    auth = RenewingAuth(Keys(), lambda secret: auth_of(vendor, secret), "p")
    async with serving(refuse_the_first) as server, open_transport(lambda: NOW) as transport:
        endpoint = Endpoint(vendor="v", wire="anthropic", base_url=server.url, auth=auth)
        with pytest.raises(ProviderError) as caught:
            await said(transport, endpoint)
    assert signed == ["AKID1", "AKID2"]
    assert caught.value.status == 400
    assert isinstance(await auth.current(datetime(2027, 1, 1, tzinfo=UTC)), AwsAuth)
    assert endpoint.secrets == ("secret-2",)
    assert "secret-2" not in repr(endpoint)
