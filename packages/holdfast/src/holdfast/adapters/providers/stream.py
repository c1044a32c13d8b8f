"""One attempt at a reply: open, read, decode, under four clocks.

    async with ModelStream(transport, endpoint, call) as stream:
        async for event in stream: ...
    stream.final                # only if the provider declared the end
    stream.partial()            # at any moment, also after an error

- *first part*: from the request until the first part or the model's thinking begins; pings and
  counts are not parts.
- *silence*: between two reads, whatever they bring.
- *progress*: between two events of a part, so that pings cannot keep a dead stream alive.
- *thinking*: instead of the last two while the model thinks and shows nothing of it. A stream that
  is cut then is billed, and the next attempt thinks from the beginning.

No timeout is held across a `yield`: it would cancel the consumer. Leaving the block, for whatever
reason, closes the socket at once, unless the reply ended well and the connection can serve again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import aiohttp

from holdfast.adapters.guarded import AddressRefused
from holdfast.adapters.providers.errors import (
    ProviderError,
    from_response,
    no_stream,
    own_deadline,
    protocol,
    request_id_of,
    timed_out,
)
from holdfast.adapters.providers.shaping import decode, guarded
from holdfast.adapters.providers.transport import Transport
from holdfast.adapters.providers.types import Call, Decoder, Endpoint, Wire
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.chat import ErrorKind
from holdfast.domain.parts import Part
from holdfast.ports.models import Event, Usage, UsageSeen
from holdfast_client.sse import EVENT_BYTES_MAX, EventTooLarge, SseParser

if TYPE_CHECKING:
    from holdfast.ports import models

ERROR_BYTES_MAX: Final = 64 * 1024
ERROR_BODY_S: Final = 5.0
DRAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    first_part_s: float = 120.0
    silence_s: float = 120.0
    progress_s: float = 300.0
    thinking_s: float = 900.0
    tail_s: float = 5.0  # for what may follow the declared end: the usage, the connection's end
    total_s: float | None = None  # the caller's own: not retried (L56)


class ProviderStream:
    """The events of one attempt. Enter it once."""

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint,
        call: Call,
        deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
        *,
        wire: Wire | None = None,
        event_bytes_max: int = EVENT_BYTES_MAX,
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._call = call
        self._deadlines = deadlines
        self._wire = wire or WIRES[endpoint.wire]
        self._sse = SseParser(event_bytes_max)
        self._queue: deque[Event] = deque()
        self._request_id: str | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._decoder: Decoder | None = None
        self._error: ProviderError | None = None
        self._began = False
        self._thinking = False
        self._progress_at = 0.0
        self._total_at: float | None = None
        self._loop = asyncio.get_running_loop()
        self.final: models.Reply | None = None

    @property
    def opened(self) -> bool:
        """Whether the provider began to stream: from then on it may bill (L12)."""
        return self._decoder is not None

    @property
    def usage(self) -> Usage | None:
        """What was billed up to the last event; None as long as the provider has not said.

        Anthropic, Responses and Chat tell it at the end, so that of a stream that broke off it is
        not known; Gemini tells it with every event. A refused request costs nothing.
        """
        if self._decoder is None:
            refused = self._response is not None and self._response.status != 200
            return Usage() if refused else None
        return self._decoder.usage if self._decoder.counted else None

    @property
    def usage_min(self) -> Usage:
        """What was billed at least."""
        return self._decoder.usage if self._decoder else Usage()

    def partial(self) -> tuple[Part, ...]:
        """What was said so far, fit to be stored."""
        return self._decoder.partial(self._transport.now()) if self._decoder else ()

    async def __aenter__(self) -> Self:
        first_s, total_s = self._deadlines.first_part_s, self._deadlines.total_s
        self._progress_at = self._loop.time()
        self._total_at = None if total_s is None else self._progress_at + total_s
        try:
            async with asyncio.timeout(first_s if total_s is None else min(first_s, total_s)):
                await self._open()
                while not self._began and self._error is None and self.final is None:
                    await self._pull()
        except TimeoutError as error:
            self._close()
            if total_s is not None and total_s <= first_s:
                raise self._named(own_deadline(total_s)) from error
            raise self._named(timed_out("first-part", first_s)) from error
        except ProviderError as error:
            self._close()
            self._named(error)
            raise
        except BaseException:
            self._close()
            raise
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        queue = self._queue
        while not queue:
            if self._error is not None:
                self._close()
                raise self._named(self._error)
            if self.final is not None:
                raise StopAsyncIteration
            try:
                await self._pull()
            except ProviderError as error:
                self._error = error
        return queue.popleft()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        response = self._response
        if response is None:
            return
        if self.final is not None and error is None and not response.content.at_eof():
            # The last chunk is usually on its way: with it the connection can serve again.
            try:
                async with asyncio.timeout(DRAIN_S):
                    await response.content.readany()
            except (TimeoutError, aiohttp.ClientError, OSError):
                pass
        if response.content.at_eof():
            response.release()
        self._close()

    # Opening.

    async def _open(self) -> None:
        request = guarded(self._wire.request, self._call, self._endpoint)
        try:
            response = await self._transport.send(
                request, self._endpoint, silence_s=self._longest_silence_s
            )
        except (aiohttp.ClientError, OSError) as error:
            raise self._translated(error) from error
        except ValueError as error:
            # Not quoted: what cannot be a header or a host may be a mistyped credential.
            detail = "the address or a header cannot be sent"
            raise ProviderError(ErrorKind.CONFIG, detail, retryable=False) from error
        self._response = response
        headers = {name.lower(): value for name, value in response.headers.items()}
        self._request_id = request_id_of(headers)
        packed = headers.get("content-encoding", "identity").strip().lower() != "identity"
        if response.status != 200:
            body = b"" if packed else await self._error_body(response)
            raise from_response(response.status, headers, body, self._transport.now())
        if packed:
            raise protocol("a compressed stream, which was not asked for")
        if "text/event-stream" not in headers.get("content-type", ""):
            raise no_stream(await self._error_body(response))
        self._decoder = self._wire.decoder(self._call, self._endpoint)
        self._note_thinking()

    async def _error_body(self, response: aiohttp.ClientResponse) -> bytes:
        """As much of an error's body as we care for; a status alone is also an answer."""
        body = bytearray()
        try:
            async with asyncio.timeout(ERROR_BODY_S):
                while len(body) < ERROR_BYTES_MAX and not response.content.at_eof():
                    body += await response.content.read(ERROR_BYTES_MAX - len(body))
        except (TimeoutError, aiohttp.ClientError, OSError):
            pass
        return bytes(body)

    # Reading.

    async def _pull(self) -> None:
        """One read, decoded. What was decoded before an error is delivered before it."""
        received = await self._read()
        decoder = self._decoder
        assert decoder is not None
        if received is None:
            self._finish(decoder)
            return
        queue = self._queue
        progressed = False
        try:
            for name, data, _ in self._sse.feed(received):
                events = decode(decoder, name, data)
                queue.extend(events)
                progressed = progressed or _shows(events)
                if decoder.closed:
                    break
        except ProviderError as error:
            self._error = error
            self._began = True
            return
        except EventTooLarge as error:
            self._error = protocol(str(error))
            self._began = True
            return
        if decoder.closed:
            self._finish(decoder)
        self._note_thinking()
        self._check_clocks(progressed=progressed)

    async def _read(self) -> bytes | None:
        """The next bytes; None at the end of the stream."""
        response, decoder = self._response, self._decoder
        assert response is not None
        assert decoder is not None
        try:
            if decoder.ended:
                async with asyncio.timeout(self._deadlines.tail_s):
                    return await response.content.readany() or None
            if self._total_at is not None:
                async with asyncio.timeout_at(self._total_at):
                    return await self._next_bytes(response)
            return await self._next_bytes(response)
        except (aiohttp.ClientError, OSError) as error:
            if decoder.ended:  # the end was declared: how the connection went down is no matter
                return None
            raise self._translated(error) from error

    async def _next_bytes(self, response: aiohttp.ClientResponse) -> bytes | None:
        patience_s = self._patience_s
        if patience_s >= self._longest_silence_s:  # the transport's own read timeout
            return await response.content.readany() or None
        async with asyncio.timeout(patience_s):
            return await response.content.readany() or None

    def _finish(self, decoder: Decoder) -> None:
        self._began = True
        try:
            self.final = guarded(decoder.final, self._transport.now())
        except ProviderError as error:
            self._error = error

    # The clocks.

    @property
    def _longest_silence_s(self) -> float:
        return max(self._deadlines.silence_s, self._deadlines.thinking_s)

    @property
    def _patience_s(self) -> float:
        """How long the stream may be silent now."""
        return self._deadlines.thinking_s if self._thinking else self._deadlines.silence_s

    def _note_thinking(self) -> None:
        """Thinking that begins or ends is progress, though no part shows it."""
        decoder = self._decoder
        thinking: bool = decoder.thinking if decoder is not None else False
        if thinking is not self._thinking:
            self._thinking = thinking
            self._progress_at = self._loop.time()
        self._began = self._began or thinking

    def _progress_clock(self) -> tuple[str, float]:
        if self._thinking:
            return "thinking", self._deadlines.thinking_s
        return "progress", self._deadlines.progress_s

    def _check_clocks(self, *, progressed: bool) -> None:
        now = self._loop.time()
        clock, limit_s = self._progress_clock()
        if progressed:
            self._began = True
            self._progress_at = now
        elif not self._began or self.final is not None:
            pass  # before the first part its own deadline counts, after the end none
        elif now - self._progress_at > limit_s:
            self._error = timed_out(clock, limit_s)
        if self.final is None and self._total_at is not None and now >= self._total_at:
            assert self._deadlines.total_s is not None
            self._error = own_deadline(self._deadlines.total_s)

    def _translated(self, error: aiohttp.ClientError | OSError) -> ProviderError:
        total_at, total_s = self._total_at, self._deadlines.total_s
        if total_at is not None and total_s is not None and self._loop.time() >= total_at:
            return own_deadline(total_s)
        silent = isinstance(error, TimeoutError)  # also aiohttp's own, but for that of connecting
        if silent and not isinstance(error, aiohttp.ConnectionTimeoutError):
            return timed_out("thinking" if self._thinking else "silence", self._patience_s)
        return translated(error)

    # Ending.

    def _close(self) -> None:
        if self._response is not None:
            self._response.close()

    def _named(self, error: ProviderError) -> ProviderError:
        told = None if self._decoder is None else self._decoder.response_id
        error.request_id = self._request_id or told or error.request_id
        return error.named(self._endpoint.vendor, self._endpoint.title, self._endpoint.secrets)


def _shows(events: list[Event]) -> bool:
    """Whether there is anything of a part among them."""
    for event in events:  # noqa: SIM110 - once per read of every stream
        if type(event) is not UsageSeen:
            return True
    return False


_WORDS: Final[Sequence[tuple[type[BaseException], ErrorKind, bool, str]]] = (
    (aiohttp.ConnectionTimeoutError, ErrorKind.TIMEOUT, True, "no connection in time"),
    (aiohttp.ClientSSLError, ErrorKind.CONFIG, False, "TLS"),
    (aiohttp.ClientConnectorError, ErrorKind.UNAVAILABLE, True, "no connection"),
    (aiohttp.InvalidURL, ErrorKind.CONFIG, False, "the address is not a URL"),
    (aiohttp.ClientResponseError, ErrorKind.UNKNOWN, True, "not HTTP"),
)
"""What the transport throws, in our words; the first row that fits."""


def translated(error: aiohttp.ClientError | OSError) -> ProviderError:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, AddressRefused):
        return ProviderError(ErrorKind.CONFIG, "address not allowed", retryable=False)
    known = (row[1:] for row in _WORDS if isinstance(error, row[0]))
    kind, retryable, words = next(known, (ErrorKind.STREAM_CLOSED, True, "connection lost"))
    detail = f"{words}: {type(error).__name__}: {error}"
    return ProviderError(kind, detail, retryable=retryable)
