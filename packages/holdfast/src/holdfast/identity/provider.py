"""An identity provider, as its discovery document describes it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

import orjson

from holdfast.domain.denials import OidcRefused
from holdfast.domain.errors import Unavailable
from holdfast.identity.id_token import ALGORITHMS, PublicKey, key_id_of, public_keys
from holdfast.identity.sharing import SharedFetch, ShareOptions
from holdfast.ports.fetching import Fetched, Fetching

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Who vouches, and as whom we are known there. `http_on_loopback`: for development only."""

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    redirect_uri: str
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    algorithms: tuple[str, ...] = ALGORITHMS
    metadata_ttl_s: float = 3600.0
    keys_every_s: float = 30.0
    """How often an unknown key may make us ask for the keys again."""
    http_on_loopback: bool = False
    share: ShareOptions = field(default_factory=ShareOptions)
    exchanges_max: int = 50
    """Codes that may be under way to the provider at once, as each holds a place of a request."""

    def __post_init__(self) -> None:
        assert "openid" in self.scopes
        assert self.algorithms, "without an algorithm nothing can be signed"
        assert set(self.algorithms) <= set(ALGORITHMS), "only algorithms with a public key"


@dataclass(frozen=True, slots=True)
class Metadata:
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    names_itself: bool
    """It says who answers (RFC 9207), and so must every answer."""


class Provider:
    """Metadata and keys are kept for a while. Callers that find them missing share one fetch, and
    its failure (L130). What a provider that hangs can hold is bounded."""

    def __init__(self, fetching: Fetching, options: ProviderOptions) -> None:
        self._fetching = fetching
        self.options = options
        self._metadata: tuple[Metadata, float] | None = None
        self._keys: tuple[dict[str, PublicKey], float] | None = None
        self._fetched_metadata = SharedFetch(self._fetch_metadata, options.share)
        self._fetched_keys = SharedFetch(self._fetch_keys, options.share)
        self._exchanges = 0

    async def metadata(self) -> Metadata:
        """Metadata that cannot be fetched anew is used on."""
        now = asyncio.get_running_loop().time()
        if self._metadata is not None and now < self._metadata[1]:
            return self._metadata[0]
        try:
            return await self._fetched_metadata.get()
        except Unavailable:
            if self._metadata is None:
                raise
            return self._metadata[0]

    async def _fetch_metadata(self) -> Metadata:
        url = f"{self.options.issuer.rstrip('/')}/.well-known/openid-configuration"
        self._check_url(url)
        metadata = self._described(_json(await self._fetching.get(url)))
        now = asyncio.get_running_loop().time()
        self._metadata = metadata, now + self.options.metadata_ttl_s
        return metadata

    def _described(self, document: dict[str, Any]) -> Metadata:
        if document.get("issuer") != self.options.issuer:
            raise OidcRefused("issuer", "the discovery document is of another issuer")
        methods = document.get("code_challenge_methods_supported")
        if isinstance(methods, list) and "S256" not in methods:
            raise OidcRefused("provider", "it does not know PKCE with S256")
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        urls = [document.get(name) for name in names]
        for url in urls:
            self._check_url(url)
        return Metadata(
            *cast("list[str]", urls),
            names_itself=document.get("authorization_response_iss_parameter_supported") is True,
        )

    async def key_for(self, token: str) -> PublicKey:
        """The key that signed this token, by its id; asks again for one that is new."""
        key_id = key_id_of(token)
        now = asyncio.get_running_loop().time()
        keys, fetched_at = self._keys or ({}, None)
        old = fetched_at is None or now >= fetched_at + self.options.metadata_ttl_s
        missing = key_id not in keys and (
            fetched_at is None or now >= fetched_at + self.options.keys_every_s
        )
        if old or missing:
            # Before, not within: metadata that does not come must not use up the keys' time.
            await self.metadata()
            keys = await self._fetched_keys.get()
        key = keys.get(key_id)
        if key is None:
            raise OidcRefused("token", "signed with a key that the issuer does not list")
        return key

    async def _fetch_keys(self) -> dict[str, PublicKey]:
        assert self._metadata is not None, "the caller has asked for it"
        now = asyncio.get_running_loop().time()
        keys = public_keys(_json(await self._fetching.get(self._metadata[0].jwks_uri)))
        self._keys = keys, now
        return keys

    async def exchange(self, code: str, verifier: str) -> str:
        """The id_token for a code."""
        metadata = await self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.options.redirect_uri,
            "code_verifier": verifier,
            "client_id": self.options.client_id,
        }
        secret = self.options.client_secret
        basic = None if secret is None else (self.options.client_id, secret)
        if self._exchanges >= self.options.exchanges_max:
            raise Unavailable("too many requests wait for the identity provider")
        self._exchanges += 1
        try:
            said = await self._fetching.post_form(metadata.token_endpoint, form, basic=basic)
        finally:
            self._exchanges -= 1
        answer = _json(said)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise OidcRefused("provider", "no id_token in the answer")
        return token

    def _check_url(self, url: object) -> None:
        parts = urlsplit(url) if isinstance(url, str) else None
        local = (
            parts is not None
            and self.options.http_on_loopback
            and parts.scheme == "http"
            and parts.hostname in _LOOPBACK
        )
        if parts is None or not (local or (parts.scheme == "https" and parts.hostname)):
            raise OidcRefused("provider", "an address that is not https")
        if parts.username is not None or parts.password is not None:
            raise OidcRefused("provider", "an address with a user in it")


def _json(fetched: Fetched) -> dict[str, Any]:
    if fetched.status >= 500:
        raise Unavailable(f"the identity provider answered {fetched.status}")
    if fetched.status != 200:
        raise OidcRefused("provider", f"it answered {fetched.status}")
    try:
        value = orjson.loads(fetched.body)
    except ValueError as error:
        raise OidcRefused("provider", "it answered with what is no JSON") from error
    if not isinstance(value, dict):
        raise OidcRefused("provider", "it answered with what is no object")
    return cast("dict[str, Any]", value)
