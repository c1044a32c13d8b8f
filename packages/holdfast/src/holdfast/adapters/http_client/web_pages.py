"""Web pages that a model asks for: public addresses only, everything bounded.

A redirect is checked like the first address. The body is decompressed here, up to its limit, so
that a small answer cannot become a large one. HTML becomes Markdown in a thread:
a page of the largest size takes a second or two.
"""

import asyncio
import codecs
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver
from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from yarl import URL

from holdfast.adapters.guarded import AddressRefused, guarded_connector
from holdfast.ports.web_pages import PageRefused, WebPage
from holdfast_agent.addresses import is_public

PORTS: Final = frozenset({80, 443, 8080, 8443})
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
TEXT: Final = frozenset({"application/json", "application/xml", "application/javascript"})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
HEADERS: Final = {
    "accept": "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "gzip",
    "user-agent": "holdfast",
}
MARKDOWN: Final = ConversionOptions(preprocessing=PreprocessingOptions(enabled=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    total_s: float = 30.0
    body_bytes_max: int = 5 * 1024 * 1024
    redirects_max: int = 5
    connections_max: int = 16
    ports: frozenset[int] = PORTS


class HttpWebPages:
    def __init__(self, client: aiohttp.ClientSession, limits: PageLimits) -> None:
        self._client = client
        self._limits = limits

    async def read(self, url: str) -> WebPage:
        try:
            async with asyncio.timeout(self._limits.total_s):
                return await self._follow(url)
        except TimeoutError:
            raise PageRefused(f"No answer within {self._limits.total_s:g} seconds.") from None
        except AddressRefused:
            raise _not_public() from None
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, AddressRefused):
                raise _not_public() from None
            raise PageRefused(
                f"The server could not be reached: {type(error).__name__}."
            ) from error

    async def _follow(self, url: str) -> WebPage:
        address = self._checked(url)
        for _ in range(self._limits.redirects_max + 1):
            async with self._client.get(
                address, headers=HEADERS, allow_redirects=False
            ) as response:
                target = response.headers.get("location")
                if response.status not in REDIRECTS or target is None:
                    return await self._page(address, response)
                address = self._checked(str(address.join(URL(target))))
        raise PageRefused(f"More than {self._limits.redirects_max} redirects.")

    def _checked(self, url: str) -> URL:
        try:
            address = URL(url)
        except ValueError:
            raise PageRefused(f"{url!r} is not a URL.") from None
        if address.scheme not in ("http", "https") or not address.host:
            raise PageRefused("Only http and https addresses can be read. Give a whole URL.")
        if address.port not in self._limits.ports or address.user or address.password:
            raise PageRefused("Only the ports 80, 443, 8080 and 8443 are allowed, and no user.")
        return address

    async def _page(self, address: URL, response: aiohttp.ClientResponse) -> WebPage:
        if response.status != 200:
            raise PageRefused(f"The server answered {response.status} {response.reason}.")
        kind = response.content_type
        if kind not in HTML | TEXT and not kind.startswith("text/"):
            raise PageRefused(f"The content is {kind}. Only web pages and text can be read.")
        text = _decoded(await self._body(response), response.charset)
        if kind in HTML:
            text = await asyncio.to_thread(_markdown, text)
        return WebPage(str(address), kind, text)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        most = self._limits.body_bytes_max
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise PageRefused(f"The content encoding {encoding} cannot be read.")
        unpack = None if encoding == "identity" else zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        body = bytearray()
        try:
            async for piece in response.content.iter_any():
                body += piece if unpack is None else unpack.decompress(piece, most - len(body) + 1)
                if len(body) > most:
                    raise PageRefused(f"The page is larger than {most // 2**20} MB.")
        except zlib.error:
            raise PageRefused("The compressed content is damaged.") from None
        return bytes(body)


def _not_public() -> PageRefused:
    return PageRefused("The address is not a public one. Only public web pages can be read.")


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        codec = codecs.lookup(charset or "utf-8")
    except LookupError:
        codec = codecs.lookup("utf-8")
    return codec.decode(body, "replace")[0]


def _markdown(html: str) -> str:
    return (convert(html, MARKDOWN).content or "").strip()


@asynccontextmanager
async def open_web_pages(
    limits: PageLimits | None = None,
    *,
    allowed: Callable[[str], bool] = is_public,
    resolver: AbstractResolver | None = None,
) -> AsyncGenerator[HttpWebPages]:
    limits = limits or PageLimits()
    async with aiohttp.ClientSession(
        connector=guarded_connector(limits.connections_max, resolver, allowed),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,  # a proxy from the environment would hide the address from the guard
    ) as client:
        yield HttpWebPages(client, limits)
