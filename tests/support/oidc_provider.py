"""A small real identity provider on localhost, honest unless a test tells it not to be."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import orjson
from aiohttp import web
from joserfc import jws, jwt
from joserfc.jwk import RSAKey

CLIENT_ID = "holdfast"
CLIENT_SECRET = "the client's secret"
REDIRECT = "https://holdfast.example/login/oidc/callback"

Change = Callable[[dict[str, Any]], None]


@dataclass
class Identity:
    subject: str = "subject-1"
    email: str = "grace@acme.example"
    email_verified: object = True
    name: str = "Grace"


@dataclass
class Grant:
    identity: Identity
    nonce: str
    challenge: str
    redirect_uri: str


@dataclass
class TestProvider:
    """What a test may bend: claims, header, key, the whole token, the documents."""

    __test__ = False
    issuer: str = ""
    now: Callable[[], float] = lambda: 0.0
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "k1"}))
    sign_with: RSAKey | bytes | None = None
    claims: Change | None = None
    header: Change | None = None
    whole: Callable[[str], str] | None = None
    document: Change | None = None
    token_answer: Change | None = None
    listed: list[dict[str, Any]] | None = None
    requests: list[str] = field(default_factory=list[str])
    _grants: dict[str, Grant] = field(default_factory=dict[str, Grant])

    def authorize(self, url: str, identity: Identity | None = None) -> dict[str, str]:
        """What the user agent does at the provider: log in, and come back with these parameters."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self._grants[code] = Grant(
            identity or Identity(), asked["nonce"], asked["code_challenge"], asked["redirect_uri"]
        )
        return {"code": code, "state": asked["state"], "iss": self.issuer}

    async def discover(self, _request: web.Request) -> web.Response:
        self.requests.append("discovery")
        document: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.document is not None:
            self.document(document)
        return web.json_response(document)

    async def keys(self, _request: web.Request) -> web.Response:
        self.requests.append("keys")
        listed = self.listed if self.listed is not None else [_public(self.key)]
        return web.json_response({"keys": listed})

    async def token(self, request: web.Request) -> web.Response:
        self.requests.append("token")
        form = await request.post()
        basic = base64.b64encode(f"{CLIENT_ID}:{quote_plus(CLIENT_SECRET)}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return web.json_response({"error": "invalid_client"}, status=401)
        grant = self._grants.pop(str(form["code"]), None)
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            grant is None
            or challenge != grant.challenge
            or form["redirect_uri"] != grant.redirect_uri
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        answer: dict[str, Any] = {"token_type": "Bearer", "id_token": self._id_token(grant)}
        if self.token_answer is not None:
            self.token_answer(answer)
        return web.json_response(answer)

    def _id_token(self, grant: Grant) -> str:
        now = int(self.now())
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": grant.identity.subject,
            "iat": now,
            "exp": now + 300,
            "nonce": grant.nonce,
            "email": grant.identity.email,
            "email_verified": grant.identity.email_verified,
            "name": grant.identity.name,
        }
        header: dict[str, Any] = {"alg": "RS256", "kid": "k1"}
        if self.claims is not None:
            self.claims(claims)
        if self.header is not None:
            self.header(header)
        key = self.sign_with or self.key
        if header["alg"] == "none":
            token = _unsigned(header, claims)
        elif isinstance(key, bytes):
            token = _unsigned(header, claims).rstrip(".")
            token += f".{_base64(hmac.digest(key, token.encode(), 'sha256'))}"
        else:
            registry = jws.JWSRegistry(algorithms=[header["alg"]])
            token = jwt.encode(header, claims, key, registry=registry)
        return token if self.whole is None else self.whole(token)


def _public(key: RSAKey) -> dict[str, Any]:
    return {**key.as_dict(private=False), "use": "sig"}


def _unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return f"{_base64(orjson.dumps(header))}.{_base64(orjson.dumps(claims))}."


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@asynccontextmanager
async def running_provider(now: Callable[[], float]) -> AsyncGenerator[TestProvider]:
    provider = TestProvider(now=now)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.discover)
    app.router.add_get("/keys", provider.keys)
    app.router.add_post("/token", provider.token)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        provider.issuer = f"http://{host}:{port}"
        yield provider
    finally:
        await runner.cleanup()
