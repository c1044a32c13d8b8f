"""The HTTP server: four wires, the lists of models, and the record.

async with running(Config()) as simulator:
    ... simulator.url ...
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from holdfast_simulator.answer import Answering
from holdfast_simulator.answers import REDIRECT_PATH
from holdfast_simulator.clock import SYSTEM_CLOCK, Clock
from holdfast_simulator.faults import ABOUT
from holdfast_simulator.jsons import dumps, is_obj, loads, obj
from holdfast_simulator.keys import ended
from holdfast_simulator.lists import CREATED_S, list_gemini_models, list_models, show_model
from holdfast_simulator.options import Options
from holdfast_simulator.plan import Planner
from holdfast_simulator.record import Entry, Record
from holdfast_simulator.script import Script
from holdfast_simulator.usage import PromptCache
from holdfast_simulator.vendors import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    NAMES,
    RAW_PREDICT,
    RESPONSES,
    as_vendor,
    played,
)
from holdfast_simulator.wires.base import Call, Wire

BODY_BYTES_MAX: Final = 256 * 1024 * 1024
WAIT_MAX_S: Final = 60.0
METHODS: Final = {"streamGenerateContent": True, "generateContent": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    host: str = "127.0.0.1"
    port: int = 0
    seed: int = 0
    defaults: Options = field(default_factory=Options)
    script: Script | None = None
    guides: bool = False
    """Whether it says what it is where nothing says what to answer, instead of prose."""
    obeys: bool = False
    """Whether it follows every instruction that it reads, where nothing says what to answer."""
    vendor: str = ""
    """Played at the plain paths; empty: the inventors of the four wires."""
    clock: Clock = SYSTEM_CLOCK
    old_account: bool = False
    """Anthropic accounts of before 2026-08-31 may change the conversation before thinking."""
    hang_max_s: float = 600.0
    """No hang is endless: after so long even a hanging answer ends."""


class Simulator:
    """A running simulator: where it listens and what it has seen."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.record = Record()
        self.url = ""
        self._answering = Answering(
            planner=Planner(
                seed=config.seed,
                defaults=config.defaults,
                script=config.script,
                guides=config.guides,
                obeys=config.obeys,
            ),
            cache=PromptCache(config.clock),
            clock=config.clock,
            hang_max_s=config.hang_max_s,
            created_s=CREATED_S,
        )

    def application(self) -> web.Application:
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        router = app.router
        router.add_post("/v1/messages", self._handler(ANTHROPIC))
        router.add_post("/v1/responses", self._handler(RESPONSES))
        router.add_post("/v1/chat/completions", self._handler(CHAT))
        # Google's own client asks for v1, its documents for v1beta; both answer alike.
        router.add_post("/v1beta/models/{method}", self._handler(GEMINI))
        router.add_post("/v1/models/{method}", self._handler(GEMINI))
        router.add_post("/as/{vendor}/{path:.*}", self._as_vendor)
        router.add_get("/v1/models", self._listing(list_models, CHAT))
        router.add_get("/v1beta/models", self._listing(list_gemini_models, GEMINI))
        router.add_post("/api/show", show_model)
        router.add_get("/sim/requests", self._requests)
        router.add_delete("/sim/requests", self._forget)
        router.add_get("/sim/requests/{number:\\d+}", self._request)
        router.add_get("/sim/billing", self._billing)
        router.add_get("/sim/faults", _faults)
        router.add_route("*", REDIRECT_PATH, self._redirected)
        return app

    def _handler(self, wire: Wire) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            vendor = self.config.vendor
            return await self._answer(request, played(vendor, request.path) or wire, vendor)

        return handle

    def _listing(
        self, answer: Callable[[web.Request], Awaitable[web.Response]], usual: Wire
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """A list, unless the key has ended."""

        async def handle(request: web.Request) -> web.Response:
            wire = ANTHROPIC if "anthropic-version" in request.headers else usual
            headers = {name.lower(): value for name, value in request.headers.items()}
            refusal = ended(wire, Call(headers=headers, body=None), self.config.clock)
            if refusal is not None:
                return _json(wire.error_body(refusal, "req_list"), status=refusal.status)
            return await answer(request)

        return handle

    async def _as_vendor(self, request: web.Request) -> web.StreamResponse:
        vendor = request.match_info["vendor"]
        wire = played(vendor, request.path)
        if wire is None:
            known = ", ".join(NAMES)
            return _json({"error": f"{vendor} is not played here; there are {known}"}, status=404)
        return await self._answer(request, wire, vendor)

    async def _answer(self, request: web.Request, wire: Wire, vendor: str) -> web.StreamResponse:
        raw = await request.read()
        call = _call(request, raw, old_account=self.config.old_account)
        call = as_vendor(call, vendor, request.path)
        entry = self.record.open(
            wire=str(wire.name),
            path=request.path,
            headers=request.headers,
            body=call.body,
            body_bytes=len(raw),
            began_s=self.config.clock.mono_s(),
        )
        try:
            return await self._answering.answer(request, wire, call, entry)
        except asyncio.CancelledError:
            # The server cancels a handler when its client goes away.
            entry.disconnected_after_s = self._age_s(entry)
            raise
        except ConnectionError:
            # Or a write notices it first. The client is gone; a raised error would be logged.
            entry.disconnected_after_s = self._age_s(entry)
            return web.Response(status=499)
        finally:
            entry.took_s = self._age_s(entry)
            entry.done.set()

    def _age_s(self, entry: Entry) -> float:
        return round(self.config.clock.mono_s() - entry.began_s, 6)

    async def _requests(self, _request: web.Request) -> web.Response:
        return _json({"requests": [entry.brief() for entry in self.record]})

    async def _request(self, request: web.Request) -> web.Response:
        """One entry; `?wait=seconds` waits for its end."""
        entry = self.record.get(int(request.match_info["number"]))
        if entry is None:
            return _json({"error": "no such request"}, status=404)
        wait_s = min(float(request.query.get("wait", "0")), WAIT_MAX_S)
        if wait_s > 0 and not entry.done.is_set():
            try:
                async with asyncio.timeout(wait_s):
                    await entry.done.wait()
            except TimeoutError:
                return _json(entry.full(), status=202)
        return _json(entry.full())

    async def _forget(self, _request: web.Request) -> web.Response:
        self.record.clear()
        self._answering.forget()
        return web.Response(status=204)

    async def _billing(self, _request: web.Request) -> web.Response:
        return _json(self.record.billing())

    async def _redirected(self, _request: web.Request) -> web.Response:
        self.record.redirects_followed += 1
        return _json({"error": "this redirect was not to be followed"}, status=410)


def _call(request: web.Request, raw: bytes, *, old_account: bool) -> Call:
    try:
        parsed = loads(raw)
    except ValueError:
        parsed = None
    model, _, method = request.path.rpartition("/")[2].partition(":")
    if method and method not in METHODS and method not in RAW_PREDICT:
        raise web.HTTPNotFound
    return Call(
        headers={name.lower(): value for name, value in request.headers.items()},
        query=dict(request.query),
        body=obj(parsed) if is_obj(parsed) else None,
        path_model=model,
        path_streams=METHODS.get(method, False),
        old_account=old_account,
    )


async def _faults(_request: web.Request) -> web.Response:
    return _json(
        {str(fault): {"place": str(a.place), "about": a.line} for fault, a in ABOUT.items()}
    )


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(body=dumps(value), status=status, content_type="application/json")


@asynccontextmanager
async def running(config: Config) -> AsyncGenerator[Simulator]:
    """A simulator that listens; port 0 takes a free one."""
    simulator = Simulator(config)
    runner = web.AppRunner(
        simulator.application(),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=0.5,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, config.host, config.port)
        await site.start()
        host, port = runner.addresses[0][:2]
        simulator.url = f"http://{host}:{port}"
        yield simulator
    finally:
        await runner.cleanup()
