"""The agent's routes for itself and its processes (`workspace/wire.py` lists them all)."""

import asyncio
import hmac
from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeVar

from aiohttp import web
from aiohttp.typedefs import Middleware
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from holdfast_agent.faults import Handler, Refused, faults_told
from holdfast_agent.processes import Entry, Processes
from holdfast_agent.wire import About, FaultCode, Input, Key, Signal, Start
from holdfast_agent.wire import Processes as ProcessList

BODY_BYTES_MAX: Final = 16 * 1024 * 1024
WAIT_MAX_S: Final = 24 * 3600.0
ALIVE_S: Final = 10.0
"""Interval of a keep-alive blank during a wait, so that no proxy or client closes the
connection."""
JSON: Final = "application/json"

_KEY: Final = TypeAdapter[str](Key)
T = TypeVar("T", bound=BaseModel)


class Asked(BaseModel):
    """The query of a look."""

    after: Annotated[int, Field(ge=-1)] = 0
    wait_s: Annotated[float, Field(ge=0, le=WAIT_MAX_S)] = 0
    until: Literal["exit", "output"] = "exit"


class Routes:
    def __init__(self, processes: Processes, about: About) -> None:
        self._processes = processes
        self._about = about

    def all(self) -> Sequence[web.RouteDef]:
        chat = "/v1/chats/{chat}/processes"
        one = f"{chat}/{{key}}"
        return (
            web.get("/v1/about", self._tell_about),
            web.put(one, self._start),
            web.get(chat, self._list, allow_head=False),
            web.get(one, self._look, allow_head=False),
            web.post(f"{one}/input", self._write),
            web.post(f"{one}/signal", self._signal),
            web.delete(one, self._stop),
            web.delete(chat, self._stop_all),
        )

    async def _tell_about(self, _request: web.Request) -> web.Response:
        return said(self._about)

    async def _start(self, request: web.Request) -> web.Response:
        chat, key = named(request)
        start = await heard(request, Start)
        process, is_new = await self._processes.start(chat, key, start)
        return said(process, status=201 if is_new else 200)

    async def _list(self, request: web.Request) -> web.Response:
        return said(ProcessList(processes=tuple(self._processes.all_of(chat_of(request)))))

    async def _look(self, request: web.Request) -> web.StreamResponse:
        asked = Asked.model_validate(dict(request.query))
        entry = self._processes.find(*named(request))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + asked.wait_s
        if await self._wait(entry, asked, min(asked.wait_s, ALIVE_S)) or loop.time() >= deadline:
            return said(self._processes.look(entry, asked.after))
        return await self._look_long(request, entry, asked, deadline)

    async def _look_long(
        self, request: web.Request, entry: Entry, asked: Asked, deadline: float
    ) -> web.StreamResponse:
        """The head at once, blanks while there is nothing to say, then the answer (L102)."""
        loop = asyncio.get_running_loop()
        response = web.StreamResponse(headers={"content-type": JSON, "cache-control": "no-store"})
        try:
            await response.prepare(request)
            while (left_s := deadline - loop.time()) > 0:
                await response.write(b" ")
                if await self._wait(entry, asked, min(left_s, ALIVE_S)):
                    break
            await response.write(
                self._processes.look(entry, asked.after).model_dump_json().encode()
            )
            await response.write_eof()
        except ConnectionError:
            pass  # The client has gone; the next one asks anew.
        return response

    async def _wait(self, entry: Entry, asked: Asked, within_s: float) -> bool:
        return await self._processes.wait(entry, asked.after, asked.until, within_s=within_s)

    async def _write(self, request: web.Request) -> web.Response:
        entry = self._processes.find(*named(request))
        return said(self._processes.write(entry, await heard(request, Input)))

    async def _signal(self, request: web.Request) -> web.Response:
        entry = self._processes.find(*named(request))
        return said(self._processes.signal(entry, await heard(request, Signal)))

    async def _stop(self, request: web.Request) -> web.Response:
        return said(await self._processes.stop(*named(request)))

    async def _stop_all(self, request: web.Request) -> web.Response:
        stopped = await self._processes.stop_all(chat_of(request))
        return said(ProcessList(processes=tuple(stopped)))


def application(routes: Sequence[web.AbstractRouteDef], token: str | None) -> web.Application:
    app = web.Application(
        middlewares=[faults_told, *([_guard(token)] if token else [])],
        client_max_size=BODY_BYTES_MAX,
    )
    app.add_routes(routes)
    return app


def named(request: web.Request) -> tuple[str, str]:
    return chat_of(request), _bounded(request.match_info["key"])


def chat_of(request: web.Request) -> str:
    return _bounded(request.match_info["chat"])


def _bounded(name: str) -> str:
    try:
        return _KEY.validate_python(name)
    except ValidationError as error:
        raise Refused(FaultCode.BAD_REQUEST, "A name has 1 to 200 characters.") from error


async def heard(request: web.Request, kind: type[T]) -> T:
    """The body, whatever it calls itself. Raises `ValidationError`, which is told as such."""
    return kind.model_validate_json(await request.read())


def said(what: BaseModel, status: int = 200) -> web.Response:
    return web.Response(status=status, body=what.model_dump_json().encode(), content_type=JSON)


def _guard(token: str) -> Middleware:
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("authorization", "").encode(errors="surrogateescape")
        if not hmac.compare_digest(given, expected):
            message = "This agent wants the token that it was started with."
            raise Refused(FaultCode.UNAUTHORIZED, message)
        return await handler(request)

    return guarded
