"""An identity provider that hangs or fails costs one fetch, and a bounded number of requests."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson
import pytest

from holdfast.domain.denials import OidcRefused
from holdfast.domain.errors import Unavailable
from holdfast.identity.provider import Metadata, Provider, ProviderOptions
from holdfast.identity.sharing import ShareOptions
from holdfast.ports.fetching import Fetched
from tests.requirements import requirement
from tests.support.virtual import run_virtually
from tests.support.waits import HANG_S

ISSUER = "https://issuer.example"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}
OPTIONS = ProviderOptions(
    issuer=ISSUER,
    client_id="holdfast",
    redirect_uri="https://holdfast.example/back",
    share=ShareOptions(wait_s=HANG_S, waiters_max=20, failure_s=HANG_S),
    exchanges_max=2,
)


@dataclass
class Hanging:
    """Answers once `go` is set, with `status`; fails while `fails`."""

    fails: bool = False
    status: int = 200
    fetches: int = 0
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, url: str) -> Fetched:
        del url
        return await self._answer(orjson.dumps(DOCUMENT))

    async def post_form(
        self, url: str, form: Mapping[str, str], *, basic: tuple[str, str] | None = None
    ) -> Fetched:
        del url, form, basic
        return await self._answer(b'{"id_token": "x"}')

    async def _answer(self, body: bytes) -> Fetched:
        self.fetches += 1
        self.asked.set()
        await self.go.wait()
        if self.fails:
            raise Unavailable("no answer")
        return Fetched(self.status, body)


def ask(provider: Provider, number: int) -> "list[asyncio.Task[Metadata]]":
    return [asyncio.create_task(provider.metadata()) for _ in range(number)]


@requirement("L130")
async def test_concurrent_requests_share_one_fetch() -> None:
    fetching = Hanging()
    asking = ask(Provider(fetching, OPTIONS), 20)
    await fetching.asked.wait()
    fetching.go.set()
    answers = await asyncio.wait_for(asyncio.gather(*asking), HANG_S)
    assert {answer.jwks_uri for answer in answers} == {f"{ISSUER}/keys"}
    assert fetching.fetches == 1


async def test_requests_past_the_bound_are_refused_at_once() -> None:
    fetching = Hanging()
    provider = Provider(fetching, OPTIONS)
    asking = ask(provider, 20)
    await fetching.asked.wait()
    with pytest.raises(Unavailable):
        await asyncio.wait_for(provider.metadata(), HANG_S)
    assert not any(each.done() for each in asking)
    fetching.go.set()
    await asyncio.wait_for(asyncio.gather(*asking), HANG_S)
    assert (await provider.metadata()).jwks_uri == f"{ISSUER}/keys"


async def test_a_failure_is_remembered_and_then_forgotten() -> None:
    fetching = Hanging(fails=True)
    fetching.go.set()
    provider = Provider(fetching, OPTIONS)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await provider.metadata()
    assert fetching.fetches == 1

    forgetful = replace(OPTIONS, share=replace(OPTIONS.share, failure_s=0.0))
    provider = Provider(fetching, forgetful)
    with pytest.raises(Unavailable):
        await provider.metadata()
    fetching.fails = False
    assert (await provider.metadata()).jwks_uri == f"{ISSUER}/keys"


@requirement("L130")
async def test_a_request_that_is_cancelled_fails_no_other() -> None:
    fetching = Hanging()
    first, second = ask(Provider(fetching, OPTIONS), 2)
    await fetching.asked.wait()
    first.cancel()
    await asyncio.wait({first})
    fetching.go.set()
    assert (await asyncio.wait_for(second, HANG_S)).jwks_uri == f"{ISSUER}/keys"


async def test_a_fetch_that_takes_too_long_is_a_failure_for_the_next_request() -> None:
    fetching = Hanging()
    impatient = replace(OPTIONS, share=replace(OPTIONS.share, wait_s=0.0))
    provider = Provider(fetching, impatient)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await asyncio.wait_for(provider.metadata(), HANG_S)
    assert fetching.fetches <= 1


async def test_expired_metadata_is_used_while_a_refresh_fails() -> None:
    fetching = Hanging()
    fetching.go.set()
    provider = Provider(fetching, replace(OPTIONS, metadata_ttl_s=0.0))
    known = await provider.metadata()
    fetching.fails = True
    assert await provider.metadata() == known
    assert fetching.fetches == 2


async def test_codes_that_wait_for_the_provider_are_bounded() -> None:
    fetching = Hanging()
    provider = Provider(fetching, OPTIONS)
    fetching.go.set()
    await provider.metadata()
    fetching.go.clear()
    exchanging = [asyncio.create_task(provider.exchange("code", "v")) for _ in range(2)]
    async with asyncio.timeout(HANG_S):
        while fetching.fetches < 3:  # noqa: ASYNC110
            await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(provider.exchange("code", "v"), HANG_S)
    fetching.go.set()
    assert await asyncio.wait_for(asyncio.gather(*exchanging), HANG_S) == ["x", "x"]
    assert await provider.exchange("code", "v") == "x"


async def test_metadata_is_used_on_while_the_provider_answers_5xx() -> None:
    fetching = Hanging()
    fetching.go.set()
    provider = Provider(fetching, replace(OPTIONS, metadata_ttl_s=0.0))
    known = await provider.metadata()
    fetching.status = 503
    assert await provider.metadata() == known
    assert fetching.fetches == 2


async def test_a_provider_that_answers_5xx_is_away_and_has_refused_nothing() -> None:
    fetching = Hanging(status=502)
    fetching.go.set()
    with pytest.raises(Unavailable, match="502"):
        await Provider(fetching, OPTIONS).metadata()


@dataclass
class SilentAboutItself(Hanging):
    """Describes itself once, and then no more; its keys it tells."""

    async def get(self, url: str) -> Fetched:  # pyright: ignore[reportImplicitOverride]
        if url.endswith("/keys"):
            return Fetched(200, b'{"keys": []}')
        if self.fetches:
            await asyncio.Event().wait()
        return await self._answer(orjson.dumps(DOCUMENT))


def test_metadata_that_does_not_come_leaves_the_keys_their_time() -> None:
    async def story() -> None:
        fetching = SilentAboutItself()
        fetching.go.set()
        share = replace(OPTIONS.share, wait_s=5.0)
        provider = Provider(fetching, replace(OPTIONS, metadata_ttl_s=0.0, share=share))
        await provider.metadata()
        token = ".".join(
            b64encode(each).decode().rstrip("=") for each in (b'{"alg":"RS256"}', b"{}", b"sign")
        )
        with pytest.raises(OidcRefused) as refused:
            await provider.key_for(token)
        assert "does not list" in refused.value.detail  # so the keys were read

    run_virtually(story())
