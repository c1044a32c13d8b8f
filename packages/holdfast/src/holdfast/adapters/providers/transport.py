"""How bytes travel: an aiohttp session per kind of trust, HTTP/1.1, no redirects, no compression.

Addresses that a user may set go through the guarded session (`adapters/guarded.py`). Addresses that
an administrator set may be reached through a proxy; guarded ones never are.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from holdfast.adapters.guarded import guarded_connector
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.sigv4 import signed_headers
from holdfast.adapters.providers.types import AwsAuth, Endpoint, HeaderAuth, NoAuth, Request
from holdfast.domain.chat import ErrorKind
from holdfast_agent.addresses import is_public

CONNECTIONS_MAX: Final = 2_000
CONNECT_S: Final = 10.0
READ_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 64 * 1024
PORTS_ALLOWED: Final = frozenset({443, 8443})
USER_AGENT: Final = "holdfast"
_REFUSALS: Final = frozenset({401})
_AWS_REFUSALS: Final = frozenset({401, 403})
"""Statuses after which a credential that can be renewed is renewed, once. AWS says 403."""


@dataclass(frozen=True, slots=True)
class Transport:
    """The sessions, and the time of day (signatures and `Retry-After` dates need it)."""

    open: aiohttp.ClientSession
    guarded: aiohttp.ClientSession
    now: Callable[[], datetime]

    async def send(
        self, request: Request, endpoint: Endpoint, *, silence_s: float
    ) -> aiohttp.ClientResponse:
        """The response is open, of any status."""
        auth = endpoint.auth
        if isinstance(auth, NoAuth | HeaderAuth | AwsAuth):
            return await self._send(request, endpoint, silence_s)
        held = await auth.current(self.now())
        response = await self._send(request, replace(endpoint, auth=held), silence_s)
        if response.status not in (_AWS_REFUSALS if isinstance(held, AwsAuth) else _REFUSALS):
            return response
        try:
            renewed = await auth.renewed(held, self.now())
        except BaseException:
            response.close()
            raise
        if renewed == held:
            return response
        response.close()
        return await self._send(request, replace(endpoint, auth=renewed), silence_s)

    async def _send(
        self, request: Request, endpoint: Endpoint, silence_s: float
    ) -> aiohttp.ClientResponse:
        session = self.guarded if endpoint.guarded else self.open
        url = URL(request.url, encoded=True)
        if endpoint.guarded:
            _check_url(url)
        ask = session.get if request.method == "GET" else session.post
        try:
            return await ask(
                url,
                data=_in_pieces(request.body) or None,
                headers=authorised(request, endpoint, self.now()),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_S, sock_read=silence_s
                ),
                proxy=None if endpoint.guarded else endpoint.proxy,
            )
        except aiohttp.ClientHttpProxyError as error:
            # A gateway error may pass; a refusal (403, 407) needs a change of the settings.
            passing = error.status >= 500
            raise ProviderError(
                ErrorKind.UNAVAILABLE if passing else ErrorKind.CONFIG,
                f"the proxy refused to connect: {error.status} {error.message}",
                retryable=passing,
            ) from error


def _in_pieces(body: bytes) -> bytes | BytesIO:
    """What is large, as images are, is sent piece by piece, and others have their turns between
    them; what is not, in one with its headers."""
    return body if len(body) <= PIECE_BYTES else BytesIO(body)


def _check_url(url: URL) -> None:
    if url.scheme != "https" or url.port not in PORTS_ALLOWED or url.user or url.password:
        raise ProviderError(
            ErrorKind.CONFIG, "only https on ports 443 and 8443, without user", retryable=False
        )


def authorised(request: Request, endpoint: Endpoint, now: datetime) -> Mapping[str, str]:
    """The request's headers with the endpoint's credential."""
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": USER_AGENT,
        **request.headers,
    }
    auth = endpoint.auth
    match auth:
        case NoAuth():
            pass
        case HeaderAuth(name, secret, prefix):
            headers[name] = f"{prefix}{secret}"
        case AwsAuth():
            headers |= signed_headers(auth, request.url, request.body, now, request.method)
        case _:
            raise AssertionError("the transport takes the current credential first")
    return headers


@asynccontextmanager
async def open_transport(
    now: Callable[[], datetime],
    *,
    connections_max: int = CONNECTIONS_MAX,
    allowed: Callable[[str], bool] = is_public,
    resolver: AbstractResolver | None = None,
) -> AsyncGenerator[Transport]:
    """The transport of a process: share it, a session costs a TLS context."""
    async with (
        _session(aiohttp.TCPConnector(limit=connections_max)) as plain,
        _session(guarded_connector(connections_max, resolver, allowed)) as guarded,
    ):
        yield Transport(plain, guarded, now)
    # aiohttp closes transports in the loop's next round.
    await asyncio.sleep(0)


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,  # through a proxy from the environment the guard would see nothing
        auto_decompress=False,  # so that a small body cannot become a large one
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=READ_BYTES,
    )
