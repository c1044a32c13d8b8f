"""The Anthropic Messages wire.

Easy to get wrong, and therefore here: `signature_delta` grows the block; `citations_delta` comes
before or between the text; usage is cumulative and `message_delta` may leave fields out or null;
an empty tool input means `{}`; `pause_turn` wants the same messages again; the end is
`message_stop` together with a `stop_reason`, not one of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, assert_never, cast

from holdfast.adapters.providers import types
from holdfast.adapters.providers.binding import BETA, accepted, dropping, unbound
from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    output_pieces,
)
from holdfast.adapters.providers.errors import (
    filtered,
    from_event,
    incomplete,
    note_unknown,
    protocol,
)
from holdfast.adapters.providers.history import (
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    is_ours,
    prompt_of,
)
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import Handlers, ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import (
    arguments_of,
    effort_of,
    encode,
    schema_of,
    temperature_of,
)
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    OneTool,
    Request,
    ThinkingReplay,
    ThinkingStyle,
)
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

VERSION: Final = "2023-06-01"
GOOGLE_CLOUD_VERSION: Final = "2026-10-21"
BREAKPOINTS_MAX: Final = 4
BUDGET_MIN: Final = 1024
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
        names = ToolNames.of(call.tools)
        history = unbound(call.history, call.bound_from)
        prompt = prompt_of(history, call.system, endpoint.dialect)
        prompt.entries = accepted(prompt.entries, call.thinking_replay)
        limit = call.output_max or call.model.output_max
        body: Object = {
            "model": call.model.model,
            "max_tokens": limit,
            "messages": _messages(prompt.entries, call, endpoint.dialect, names),
        }
        if prompt.system:
            body["system"] = [{"type": "text", "text": text} for text in prompt.system]
        tools = _tools(call, names)
        if tools:
            body["tools"] = tools
            body["tool_choice"] = _tool_choice(call, names)
        thinking = _thinking(call, limit, prompt.entries, endpoint.dialect)
        betas = call.model.betas
        if call.thinking_replay is ThinkingReplay.DROP_STALE and (
            tolerant := dropping(thinking.get("thinking"))
        ):
            thinking, betas = {**thinking, "thinking": tolerant}, (*betas, BETA)
        body |= thinking
        temperature = temperature_of(call)
        if temperature is not None and "thinking" not in thinking:
            body["temperature"] = temperature
        _mark(body, call)
        headers = {"anthropic-version": VERSION, **endpoint.headers}
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        url = f"{endpoint.base_url}/v1/messages"
        if endpoint.quirks.model_in_url:
            url = f"{endpoint.base_url}/models/{body.pop('model')}:streamRawPredict"
            body["anthropic_version"] = GOOGLE_CLOUD_VERSION
        return Request(url, headers, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> "AnthropicDecoder":
        return AnthropicDecoder(call, endpoint)


# The request.


def _messages(entries: list[Entry], call: Call, dialect: str, names: ToolNames) -> list[Object]:
    messages: list[Object] = []
    for entry in entries:
        match entry:
            case ModelEntry(parts=parts):
                said = [_said(part, dialect, names) for part in parts]
                messages.append({"role": "assistant", "content": said})
                continue
            case ResultsEntry(results=results):
                content = [_result(result, call) for result in results]
            case UserEntry(parts=asked):
                content = [_piece(asked_pieces(part, call)) for part in asked]
        last = messages[-1] if messages else None
        if last is not None and last["role"] == "user":
            last["content"] += content  # results first, then what the user says to them
        else:
            messages.append({"role": "user", "content": content})
    return messages


def _said(part: Part, dialect: str, names: ToolNames) -> Object:
    native = part.native
    if native is not None and native.wire == dialect:
        block = cast(Object, native.block)
        if type(part) is ToolCall and block["id"] != part.call_id:
            return {**block, "id": part.call_id}
        return block
    if type(part) is Text:
        return {"type": "text", "text": part.text}
    assert type(part) is ToolCall, f"a foreign {part.kind} in the prompt"
    return {
        "type": "tool_use",
        "id": part.call_id,
        "name": names.name(part.tool),
        "input": arguments_of(part),
    }


def _result(result: ToolResult, call: Call) -> Object:
    pieces = output_pieces(result.output, call)
    only = pieces[0]
    content: object = (
        only.text
        if len(pieces) == 1 and isinstance(only, Words)
        else [_piece(piece) for piece in pieces]
    )
    block: Object = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    if result.failed:
        block["is_error"] = True
    return block


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case Picture(media_type, data):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "image", "source": source}
        case Paper(name, data):
            source = {"type": "base64", "media_type": "application/pdf", "data": data}
            return {"type": "document", "source": source, "title": name}
        case _:
            assert_never(piece)


def _tools(call: Call, names: ToolNames) -> list[Object]:
    ours = [
        {
            "name": names.name(tool.name),
            "description": tool.description,
            "input_schema": schema_of(tool.schema),
        }
        for tool in call.tools
    ]
    theirs = [dict(tool.block) for tool in call.provider_tools if tool.wire == "anthropic"]
    return [*ours, *theirs]


def _tool_choice(call: Call, names: ToolNames) -> Object:
    match call.tool_choice:
        case OneTool(name):
            return {"type": "tool", "name": names.name(name)}
        case "required":
            return {"type": "any"}
        case "auto" | "none":
            return {"type": call.tool_choice}


def _thinking(call: Call, limit: int, entries: list[Entry], dialect: str) -> Object:
    effort = effort_of(call)
    facts = call.model
    if effort == "none" or (effort is None and not facts.thinks):
        return {}
    forced = bool(call.tools) and call.tool_choice not in ("auto", "none")
    if facts.thinking is ThinkingStyle.ADAPTIVE:
        config: Object = {"output_config": {"effort": effort}} if effort is not None else {}
        if forced:  # the provider refuses thinking with a forced call
            return config
        thinking = {"type": "adaptive"}
        if facts.thinking_display:
            thinking["display"] = facts.thinking_display
        return {"thinking": thinking, **config}
    if effort is None:
        return {}
    budget = min(facts.budgets.get(effort, BUDGET_MIN), limit - BUDGET_MIN)
    if forced or budget < BUDGET_MIN or _starts_without_thinking(entries, dialect):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _starts_without_thinking(entries: list[Entry], dialect: str) -> bool:
    """Whether we are inside tool use that another wire began.

    With a thinking budget the provider wants the open message to begin with its own thinking;
    there is none, so this call goes without.
    """
    if len(entries) < 2 or type(entries[-1]) is not ResultsEntry:
        return False
    said = entries[-2]
    assert type(said) is ModelEntry
    first = said.parts[0]
    return not (type(first) is Reasoning and is_ours(first, dialect))


def _mark(body: Object, call: Call) -> None:
    """Cache breakpoints: tools, system, and the ends of the last two user messages."""
    policy = call.cache
    if policy.prefix:
        for key in ("tools", "system"):
            if body.get(key):
                _mark_last(body[key], policy.prefix)
    if policy.tail:
        users = [message for message in body["messages"] if message["role"] == "user"]
        for message in users[-2:]:
            _mark_last(message["content"], policy.tail)


def _mark_last(blocks: list[Object], ttl: types.Ttl) -> None:
    control: Object = {"type": "ephemeral"}
    if ttl != "5m":
        control["ttl"] = ttl
    blocks[-1] = {**blocks[-1], "cache_control": control}


# The stream.


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
        usage: Object = data.get("usage") or {}
        self._count(usage, events)
        # The opening tells the input; how much was said is told only here.
        self.counted = self.usage.input > 0 and usage.get("output_tokens") is not None

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
