"""Pictures: those of hosts that an administrator named are shown, all others are links."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from struct import pack

import pytest
from aiohttp import web
from playwright.async_api import Browser, expect

from tests.support.browser import PATIENCE_MS, a_site_of_its_own, open_tab
from tests.support.reading import shifted

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(19)]

SIDE = 120


def a_picture() -> bytes:
    """A grey square, as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * SIDE) * SIDE
    head = pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    packed = zlib.compress(rows)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", head), chunk(b"IDAT", packed), chunk(b"IEND", b""))
    )


async def certified(folder: Path) -> ssl.SSLContext:
    """For localhost, by nobody."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    process = await asyncio.create_subprocess_exec(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@asynccontextmanager
async def a_host(folder: Path) -> AsyncGenerator[tuple[int, list[web.Request]]]:
    """Its port, and all that it was asked for."""
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        if request.path == "/away.png":
            away = f"https://127.0.0.1:{request.url.port}/kelp.png"
            return web.Response(status=302, headers={"location": away})
        return web.Response(body=a_picture(), content_type="image/png")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=await certified(folder))
    await site.start()
    try:
        yield runner.addresses[0][1], asked
    finally:
        await runner.cleanup()


async def test_only_pictures_of_hosts_that_were_named_are_fetched_and_nothing_moves(
    browser: Browser, template: str, tmp_path: Path
) -> None:
    context = await browser.new_context(
        viewport={"width": 1280, "height": 2000}, ignore_https_errors=True
    )
    async with (
        a_host(tmp_path) as (port, asked),
        a_site_of_its_own(template, image_hosts=f"localhost:{port}") as site,
    ):
        shown, stranger = f"https://localhost:{port}/kelp.png", f"https://127.0.0.1:{port}/kelp.png"
        tab = await open_tab(context, site)
        await tab.sign_in()
        chat_id = await tab.new_chat('[[sim: say "Hello."]]')
        await tab.settled()
        said = f"![shown]({shown})\\n\\n![strange]({stranger})\\n\\nBelow them."
        async with shifted(tab.page) as shifts:
            await site.admin.post(
                f"chats/{chat_id}/messages", {"text": f'[[sim: say "{said}" | rate=40]]'}
            )
            picture = tab.page.get_by_role("log").get_by_role("img", name="shown")
            await expect(picture).to_have_count(2)  # in the question and in its answer
            await expect(picture.last).to_have_js_property(
                "naturalWidth", SIDE, timeout=PATIENCE_MS
            )
            await tab.settled()
        assert sum(each["value"] for each in shifts) < 0.005, shifts
        link = tab.page.get_by_role("log").get_by_role("link", name="Image “strange”")
        await expect(link.last).to_have_attribute("href", stranger)
        assert {request.path for request in asked} == {"/kelp.png"}
        assert {request.host for request in asked} == {f"localhost:{port}"}
        assert not any("referer" in request.headers for request in asked)
        assert set(tab.foreign) == {shown}
        tab.foreign.clear()
        tab.content()

        tab.excused = "against the policy: img-src"
        await site.admin.post(
            f"chats/{chat_id}/messages",
            {"text": f'[[sim: say "![away](https://localhost:{port}/away.png) Gone."]]'},
        )
        await expect(tab.page.get_by_role("log").get_by_text("Gone.").last).to_be_visible()
        await tab.settled()
        await tab.page.wait_for_function(
            "() => document.querySelector('img[alt=away]')?.complete === true"
        )
        assert {request.host for request in asked} == {f"localhost:{port}"}
        assert "/away.png" in {request.path for request in asked}
        assert any(tab.excused in each for each in tab.complaints), "the browser refused it"
        tab.foreign.clear()
        await context.close()
