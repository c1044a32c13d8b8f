"""The long tail (Converse, Cohere, Groq, …) through pydantic-ai. Extra: `holdfast[pydantic-ai]`.

Fails closed: a reply counts only if it is complete *and* carries the provider's own finish reason,
because the library takes a truncated stream for an answer on several protocols. What this bridge
cannot promise it refuses: provider-executed tools, forced tools. Blocks are not kept verbatim, so
reasoning does not go back.
"""

import asyncio
import base64
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType
from typing import Any, Self, cast

import orjson
from pydantic_ai import exceptions, messages
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from holdfast.adapters.providers.content import (
    Picture,
    Words,
    asked_pieces,
    marked_pieces,
    output_text,
)
from holdfast.adapters.providers.errors import (
    ProviderError,
    filtered,
    from_response,
    incomplete,
    protocol,
    timed_out,
)
from holdfast.adapters.providers.history import ModelEntry, ResultsEntry, UserEntry, prompt_of
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import arguments_of, schema_of
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.types import Call
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import File, Part, Text, ToolCall
from holdfast.ports import models
from holdfast.ports.models import Event, Usage

DIALECT = "pydantic-ai"


class BridgeStream:
    """Looks like a `ModelStream`; enter and leave it in the same task."""

    def __init__(
        self,
        model: Model,
        call: Call,
        now: Callable[[], datetime],
        deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
        *,
        vendor: str = DIALECT,
    ) -> None:
        self._model = model
        self._call = call
        self._now = now
        self._deadlines = deadlines
        self._vendor = vendor
        self._names = ToolNames.of(call.tools)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._slots: dict[int, Slot] = {}
        self._queue: deque[Event] = deque()
        self._stack = AsyncExitStack()
        self._stream: StreamedResponse | None = None
        self._events: AsyncIterator[Any] | None = None
        self.final: models.Reply | None = None

    @property
    def opened(self) -> bool:
        return self._stream is not None

    @property
    def usage(self) -> Usage | None:
        """What was billed; the library does not tell whether a count is the last one, so that it
        is None unless the reply ended well."""
        if self._stream is None:
            return Usage()
        return self.final.usage if self.final else None

    @property
    def usage_min(self) -> Usage:
        """What was billed at least."""
        if self._stream is None:
            return Usage()
        used = self._stream.usage
        return Usage(
            input=used.input_tokens,
            cache_read=used.cache_read_tokens,
            cache_write_5m=used.cache_write_tokens - (used.cache_write_1h_tokens or 0),
            cache_write_1h=used.cache_write_1h_tokens or 0,
            output=used.output_tokens,
        )

    def partial(self) -> tuple[Part, ...]:
        return self._reply.partial(self._now())

    async def __aenter__(self) -> Self:
        call = self._call
        if call.provider_tools or call.tool_choice != "auto":
            detail = "the bridge knows neither provider-executed nor forced tools"
            raise ProviderError(ErrorKind.CONFIG, detail, retryable=False, provider=self._vendor)
        first_s = self._deadlines.first_part_s
        try:
            async with asyncio.timeout(first_s):
                self._stream = await self._stack.enter_async_context(
                    model_request_stream(
                        self._model,
                        _messages(call, self._names),
                        model_settings=_settings(call),
                        model_request_parameters=_parameters(call, self._names),
                    )
                )
                self._events = aiter(self._stream)
                while not self._queue and self.final is None:
                    await self._pull()
        except TimeoutError as error:
            await self._stack.aclose()
            raise timed_out("first-part", first_s).named(self._vendor) from error
        except Exception as error:
            await self._stack.aclose()
            raise self._classified(error) from error
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            if self.final is not None:
                raise StopAsyncIteration
            try:
                async with asyncio.timeout(self._deadlines.progress_s):
                    await self._pull()
            except TimeoutError as error:
                raise timed_out("progress", self._deadlines.progress_s).named(
                    self._vendor
                ) from error
            except Exception as error:
                raise self._classified(error) from error
        return self._queue.popleft()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _pull(self) -> None:
        assert self._events is not None
        try:
            event = await anext(self._events)
        except StopAsyncIteration:
            self.final = self._finish()
            return
        events: list[Event] = []
        match event:
            case messages.PartStartEvent(index=index, part=part):
                self._start(index, part, events)
            case messages.PartDeltaEvent(index=index, delta=delta):
                slot = self._slots.get(index)
                if slot is not None:
                    self._reply.grow(slot, _grown(delta), events)
            case _:
                pass
        self._queue.extend(events)

    def _start(self, index: int, part: object, events: list[Event]) -> None:
        match part:
            case messages.TextPart(content=content):
                slot = self._reply.text()
            case messages.ThinkingPart(content=content):
                slot = self._reply.reasoning()
            case messages.ToolCallPart():
                call_id = self._ids.give(part.tool_call_id, None)
                slot = self._reply.call(call_id, self._names.tool(part.tool_name), events)
                content = _as_text(part.args)
            case _:
                raise protocol(f"a part of type {type(part).__name__}")
        self._slots[index] = slot
        self._reply.grow(slot, content, events)

    def _finish(self) -> models.Reply:
        """The reply, if the provider itself said that it is one."""
        assert self._stream is not None
        response = self._stream.get()
        raw = (response.provider_details or {}).get("finish_reason")
        if response.finish_reason == "content_filter":
            raise filtered(str(raw or "content_filter"))
        if response.state != "complete" or not raw:
            raise incomplete()
        events: list[Event] = []
        for slot in self._slots.values():
            if slot.kind == "text":
                self._reply.finish_text(slot, None, events)
            elif slot.kind == "reasoning":
                self._reply.finish_reasoning(slot, None, events)
            else:
                self._reply.finish_call(slot, parsed_arguments(slot.text), None, events)
        self._queue.extend(events)
        used = self.usage_min
        return self._reply.final(
            now=self._now(),
            ending=Ending.LENGTH if response.finish_reason == "length" else Ending.COMPLETE,
            usage=used if used.input and used.output else None,
            finish=str(raw),
            response_id=response.provider_response_id,
        )

    def _classified(self, error: Exception) -> ProviderError:
        return classified(error, self._now()).named(self._vendor)


def classified(error: Exception, now: datetime) -> ProviderError:
    """The library's errors in our words; what it does not name is not retried."""
    match error:
        case ProviderError():
            return error
        case exceptions.ModelHTTPError():
            body = orjson.dumps(error.body, default=str)
            return from_response(error.status_code, {}, body, now)
        case exceptions.ModelTimeoutError() | exceptions.ModelRequestTimeout():
            return ProviderError(ErrorKind.TIMEOUT, str(error), retryable=True)
        case exceptions.ModelConnectionError():
            return ProviderError(ErrorKind.STREAM_CLOSED, str(error), retryable=True)
        case exceptions.UserError():
            return ProviderError(ErrorKind.CONFIG, str(error), retryable=False)
        case _:
            return protocol(f"{type(error).__name__}: {error}")


def _grown(delta: object) -> str:
    match delta:
        case messages.TextPartDelta(content_delta=text):
            return text
        case messages.ThinkingPartDelta(content_delta=text):
            return text or ""
        case messages.ToolCallPartDelta(args_delta=arguments):
            return _as_text(arguments)
        case _:
            raise protocol(f"a delta of type {type(delta).__name__}")


def _as_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    return orjson.dumps(arguments).decode() if arguments else ""


# The request.


def _settings(call: Call) -> ModelSettings:
    settings: dict[str, Any] = {**call.extra, "max_retries": 0}  # attempts are ours to count
    if call.output_max is not None:
        settings["max_tokens"] = call.output_max
    if call.temperature is not None and call.model.sampling:
        settings["temperature"] = call.temperature
    return cast(ModelSettings, settings)


def _parameters(call: Call, names: ToolNames) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=names.name(tool.name),
                description=tool.description,
                parameters_json_schema=schema_of(tool.schema),
                strict=False,  # else the library rewrites the schema
            )
            for tool in call.tools
        ]
    )


def _messages(call: Call, names: ToolNames) -> list[messages.ModelMessage]:
    prompt = prompt_of(call.history, call.system, DIALECT)
    sent: list[messages.ModelMessage] = []
    if prompt.system:
        system = messages.SystemPromptPart(content="\n\n".join(prompt.system))
        sent.append(messages.ModelRequest(parts=[system]))
    for entry in prompt.entries:
        match entry:
            case ModelEntry(parts=parts):
                said = [_said(part, names) for part in parts]
                sent.append(messages.ModelResponse(parts=said))
            case ResultsEntry(results=results):
                returns = [
                    messages.ToolReturnPart(
                        tool_name=names.name(result.tool),
                        content=output_text(marked_pieces(result, call)),
                        tool_call_id=result.call_id,
                    )
                    for result in results
                ]
                sent.append(messages.ModelRequest(parts=returns))
            case UserEntry(parts=asked):
                content = [_asked(part, call) for part in asked]
                sent.append(messages.ModelRequest(parts=[messages.UserPromptPart(content=content)]))
    return sent


def _said(part: Part, names: ToolNames) -> messages.TextPart | messages.ToolCallPart:
    if isinstance(part, Text):
        return messages.TextPart(content=part.text)
    assert isinstance(part, ToolCall), f"a foreign {part.kind} in the prompt"
    return messages.ToolCallPart(
        tool_name=names.name(part.tool),
        args=dict(arguments_of(part)),
        tool_call_id=part.call_id,
    )


def _asked(part: Text | File, call: Call) -> str | messages.BinaryContent:
    piece = asked_pieces(part, call)
    if isinstance(piece, Words):
        return piece.text
    media_type = piece.media_type if isinstance(piece, Picture) else "application/pdf"
    return messages.BinaryContent(data=base64.b64decode(piece.base64), media_type=media_type)
