"""One reader's events on the wire: bytes that were encoded once are passed on, SSE or WebSocket.

A stream ends when its reader goes, when the reader may no longer read, when the chat is gone, when
this replica stops, or when its reader has opened too many. Its last event, `closed`, says why; a
WebSocket is then closed with a code of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from holdfast.api.auth import Caller
from holdfast.api.guard import AFTER
from holdfast.api.streams import LAST_WORDS_S, Followed, StreamPlace
from holdfast.chats import listing
from holdfast.domain.denials import NotAllowed
from holdfast.domain.errors import ChatNotFound, Unavailable
from holdfast.ports.listing import Entry, Mark
from holdfast.ports.persons import ask_for
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import Closed, CloseReason
from holdfast.stream.follower import Follower
from holdfast.stream.list_watcher import Watcher

CLOSE_CODES: Final[Mapping[CloseReason, int]] = {
    CloseReason.RESTART: 1012,
    CloseReason.REVOKED: 4403,
    CloseReason.DELETED: 4404,
    CloseReason.TOO_MANY_STREAMS: 4429,
}
_HEADERS: Final = {
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # nginx would hold events back
}


class WireForm(Protocol):
    """An event, as either wire has it."""

    def sse(self) -> bytes: ...

    def json(self) -> bytes: ...


class EventSource(Protocol):
    """Iterate over it. Ends when the chat is gone or this replica stops."""

    def __aiter__(self) -> AsyncIterator[WireForm]: ...

    @property
    def close_reason(self) -> CloseReason:
        """Why the iteration ended."""
        ...


Write: TypeAlias = Callable[[WireForm], Awaitable[None]]


class Reader(Protocol):
    """A reader of something that was found to be theirs to read."""

    @property
    def caller(self) -> Caller: ...

    @property
    def followed(self) -> Followed: ...

    def follow(self) -> AbstractAsyncContextManager[EventSource]: ...

    async def may_go_on(self) -> bool:
        """Whether it is still theirs to read (A3)."""
        ...


@dataclass(frozen=True, slots=True)
class ChatReader:
    caller: Caller
    entry: Entry
    after: Cursor | None

    @property
    def followed(self) -> Followed:
        return self.entry.chat_id

    def follow(self) -> AbstractAsyncContextManager[Follower]:
        return self.caller.edge.chats.hub.follow(self.entry.chat_id, self.after)

    async def may_go_on(self) -> bool:
        """An owner stays an owner; what was shared may be taken back."""
        edge, who = self.caller.edge, self.caller.who
        if not await edge.identity.gate.still_valid(who):
            return False
        if self.entry.owner_id == who.user_id:
            return True
        try:
            await listing.find(edge.chats.listing, who, self.entry.chat_id)
        except (ChatNotFound, NotAllowed):
            return False
        return True


@dataclass(frozen=True, slots=True)
class ListReader:
    """Of one's own list, in which every read looks anew at what is theirs."""

    caller: Caller
    after: Mark | None

    @property
    def followed(self) -> Followed:
        return "list"

    def follow(self) -> AbstractAsyncContextManager[Watcher]:
        return self.caller.edge.chats.watching.follow(self.caller.who, self.after)

    async def may_go_on(self) -> bool:
        return await self.caller.edge.identity.gate.still_valid(self.caller.who)


async def _told(reader: Reader, events: EventSource, write: Write) -> CloseReason:
    """Write events until they end, and say why they did.

    Looks at the time with each event: there is one at least every ping, so nothing else has to wake
    up.
    """
    ask_for(reader.caller.who.user_id)  # what this task reads counts as theirs
    now = asyncio.get_running_loop().time
    every_s = reader.caller.edge.options.recheck_every_s
    check_at = now() + every_s
    try:
        async for event in events:
            if now() >= check_at:
                if not await reader.may_go_on():
                    return CloseReason.REVOKED
                check_at = now() + every_s
            await write(event)
    except Unavailable:
        return CloseReason.RESTART  # not known whether they may: let them ask another replica
    return events.close_reason


class EventStream(Response):
    """Server-sent events. Not a `StreamingResponse`: what is followed is let go of here, on every
    way out, and not when a generator happens to be collected.

    Begins where it is called, so that a chat that is not there is a problem like any other, and
    goes on in the guard, when nothing of the request is left but this."""

    media_type = "text/event-stream"

    def __init__(self, reader: Reader) -> None:
        super().__init__(status_code=200, headers=_HEADERS)
        self._reader = reader
        self._following = reader.follow()
        self._events: EventSource | None = None
        self._place: StreamPlace | None = None
        self._whole = False
        del self.headers["content-length"]

    async def __call__(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002
        send: Send,
    ) -> None:
        scope[AFTER].append(self)  # first: it lets go, whatever happens from here on
        self._events = await self._following.__aenter__()
        self._place = _place_for(self._reader)
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )

    async def go_on(self, receive: Receive, send: Send) -> None:
        if self._events is None or self._place is None:
            return  # it was refused, and a problem was the answer
        write = partial(self._write, self._events, send)
        await either(write, partial(_hung_up, receive), place=self._place)
        if self._place.ended and not self._whole:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._last(self._place.last, send)

    async def let_go(self) -> None:
        if self._place is not None:
            self._reader.caller.edge.streams.leave(self._place)
        if self._events is not None:
            await self._following.__aexit__(None, None, None)

    async def _write(self, events: EventSource, send: Send) -> None:
        async def write(event: WireForm) -> None:
            await send({"type": "http.response.body", "body": event.sse(), "more_body": True})

        reason = await _told(self._reader, events, write)
        reconnect_ms = self._reader.caller.edge.options.reconnect_ms
        retry_ms = reconnect_ms if reason is CloseReason.RESTART else None
        await self._last(Closed(reason, retry_ms=retry_ms), send)

    async def _last(self, closed: Closed, send: Send) -> None:
        await send({"type": "http.response.body", "body": closed.sse(), "more_body": False})
        self._whole = True


async def tell_by_socket(reader: Reader, socket: WebSocket) -> None:
    """The same events, the same JSON, as text messages."""
    closed = False

    async def write(event: WireForm) -> None:
        await socket.send({"type": "websocket.send", "text": event.json().decode()})

    async def tell() -> None:
        nonlocal closed
        reason = await _told(reader, events, write)
        closed = True
        await close(Closed(reason))

    async def close(last: Closed) -> None:
        await write(last)
        await socket.close(CLOSE_CODES[last.reason], last.reason.value)

    async def hang_up() -> None:
        nonlocal closed
        await _hung_up(socket.receive)
        closed = True

    async with reader.follow() as events:
        place = _place_for(reader)
        try:
            await socket.accept()
            await either(tell, hang_up, place=place)
            if place.ended and not closed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_WORDS_S):
                        await close(place.last)
        finally:
            reader.caller.edge.streams.leave(place)


def _place_for(reader: Reader) -> StreamPlace:
    """Among the streams of its person; may end the oldest of them."""
    return reader.caller.edge.streams.enter(reader.caller.who.user_id, reader.followed)


async def _hung_up(receive: Receive) -> None:
    """Until the client is gone; what it says meanwhile is not read here."""
    while (await receive())["type"] not in ("http.disconnect", "websocket.disconnect"):
        pass


async def either(*works: Callable[[], Awaitable[None]], place: StreamPlace | None = None) -> None:
    """All at once, until one of them is done or the place is ended; then none goes on."""

    async def run(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        finally:
            for task in running:
                if task is not asyncio.current_task():
                    task.cancel()

    def end() -> None:
        for task in running:
            task.cancel()

    running: list[asyncio.Task[None]] = []
    if place is not None:
        if place.ended:
            return
        place.on_end = end
    try:
        async with asyncio.TaskGroup() as tasks:
            running += [tasks.create_task(run(work)) for work in works]
    finally:
        # A cancelled task knows its exception, whose traceback knows this list: without an end to
        # that, everything of an ended stream stays until the collector comes to it.
        running.clear()
        if place is not None:
            place.on_end = None
