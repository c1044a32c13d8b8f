"""Small requests: bounded, straight, uncompressed."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from holdfast.adapters.http_client.http import FetchOptions, open_fetching
from holdfast.domain.errors import Unavailable


@dataclass
class Site:
    url: str = ""
    seen: list[str] = field(default_factory=list[str])


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    site = Site()

    async def answer(request: web.Request) -> web.StreamResponse:
        site.seen.append(f"{request.method} {request.path} {request.headers['accept-encoding']}")
        match request.path:
            case "/moved":
                return web.Response(status=302, headers={"location": "/plain"})
            case "/packed":
                response = web.Response(body=b"x" * 1000)
                response.enable_compression(web.ContentCoding.gzip)
                return response
            case "/endless":
                stream = web.StreamResponse()
                await stream.prepare(request)
                for _ in range(1000):
                    await stream.write(b"x" * 1000)
                return stream
            case "/hangs":
                await asyncio.sleep(30)
            case "/form":
                form = await request.post()
                return web.Response(text=f"{form['a']} {request.headers.get('authorization')}")
            case _:
                pass
        return web.Response(text="plain")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield site
    await runner.cleanup()


async def test_a_body_is_fetched_and_a_form_is_sent(site: Site) -> None:
    async with open_fetching() as fetching:
        fetched = await fetching.get(f"{site.url}/plain")
        assert (fetched.status, fetched.body) == (200, b"plain")
        sent = await fetching.post_form(f"{site.url}/form", {"a": "b&c"}, basic=("id", "s:é"))
        assert sent.body == b"b&c Basic aWQ6cyUzQSVDMyVBOQ=="
        assert (await fetching.post_form(f"{site.url}/form", {"a": "b"})).body == b"b None"
    assert site.seen[0] == "GET /plain identity"


async def test_nobody_is_followed_elsewhere(site: Site) -> None:
    async with open_fetching() as fetching:
        assert (await fetching.get(f"{site.url}/moved")).status == 302
    assert len(site.seen) == 1


@pytest.mark.parametrize("path", ["/packed", "/endless", "/hangs"])
async def test_what_has_no_end_or_is_packed_is_refused(site: Site, path: str) -> None:
    total_s = 0.5 if path == "/hangs" else 60.0
    options = FetchOptions(total_s=total_s, body_bytes_max=10_000)
    async with open_fetching(options) as fetching:
        with pytest.raises(Unavailable):
            await fetching.get(f"{site.url}{path}")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "not a url", "ftp://127.0.0.1/"])
async def test_what_cannot_be_reached_is_unavailable(url: str) -> None:
    async with open_fetching() as fetching:
        with pytest.raises(Unavailable):
            await fetching.get(url)
