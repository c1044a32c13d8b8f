"""The Anthropic Messages wire.

Easy to get wrong, and therefore here: `signature_delta` grows the block; `citations_delta` comes
before or between the text; usage is cumulative and `message_delta` may leave fields out or null;
an empty tool input means `{}`; `pause_turn` wants the same messages again; the end is
`message_stop` together with a `stop_reason`, not one of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, cast

from holdfast.adapters.providers.errors import (
    filtered,
    from_event,
    incomplete,
    note_unknown,
    protocol,
)
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import Handlers, ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import tier_of
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    Request,
)
from holdfast.adapters.providers.wires.anthropic_request import CONTAINER, messages_request
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

DOUBLED_MIN: Final = 3
"""Different deltas that all came twice before we believe that it is not the model's way to talk."""
_WHOLE: Final = frozenset({"end_turn", "stop_sequence", "tool_use"})
_ENDINGS: Final[Mapping[str, Ending]] = {
    "max_tokens": Ending.LENGTH,
    "model_context_window_exceeded": Ending.LENGTH,
    "pause_turn": Ending.PAUSED,
}


class AnthropicWire:
    name = "anthropic"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        return messages_request(call, endpoint)

    def decoder(self, call: Call, endpoint: Endpoint) -> "AnthropicDecoder":
        return AnthropicDecoder(call, endpoint)


class AnthropicDecoder:
    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._dialect = endpoint.dialect
        self._names = ToolNames.of(call.tools)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._blocks: dict[int, tuple[Slot | None, Object]] = {}
        self._started = 0
        self.response_id: str | None = None
        self._stop: str | None = None
        self._stop_details: Object = {}
        self._provider_tools: dict[str, str] = {}
        self._code_runs = 0
        self.usage = Usage()
        self.counted = False
        self.thinking = False
        self.ended = False

    @property
    def closed(self) -> bool:
        return self.ended

    def feed(self, name: str, data: Object | None) -> list[Event]:  # noqa: ARG002
        events: list[Event] = []
        handle = self._HANDLERS.get(data["type"]) if data else None
        if handle is not None and data is not None:  # pings, and what is yet to be invented, pass
            handle(self, data, events)
        return events

    def _begin(self, data: Object, events: list[Event]) -> None:
        message = data["message"]
        self.response_id = message.get("id")
        self._count(message.get("usage"), events)

    def _message_delta(self, data: Object, events: list[Event]) -> None:
        self._stop = data["delta"].get("stop_reason") or self._stop
        self._stop_details = data["delta"].get("stop_details") or self._stop_details
        self._keep_container(data["delta"].get("container"), events)
        usage: Object = data.get("usage") or {}
        self._count(usage, events)
        # The opening tells the input; how much was said is told only here.
        self.counted = self.usage.input > 0 and usage.get("output_tokens") is not None

    def _keep_container(self, container: Object | None, events: list[Event]) -> None:
        """The provider ran code there: the next request names it. Nothing else says so later."""
        if container and container.get("id"):
            native = Native(self._dialect, {CONTAINER: container["id"]})
            self._reply.add(Reasoning("", None, native), events)

    def _message_stop(self, data: Object, events: list[Event]) -> None:  # noqa: ARG002
        if self._blocks:
            raise protocol("message_stop inside a content block", retryable=True)
        self.ended = self._stop is not None

    def _fail(self, data: Object, events: list[Event]) -> None:  # noqa: ARG002
        raise from_event(data)

    def _start(self, data: Object, events: list[Event]) -> None:
        index, block = (
            data["index"],
            {k: v for k, v in data["content_block"].items() if v is not None},
        )
        if index != self._started:
            raise protocol(f"content block {index} where {self._started} belongs", retryable=True)
        self._started += 1
        kind: str = block["type"]
        slot: Slot | None = None
        if kind == "text":
            slot = self._reply.text()
            self._reply.grow(slot, block["text"], events)
        elif kind == "thinking":
            slot = self._reply.reasoning()
            self._reply.grow(slot, block["thinking"], events)
            self.thinking = True
        elif kind == "tool_use":
            call_id = self._ids.give(block["id"], self.response_id)
            slot = self._reply.call(call_id, self._names.tool(block["name"]), events)
        elif kind in ("server_tool_use", "mcp_tool_use"):
            self._provider_tools[block["id"]] = block["name"]
            self._code_runs += "code_execution" in block["name"]
            slot = self._reply.call(CallId(block["id"]), block["name"], events, "provider")
        self._blocks[index] = (slot, block)

    def _delta(self, data: Object, events: list[Event]) -> None:
        slot, block = self._blocks[data["index"]]
        delta = data["delta"]
        kind = delta["type"]
        if kind == "text_delta":
            self._grow(slot, "text", delta["text"], events)
        elif kind == "thinking_delta":
            self._grow(slot, "reasoning", delta["thinking"], events)
        elif kind == "input_json_delta":
            self._grow(slot, "call", delta["partial_json"], events)
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif kind == "citations_delta":
            citation = delta["citation"]
            block["citations"] = [*(block.get("citations") or ()), citation]
            self._reply.source(citation.get("url"), citation.get("title"), events)

    def _grow(
        self,
        slot: Slot | None,
        kind: Literal["text", "reasoning", "call"],
        text: str,
        events: list[Event],
    ) -> None:
        if slot is None or slot.kind != kind:
            raise protocol(f"a {kind} delta in another block", retryable=True)
        self._reply.grow(slot, text, events)

    def _stop_block(self, data: Object, events: list[Event]) -> None:
        slot, block = self._blocks.pop(data["index"])
        self.thinking = False
        if slot is None:
            self._reply.add(self._whole(block), events)
            return
        native = Native(self._dialect, block)
        if slot.kind == "text":
            block["text"] = slot.text
            for citation in block.get("citations") or ():  # of the whole block
                self._reply.cite(slot, 0, len(slot.text), citation.get("url"))
            self._reply.finish_text(slot, native, events)
        elif slot.kind == "reasoning":
            block["thinking"] = slot.text
            # Its signature would be refused in every later prompt, and the chat with it (M5).
            signed = None if _came_twice(slot.pieces, block) else native
            self._reply.finish_reasoning(slot, signed, events)
        else:
            # Without deltas the input came whole, in the start of the block.
            given = block.get("input") if not slot.pieces else None
            arguments = cast(Object, given) if given else parsed_arguments(slot.text)
            block["input"] = arguments
            self._reply.finish_call(slot, arguments, native, events)

    def _whole(self, block: Object) -> Part:
        """A block without deltas: a provider's result, or something only it understands."""
        native = Native(self._dialect, block)
        call_id = block.get("tool_use_id")
        if not call_id:
            return Reasoning("", None, native)
        content: object = block.get("content")
        failed = block.get("is_error") is True or (
            isinstance(content, dict) and "error_code" in content
        )
        tool = self._provider_tools.get(call_id, str(block["type"]).removesuffix("_tool_result"))
        return ToolResult(
            CallId(call_id),
            tool,
            _shown(cast(object, content)),
            failed=failed,
            runs_at="provider",
            native=native,
        )

    def _count(self, usage: Object | None, events: list[Event]) -> None:
        if not usage:
            return
        old = self.usage
        read = _or(usage.get("cache_read_input_tokens"), old.cache_read)
        written = usage.get("cache_creation_input_tokens")
        split: Object = usage.get("cache_creation") or {}
        long = _or(split.get("ephemeral_1h_input_tokens"), old.cache_write_1h)
        short = _or(
            split.get("ephemeral_5m_input_tokens"),
            old.cache_write_5m if written is None else written - long,
        )
        old_plain = old.input - old.cache_read - old.cache_write_5m - old.cache_write_1h
        plain = _or(usage.get("input_tokens"), old_plain)
        tools: Object = usage.get("server_tool_use") or {}
        details: Object = usage.get("output_tokens_details") or {}
        self.usage = replace(
            old,
            input=plain + read + short + long,
            cache_read=read,
            cache_write_5m=short,
            cache_write_1h=long,
            output=_or(usage.get("output_tokens"), old.output),
            reasoning=_or(details.get("thinking_tokens"), old.reasoning),
            searches=_or(tools.get("web_search_requests"), old.searches),
            fetches=_or(tools.get("web_fetch_requests"), old.fetches),
            code_runs=self._code_runs,
            service_tier=tier_of(usage.get("service_tier")) or old.service_tier,
        )
        events.append(UsageSeen(self.usage))

    def final(self, now: datetime) -> models.Reply:
        if not self.ended or self._stop is None:
            raise incomplete()
        if self._stop == "refusal":
            raise filtered(self._stop, self._stop_details)
        if self._stop not in _WHOLE and self._stop not in _ENDINGS:
            note_unknown("stop_reason", self._stop)
        return self._reply.final(
            now=now,
            ending=_ENDINGS.get(self._stop, Ending.COMPLETE),
            usage=self.usage if self.counted else None,
            finish=self._stop,
            response_id=self.response_id,
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)

    _HANDLERS: ClassVar[Handlers] = {
        "content_block_delta": _delta,
        "content_block_start": _start,
        "content_block_stop": _stop_block,
        "message_start": _begin,
        "message_delta": _message_delta,
        "message_stop": _message_stop,
        "error": _fail,
    }


def _or(value: int | None, old: int) -> int:
    return old if value is None else value


def _came_twice(pieces: list[str], block: Object) -> bool:
    """Whether thinking is surely not what was signed: every delta of it, or the signature, came
    twice. Deltas have no number, and a model does not think every word twice."""
    firsts, seconds = pieces[::2], pieces[1::2]
    signature: str = block.get("signature") or ""
    half = len(signature) // 2
    return (len(set(firsts)) >= DOUBLED_MIN and firsts == seconds) or (
        half > 0 and signature[:half] == signature[half:]
    )


def _shown(content: object) -> Any:  # noqa: ANN401 - any JSON
    """A provider's result for readers: without the ciphertext that only the provider reads."""
    if isinstance(content, list):
        return [_shown(item) for item in cast(list[object], content)]
    if isinstance(content, dict):
        items = cast(Object, content).items()
        return {key: value for key, value in items if not key.startswith("encrypted_")}
    return content
