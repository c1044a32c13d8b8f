"""Small HTTP requests: no redirects, no compression, no proxy from the environment, all bounded.

The addresses come from the operator's settings, not from users: an identity provider may well live
in the operator's own network, so that private addresses are let through here.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

import aiohttp

from holdfast.domain.errors import Unavailable
from holdfast.ports.fetching import Fetched

HEADERS: Final = {"accept": "application/json", "accept-encoding": "identity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    total_s: float = 10.0
    body_bytes_max: int = 1024 * 1024
    connections_max: int = 16


class HttpFetching:
    def __init__(self, client: aiohttp.ClientSession, options: FetchOptions) -> None:
        self._client = client
        self._options = options

    async def get(self, url: str) -> Fetched:
        return await self._send("GET", url)

    async def post_form(
        self, url: str, form: Mapping[str, str], *, basic: tuple[str, str] | None = None
    ) -> Fetched:
        return await self._send("POST", url, data=form, headers=_basic(basic))

    async def _send(
        self,
        method: str,
        url: str,
        *,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        try:
            async with (
                asyncio.timeout(self._options.total_s),
                self._client.request(
                    method,
                    url,
                    data=data,
                    headers={**HEADERS, **(headers or {})},
                    allow_redirects=False,
                ) as response,
            ):
                body = await self._body(response)
                return Fetched(response.status, body)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            # The kind only: an error's text may hold an address with a secret in it.
            raise Unavailable(f"no answer to a request: {type(error).__name__}") from error

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("an answer with a content encoding that was not requested")
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > self._options.body_bytes_max:
                raise ValueError("an answer without end")
        return bytes(body)


def _basic(basic: tuple[str, str] | None) -> Mapping[str, str]:
    """As OAuth wants it: both encoded like a form before they are joined (RFC 6749, 2.3.1)."""
    if basic is None:
        return {}
    joined = ":".join(quote_plus(each) for each in basic)
    return {"authorization": f"Basic {base64.b64encode(joined.encode()).decode()}"}


@asynccontextmanager
async def open_fetching(options: FetchOptions | None = None) -> AsyncGenerator[HttpFetching]:
    options = options or FetchOptions()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=options.connections_max),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    ) as client:
        yield HttpFetching(client, options)
