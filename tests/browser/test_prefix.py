"""The page under a path prefix that a real nginx takes off, with its usual buffering."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from holdfast_lab.chaos.stage.folders import short_folder
from holdfast_lab.chaos.stage.ports import quiet_port
from holdfast_simulator.server import Config, running
from tests.support.browser import PATIENCE_MS, Site, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.replica import Replicas

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.ui_item(21),
    pytest.mark.skipif(not Path(NGINX).exists(), reason="nginx is not installed"),
]


def configuration(folder: Path, port: int, server: int) -> str:
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""
        daemon off; pid {folder}/pid; error_log stderr;
        events {{}}
        http {{ access_log off; {temporary}
        map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
        server {{ listen 127.0.0.1:{port};
            location /deep/down/ {{
                proxy_pass http://127.0.0.1:{server}/;
                proxy_http_version 1.1;
                proxy_set_header Upgrade $http_upgrade;
                proxy_set_header Connection $connection_upgrade;
            }}
        }} }}"""


@asynccontextmanager
async def behind_nginx(site: Site, port: int) -> AsyncGenerator[Site]:
    with short_folder() as folder:
        (folder / "nginx.conf").write_text(configuration(folder, port, site.port))
        process = await asyncio.create_subprocess_exec(
            *(NGINX, "-e", "stderr", "-c", str(folder / "nginx.conf"))
        )
        try:
            await listens(port)
            yield replace(site, url=f"http://127.0.0.1:{port}/deep/down")
        finally:
            process.terminate()
            await process.wait()


async def listens(port: int) -> None:
    """Until the port accepts a connection."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


@pytest.mark.essential
async def test_the_page_works_under_a_prefix_that_nobody_told_it(
    template: str, browser: Browser
) -> None:
    port = quiet_port()
    async with (
        temporary_database(template) as url,
        running(Config()) as simulator,
        a_site(Replicas(url, simulator), origins=f"http://127.0.0.1:{port}") as site,
        behind_nginx(site, port) as prefixed,
    ):
        context = await browser.new_context()
        tab = await open_tab(context, prefixed)
        await tab.sign_in()
        await tab.new_chat('[[sim: say "under a prefix"]]')
        assert "/deep/down/chats/" in tab.page.url
        log = tab.page.get_by_role("log")
        await expect(log).to_contain_text("under a prefix", timeout=PATIENCE_MS)
        await tab.page.reload()
        await expect(log).to_contain_text("under a prefix", timeout=PATIENCE_MS)
        tab.content()
        await context.close()
