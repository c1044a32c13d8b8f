"""The routes of files, instruction files and skills.

Whatever touches the disk runs off the loop, in one of three pools: reading, looking (which may take
long) and writing. Writing has a single hand, so edits of one agent happen one after the other.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from aiohttp import web
from pydantic import BaseModel

from holdfast_agent.files import editing, guidance, listing, reading, writing
from holdfast_agent.files.beneath import Beneath
from holdfast_agent.files.looking import Looker
from holdfast_agent.sandbox.person import Person, ourselves
from holdfast_agent.wire import (
    EditFiles,
    FindFiles,
    ListFiles,
    ReadFile,
    SearchFiles,
    WriteFile,
)

READERS_MAX: Final = 8
LOOKERS_MAX: Final = 4
BODY_BYTES_MAX: Final = 64 << 20
"""Of a request: the largest text to write, escaped."""

Asked = TypeVar("Asked", bound=BaseModel)


def routes(
    root: Path,
    *,
    seen_as: str | None = None,
    guards_git: bool = True,
    person: Person | None = None,
) -> list[web.RouteDef]:
    """`root`: the workspace's folder. `seen_as`: what processes call it, if not the same.
    `guards_git`: see `Beneath`. `person`: whose files these are, if not ours."""
    owner = person or ourselves()
    beneath = Beneath(root, seen_as=seen_as, guards_git=guards_git)
    looker = Looker.here(beneath, owner)
    readers = ThreadPoolExecutor(READERS_MAX, "files-read")
    lookers = ThreadPoolExecutor(LOOKERS_MAX, "files-look")
    writer = ThreadPoolExecutor(1, "files-write")

    def post(
        name: str,
        pool: ThreadPoolExecutor,
        kind: type[Asked],
        do: Callable[[Asked], BaseModel],
    ) -> web.RouteDef:
        async def handle(request: web.Request) -> web.Response:
            body = await request.clone(client_max_size=BODY_BYTES_MAX).read()
            asked = kind.model_validate_json(body)
            return await _answer(pool, owner, lambda: do(asked))

        return web.post(f"/v1/files/{name}", handle)

    async def guide(_request: web.Request) -> web.Response:
        return await _answer(readers, owner, lambda: guidance.found(beneath))

    async def skill(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        return await _answer(readers, owner, lambda: guidance.skill(beneath, name))

    return [
        post("read", readers, ReadFile, lambda asked: reading.read(beneath, asked)),
        post("list", readers, ListFiles, lambda asked: listing.list_files(beneath, asked)),
        post("find", lookers, FindFiles, looker.find),
        post("search", lookers, SearchFiles, looker.search),
        post("write", writer, WriteFile, lambda asked: writing.write(beneath, asked)),
        post("edit", writer, EditFiles, lambda asked: editing.edit(beneath, asked)),
        web.get("/v1/guidance", guide),
        web.get("/v1/skills/{name}", skill),
    ]


async def _answer(
    pool: ThreadPoolExecutor, owner: Person, do: Callable[[], BaseModel]
) -> web.Response:
    def whole() -> bytes:
        with owner.files():
            return do().model_dump_json().encode()

    body = await asyncio.get_running_loop().run_in_executor(pool, whole)
    return web.Response(body=body, content_type="application/json")
