"""`web_fetch` reads public pages and nothing else, whatever the server answers."""

import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from holdfast.adapters.http_client.web_pages import HttpWebPages, PageLimits, open_web_pages
from holdfast.ports.web_pages import PageRefused
from tests.support.servers import Handler, Peer, RawServer, answer, serving

HTML = b"""<html><head><title>Tides</title><script>steal()</script></head><body>
<h1>Tides &amp; kelp</h1><p>Low at <b>06:12</b>, see <a href="/table">the table</a>.</p>
<ul><li>neap</li><li>spring</li></ul></body></html>"""
PAGE = "content-type: text/html; charset=utf-8"


def ours(address: str) -> bool:
    return address == "127.0.0.1"


@asynccontextmanager
async def pages_of(
    handler: Handler, *, body_bytes_max: int = 100_000, total_s: float = 30.0
) -> AsyncGenerator[tuple[RawServer, HttpWebPages]]:
    async with serving(handler) as server:
        limits = PageLimits(
            ports=frozenset({server.port}), body_bytes_max=body_bytes_max, total_s=total_s
        )
        async with open_web_pages(limits, allowed=ours) as pages:
            yield server, pages


def says(status: str, body: bytes, *headers: str) -> Handler:
    async def handle(peer: Peer) -> None:
        await peer.send(answer(status, body, *headers))

    return handle


async def refusal_of(handler: Handler, *, body_bytes_max: int = 100_000) -> str:
    async with pages_of(handler, body_bytes_max=body_bytes_max) as (server, pages):
        with pytest.raises(PageRefused) as refused:
            await pages.read(server.url)
        return str(refused.value)


async def test_html_becomes_markdown_without_scripts() -> None:
    async with pages_of(says("200 OK", HTML, PAGE)) as (server, pages):
        page = await pages.read(server.url)
    assert "# Tides & kelp" in page.text
    assert "Low at **06:12**, see [the table](/table)." in page.text
    assert "- neap" in page.text
    assert "steal" not in page.text


async def test_text_is_returned_as_it_is_in_its_charset() -> None:
    kind = "content-type: text/plain; charset=latin-1"
    async with pages_of(says("200 OK", "Möwe <b>".encode("latin-1"), kind)) as (server, pages):
        assert (await pages.read(server.url)).text == "Möwe <b>"


async def test_compressed_page_is_read() -> None:
    packed = says("200 OK", gzip.compress(HTML), PAGE, "content-encoding: gzip")
    async with pages_of(packed) as (server, pages):
        assert "Tides & kelp" in (await pages.read(server.url)).text


async def test_compressed_page_is_bounded_by_what_it_becomes() -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    assert len(bomb) < 100_000
    told = await refusal_of(says("200 OK", bomb, PAGE, "content-encoding: gzip"))
    assert "larger than" in told


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (says("200 OK", b"x" * 100_001, PAGE), "larger than"),
        (says("404 Not Found", b"", PAGE), "404 Not Found"),
        (says("200 OK", b"%PDF", "content-type: application/pdf"), "application/pdf"),
        (says("200 OK", b"x", PAGE, "content-encoding: br"), "encoding br"),
        (says("200 OK", b"no gzip", PAGE, "content-encoding: gzip"), "damaged"),
        (says("302 Found", b"", "location: ftp://a.example/"), "http and https"),
        (says("302 Found", b"", "location: https://a.example:22/"), "ports"),
        (says("302 Found", b"", "location: /again"), "More than 5 redirects"),
    ],
)
async def test_other_answers_are_refused_in_words(handler: Handler, words: str) -> None:
    assert words in await refusal_of(handler)


async def test_server_that_stays_silent_is_given_up() -> None:
    async def silent(peer: Peer) -> None:
        await peer.gone()

    async with pages_of(silent, total_s=0.2) as (server, pages):
        with pytest.raises(PageRefused, match="No answer within"):
            await pages.read(server.url)


async def test_redirect_to_a_private_address_is_refused() -> None:
    """The guard sees every address of the way, not only the first one."""
    async with serving(says("200 OK", b"secret", "content-type: text/plain")) as inner:
        away = says("302 Found", b"", f"location: http://127.0.0.2:{inner.port}/")
        async with serving(away) as server:
            limits = PageLimits(ports=frozenset({server.port, inner.port}))
            async with open_web_pages(limits, allowed=ours) as pages:
                with pytest.raises(PageRefused, match="not a public one"):
                    await pages.read(server.url)
        assert inner.connections == 0


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://localhost/"],
)
async def test_private_addresses_are_refused_by_default(url: str) -> None:
    async with open_web_pages() as pages:
        with pytest.raises(PageRefused, match="not a public one"):
            await pages.read(url)


@pytest.mark.parametrize(
    "url",
    ["", "tides", "ftp://a.example", "file:///etc/passwd", "https://u:p@a.example", "http://["],
)
async def test_wrong_addresses_are_refused(url: str) -> None:
    async with open_web_pages() as pages:
        with pytest.raises(PageRefused):
            await pages.read(url)
