"""A workspace's folder with a secret beside it, and its files served over a real socket."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web
from pydantic import BaseModel

from holdfast_agent.faults import Refused, faults_told
from holdfast_agent.files.beneath import Beneath, read_all
from holdfast_agent.files.beneath import Place as Spot
from holdfast_agent.files.http import routes

SECRET: Final = "the secret outside"
SEEN_AS: Final = "/workspace"


@dataclass(frozen=True)
class Place:
    """`root` is the workspace; `outside` lies beside it and has `secret.txt`."""

    root: Path
    outside: Path

    @property
    def beneath(self) -> Beneath:
        return Beneath(self.root, seen_as=SEEN_AS)

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target


def place_in(folder: Path) -> Place:
    place = Place(folder / "workspace", folder / "outside")
    place.root.mkdir()
    place.outside.mkdir()
    (place.outside / "secret.txt").write_text(SECRET)
    return place


@dataclass(frozen=True)
class Client:
    http: aiohttp.ClientSession

    async def ask(self, name: str, asked: BaseModel | dict[str, Any]) -> tuple[int, Any]:
        body = asked.model_dump() if isinstance(asked, BaseModel) else asked
        async with self.http.post(f"/v1/files/{name}", json=body) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.http.get(path) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def serving(place: Place, *, guards_git: bool = True) -> AsyncGenerator[Client]:
    app = web.Application(middlewares=[faults_told])
    app.add_routes(routes(place.root, seen_as=SEEN_AS, guards_git=guards_git))
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
            yield Client(http)
    finally:
        await runner.cleanup()


_FLIP: Final = """
import os, sys
from holdfast_agent.files.kernel import RENAME_EXCHANGE, renameat2
folder = os.open(sys.argv[1], os.O_PATH)
print("flipping", flush=True)
while os.getppid() != 1:
    for _ in range(1000):
        renameat2(folder, b"flip", b"flip.link", RENAME_EXCHANGE)
"""


@contextmanager
def flipping(place: Place) -> Generator[None]:
    """`flip` in the workspace is a folder, and a link to the one outside, in turn, as fast as can
    be. Both have `secret.txt`; only one of them tells a secret."""
    place.write("flip/secret.txt", "inside")
    os.symlink(place.outside, place.root / "flip.link")
    with subprocess.Popen(
        [sys.executable, "-c", _FLIP, str(place.root)], stdout=subprocess.PIPE
    ) as flipper:
        try:
            assert flipper.stdout is not None
            assert flipper.stdout.readline() == b"flipping\n"
            yield
        finally:
            flipper.kill()


def by_kernel(place: Place) -> bytes:
    spot = Spot("flip/secret.txt")
    with place.beneath.file(spot) as file:
        return read_all(file, spot, 100)


def by_check(place: Place) -> bytes:
    """The mutant: look where the path leads, then open it."""
    path = place.root / "flip" / "secret.txt"
    if not os.path.realpath(path).startswith(f"{place.root}/"):
        raise PermissionError
    return path.read_bytes()


def leaks(
    place: Place, read: Callable[[Place], bytes], *, tries: int, enough: int
) -> tuple[int, int]:
    """Leaks, and how often the inside was read."""
    leaked = inside = 0
    with flipping(place):
        for _ in range(tries):
            try:
                content = read(place)
            except (OSError, Refused):
                continue
            leaked += content == SECRET.encode()
            inside += content == b"inside"
            if leaked == enough:
                break
    return leaked, inside
