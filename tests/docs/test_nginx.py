"""The nginx of docs/how-to/behind-nginx.md, for real, before two replicas."""

import asyncio
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_simulator.server import Config, running
from tests.docs.pages import DOCS
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.web import Cell, Client, a_cell

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
BUFFERED = "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"
SLOWLY = f'[[sim: say "{" ".join(f"word{number}" for number in range(40))}" | rate=8]]'
WAIT_S = 60
ENOUGH = 3

pytestmark = pytest.mark.skipif(not Path(NGINX).exists(), reason="nginx is not installed")


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config()) as simulator,
        a_cell(Replicas(url, simulator)) as made,
    ):
        await made.another()
        yield made


def as_on_the_page(cell: Cell, folder: Path, port: int, more: str = "") -> str:
    """The page's file with our ports and certificate, in the frame that a system's nginx has."""
    text = (DOCS / "how-to/behind-nginx.md").read_text()
    (page,) = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    instead = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/nginx/chat.example": str(folder / "chat.example"),
        "127.0.0.1:8080": cell.urls[0].removeprefix("http://"),
        "127.0.0.1:8081": cell.urls[1].removeprefix("http://"),
        "proxy_http_version 1.1;": f"proxy_http_version 1.1; {more}",
    }
    for old, new in instead.items():
        assert old in page, old
        page = page.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""
        daemon off; pid {folder}/pid; error_log stderr;
        events {{}}
        http {{ access_log off; {temporary}
        {page}
        }}"""


@asynccontextmanager
async def behind_nginx(cell: Cell, more: str = "") -> AsyncGenerator[Client]:
    with short_folder() as folder:
        port = quiet_port()
        await asyncio.to_thread(certify, folder)
        (folder / "nginx.conf").write_text(as_on_the_page(cell, folder, port, more))
        process = await asyncio.create_subprocess_exec(
            *(NGINX, "-e", "stderr", "-c", str(folder / "nginx.conf")),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            trusted = ssl.create_default_context(cafile=str(folder / "chat.example.pem"))
            connector = aiohttp.TCPConnector(ssl=trusted)
            async with aiohttp.ClientSession(connector=connector) as http:
                client = replace(cell.admin, http=http, url=f"https://localhost:{port}")
                await answered(client, process)
                yield client
        finally:
            process.terminate()
            await process.communicate()


def certify(folder: Path) -> None:
    key, certificate = folder / "chat.example.key", folder / "chat.example.pem"
    made = ["openssl", "req", "-x509", "-nodes", "-days", "1", "-newkey", "rsa:2048"]
    named = [
        "-subj",
        "/CN=chat.example",
        "-addext",
        "subjectAltName=DNS:chat.example,DNS:localhost",
    ]
    subprocess.run(
        [*made, *named, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )


async def answered(client: Client, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                if (await client.get("/readyz")).status == 200:
                    return
            except aiohttp.ClientConnectionError:
                if process.returncode is not None:
                    assert process.stderr is not None
                    pytest.fail((await process.stderr.read()).decode())
            await asyncio.sleep(0.05)


async def is_idle(cell: Cell, chat_id: str) -> bool:
    return (await cell.admin.get(f"chats/{chat_id}")).json["status"] == "idle"


async def parts_seen_before_the_end(cell: Cell, client: Client) -> int:
    """How many parts came through nginx while the chat, asked beside it, was not yet idle; no more
    than enough."""
    chat_id = await client.new_chat(SLOWLY)
    seen = 0

    async def watch() -> None:
        nonlocal seen
        async with client.stream(chat_id) as events:
            async for event in events:
                seen += event["type"] == "preview.delta"

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch())
        async with asyncio.timeout(WAIT_S):
            while seen <= ENOUGH and not await is_idle(cell, chat_id):  # noqa: ASYNC110 - a row of the database
                await asyncio.sleep(0.03)
        before = seen
        watching.cancel()
    return before


async def test_events_pass_as_they_come(cell: Cell) -> None:
    async with behind_nginx(cell) as client:
        assert await parts_seen_before_the_end(cell, client) > ENOUGH


async def test_the_check_notices_an_nginx_that_buffers(cell: Cell) -> None:
    async with behind_nginx(cell, BUFFERED) as client:
        assert await parts_seen_before_the_end(cell, client) == 0


async def test_a_websocket_is_let_through_and_metrics_are_not(cell: Cell) -> None:
    async with behind_nginx(cell) as client:
        chat_id = await client.new_chat('[[sim: say "hello"]]')
        await client.until(chat_id, "idle", within_s=WAIT_S)
        path = f"{client.url}/api/v1/chats/{chat_id}/events"
        async with client.http.ws_connect(path, headers=client.headers) as socket:
            async with asyncio.timeout(WAIT_S):
                kinds = [(await socket.receive_json())["type"] for _ in range(3)]
        assert "message.created" in kinds
        assert (await client.get("/metrics")).status == 404
        assert (await cell.admin.get("/metrics")).status == 200


async def test_requests_go_on_when_one_of_the_two_stops(cell: Cell) -> None:
    async with behind_nginx(cell) as client:
        stopping = cell.nobody.at(cell.urls[1])
        cell.served[1].drain()
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    await stopping.get("/healthz")
                except aiohttp.ClientConnectionError:
                    break
                await asyncio.sleep(0.05)
        answers = [(await client.get("me")).status for _ in range(6)]
    assert answers == [200] * 6
