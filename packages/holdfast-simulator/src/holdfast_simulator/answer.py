"""From a request to its answer: check, plan, spoil, send. The record is kept on the way."""

import asyncio
import gzip
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import web

from holdfast_simulator import answers, inject, keys
from holdfast_simulator.asked import CONTEXT_WINDOWS, Asked, WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.clock import Clock
from holdfast_simulator.deliver import Delivery, gzipped, reset
from holdfast_simulator.faults import Fault, Place
from holdfast_simulator.inject import Act, Item, Raw
from holdfast_simulator.jsons import JsonObject, dumps
from holdfast_simulator.options import Options
from holdfast_simulator.plan import Plan, Planner
from holdfast_simulator.record import Entry
from holdfast_simulator.reply import fit
from holdfast_simulator.sse import Encoder
from holdfast_simulator.usage import PromptCache, prompt_tokens
from holdfast_simulator.wires.base import Call, Job, Rejection, Wire, first_rejection

EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
JSON: Final = "application/json"
LONG_BETA: Final = "context-1m-"
LONG_WINDOW: Final = 1_000_000
DRIP_EVERY_S: Final = 1.0
GZIPS: Final = (Fault.GZIP, Fault.GZIP_UNLABELLED, Fault.GZIP_TRUNCATED)
EARLY_HINTS: Final = b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    planner: Planner
    cache: PromptCache
    clock: Clock
    hang_max_s: float
    created_s: int

    def forget(self) -> None:
        self.cache.clear()
        self.planner.forget()

    async def answer(
        self, request: web.Request, wire: Wire, call: Call, entry: Entry
    ) -> web.StreamResponse:
        found = first_rejection(wire.rules, call)
        if found is not None:
            entry.rejected_by = found[0]
            return _refuse(wire, found[1], entry)
        late = keys.ended(wire, call, self.clock)
        if late is not None:
            entry.rejected_by = "key-ended"
            return _refuse(wire, late, entry)
        asked = wire.read(call)
        entry.model = asked.model
        total, window = prompt_tokens(asked.segments), _window(asked, call)
        if total > window:
            entry.rejected_by = "context-window"
            return _refuse(wire, wire.overflow(total, window), entry)
        try:
            plan = self.planner.plan(asked, call.headers)
        except ValueError as error:
            entry.rejected_by = "directive"
            wrong = Rejection(
                status=400, kind="invalid_request_error", message=f"simulator: {error}"
            )
            return _refuse(wire, wrong, entry)
        entry.source = plan.source
        entry.fault = str(plan.options.fault.fault) if plan.options.fault else None
        early = await self._early(request, wire, plan, entry)
        if early is not None:
            return early
        return await self._speak(request, wire, call, asked, plan, entry)

    async def _early(
        self, request: web.Request, wire: Wire, plan: Plan, entry: Entry
    ) -> web.StreamResponse | None:
        """The answers of faults that never come to speak."""
        if plan.options.fault is None:
            return None
        fault = plan.options.fault.fault
        entry.fault_struck = True
        refused = answers.refusal(fault, wire, self.clock)
        if refused is not None:
            answer = _refuse(wire, refused[0], entry, refused[1])
            return _dressed(answer, fault, entry)
        if fault in answers.PAGES:
            status, body, headers = answers.PAGES[fault]
            entry.status = status
            entry.note("page", body)
            return web.Response(status=status, body=body, headers=headers)
        if fault is Fault.HANG_BEFORE_HEADERS:
            await asyncio.sleep(self.hang_max_s)
            reset(request)
            return web.Response(status=504)
        if fault is Fault.RESET_BEFORE_HEADERS:
            reset(request)
            return web.Response(status=504)
        return None

    async def _speak(
        self, request: web.Request, wire: Wire, call: Call, asked: Asked, plan: Plan, entry: Entry
    ) -> web.StreamResponse:
        at = plan.options.fault
        reply = plan.reply
        if at is not None:
            reply = inject.spoil_reply(reply, at.fault, asked, plan.chance)
        job = Job(
            asked=asked,
            reply=fit(reply, asked.tokens_max),
            entry=self.cache.charge(asked, wire.account(call)),
            chance=plan.chance,
            created_s=self.created_s,
            seed=plan.seed,
            deltas=plan.options.deltas,
            force_ids=at is not None and at.fault is Fault.DUPLICATE_CALL_IDS,
        )
        quirky = at is not None and at.fault is Fault.SSE_QUIRKS
        way = _Way(
            request=request,
            wire=wire,
            entry=entry,
            job=job,
            options=_dripping(plan.options),
            encoder=Encoder(wire, plan.options.line, quirky=quirky),
        )
        if asked.streams and way.fault is not Fault.NOT_STREAMED:
            return await self._send(way, _items(way), _content_type(wire, way.fault))
        return await self._whole(way)

    async def _whole(self, way: "_Way") -> web.StreamResponse:
        """The reply in one piece, for a client that did not ask for a stream."""
        refused = answers.unstreamed(way.fault, way.wire) if way.fault else None
        if refused is not None:
            return _refuse(way.wire, refused, way.entry)
        frames = way.wire.frames(way.job)
        body = way.wire.body(way.job)
        if way.fault is Fault.MISSING_USAGE:
            body = {k: v for k, v in body.items() if k not in ("usage", "usageMetadata")}
        way.entry.output = sum(frame.tokens for frame in frames)
        way.entry.reasoning = sum(frame.reasoning for frame in frames)
        way.entry.searches = sum(frame.searches for frame in frames)
        way.entry.entry = way.job.entry
        kind = answers.HTML if way.fault is Fault.WRONG_CONTENT_TYPE else JSON
        return await self._send(way, _whole_items(body, way.fault), kind)

    async def _send(self, way: "_Way", items: list[Item], kind: str) -> web.StreamResponse:
        headers = way.wire.headers(request_id(way.entry.number))
        response = web.StreamResponse(headers={**headers, "content-type": kind})
        response.headers["cache-control"] = "no-cache"
        if way.fault in (Fault.GZIP, Fault.GZIP_TRUNCATED):
            response.headers["content-encoding"] = "gzip"
        response.enable_chunked_encoding()
        if way.fault is Fault.EARLY_HINTS and way.request.transport is not None:
            way.request.transport.write(EARLY_HINTS)
        await response.prepare(way.request)
        way.entry.status = response.status
        delivery = Delivery(
            entry=way.entry,
            options=way.options,
            encoder=way.encoder,
            cost=way.job.entry,
            clock=self.clock,
            hang_max_s=self.hang_max_s,
        )
        if way.fault in GZIPS:
            sink = gzipped(response)
            if way.fault is Fault.GZIP_TRUNCATED:
                await delivery.send(items[: len(items) // 2], sink, way.request)
            else:
                await delivery.send(items, sink, way.request)
                await sink.finish()
        else:
            await delivery.send(items, response, way.request)
        return response


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """Everything that belongs to one answer that speaks."""

    request: web.Request
    wire: Wire
    entry: Entry
    job: Job
    options: Options
    encoder: Encoder

    @property
    def fault(self) -> Fault | None:
        return self.options.fault.fault if self.options.fault else None


def _window(asked: Asked, call: Call) -> int:
    if asked.wire is WireName.ANTHROPIC and LONG_BETA in call.headers.get("anthropic-beta", ""):
        return LONG_WINDOW
    return CONTEXT_WINDOWS[asked.wire]


def _dripping(options: Options) -> Options:
    if options.fault is None or options.fault.fault is not Fault.DRIP:
        return options
    every_s = DRIP_EVERY_S if options.every_s is None else options.every_s
    return replace(options, piece_bytes=1, every_s=every_s)


def _items(way: _Way) -> list[Item]:
    frames = way.wire.frames(way.job)
    at = way.options.fault
    if at is None or at.place in (Place.ANSWER, Place.REPLY):
        return [*frames]
    if at.fault is Fault.HUGE_EVENT:
        return inject.spoil_huge(frames, at, way.options.size_bytes, way.encoder)
    return inject.spoil(frames, at, way.job, way.wire, way.encoder)


def _whole_items(body: JsonObject, fault: Fault | None) -> list[Item]:
    """An answer in one piece, under the faults that make sense for it."""
    data = dumps(body)
    half = Raw(data=data[: len(data) // 2], name="body")
    if fault is not None and fault in inject.AT_ONCE:
        return [inject.AT_ONCE[fault]]
    if fault is not None and fault in inject.BREAKS:
        return [half, inject.BREAKS[fault]]
    match fault:
        case Fault.EOF_MID_EVENT | Fault.EOF_MID_UTF8 | Fault.EOF_BEFORE_TERMINAL:
            return [half, Act.END]
        case Fault.INVALID_JSON:
            return [half, Raw(data=b"oops")]
        case Fault.NOT_AN_OBJECT:
            return [Raw(data=b"[1,2,3]", name="body")]
        case _:
            return [Raw(data=data, name="body")]


def _content_type(wire: Wire, fault: Fault | None) -> str:
    if fault is Fault.WRONG_CONTENT_TYPE:
        return answers.HTML
    return "text/event-stream" if wire.crlf else EVENT_STREAM


def _refuse(
    wire: Wire, rejection: Rejection, entry: Entry, extra: dict[str, str] | None = None
) -> web.Response:
    name = request_id(entry.number)
    body = dumps(wire.error_body(rejection, name))
    entry.status = rejection.status
    entry.note("error", body)
    headers = {**wire.headers(name), **(extra or {}), "content-type": JSON}
    return web.Response(status=rejection.status, body=body, headers=headers)


def _dressed(answer: web.Response, fault: Fault, entry: Entry) -> web.Response:
    """The refusal under another status or encoding than its own."""
    if fault is Fault.ERROR_IN_JSON:
        answer.set_status(200)
        entry.status = 200
    if fault is Fault.GZIP_ERROR:
        assert isinstance(answer.body, bytes)
        answer.body = gzip.compress(answer.body)
        answer.headers["content-encoding"] = "gzip"
    return answer


def request_id(number: int) -> str:
    return f"req_011{Chance(str(number).encode()).word(21)}"
