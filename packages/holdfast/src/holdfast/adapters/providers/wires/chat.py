"""The OpenAI Chat Completions wire, and every server that is compatible with it, more or less.

The end is a `finish_reason`; a bare `[DONE]` proves it only for vendors that are flagged so. Where
vendors depart (no `index` on calls, ids that start again, reasoning under three names) the decoder
takes what comes, and `Quirks` says what to send.
"""

from datetime import datetime
from typing import Any, Final, assert_never, cast

import orjson

from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    output_pieces,
    output_text,
)
from holdfast.adapters.providers.errors import ProviderError, filtered, from_event, incomplete
from holdfast.adapters.providers.history import (
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    is_ours,
    prompt_of,
)
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import (
    arguments_of,
    effort_of,
    encode,
    schema_of,
    temperature_of,
    will_think,
)
from holdfast.adapters.providers.types import Call, Endpoint, Object, OneTool, Request
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning, Text, ToolCall
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

_REASONING_FIELDS: Final = ("reasoning_content", "reasoning")


class ChatWire:
    name = "chat"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        names = ToolNames.of(call.tools)
        prompt = prompt_of(call.history, call.system, endpoint.dialect)
        messages: list[Object] = []
        if prompt.system:
            messages.append({"role": "system", "content": "\n\n".join(prompt.system)})
        messages += _messages(prompt.entries, call, endpoint, names)
        body: Object = {"model": call.model.model, "messages": messages}
        quirks = endpoint.quirks
        if quirks.usage_option:
            body["stream_options"] = {"include_usage": True}
        tools = _tools(call, names)
        if tools:
            body["tools"] = tools
            body["tool_choice"] = _tool_choice(call, names)
        if call.output_max is not None:
            body[quirks.output_limit] = call.output_max
        effort = effort_of(call)
        if effort is not None:
            field = quirks.effort_field
            body[field] = effort if field == "reasoning_effort" else {"effort": effort}
        temperature = temperature_of(call)
        if temperature is not None:
            body["temperature"] = temperature
        if call.cache_key and quirks.cache_key:
            body["prompt_cache_key"] = call.cache_key
        url = f"{endpoint.base_url}/chat/completions"
        return Request(url, endpoint.headers, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> "ChatDecoder":
        return ChatDecoder(call, endpoint)


# The request.


def _messages(
    entries: list[Entry], call: Call, endpoint: Endpoint, names: ToolNames
) -> list[Object]:
    messages: list[Object] = []
    for entry in entries:
        match entry:
            case ModelEntry(parts=parts):
                messages.append(_said(parts, endpoint, names))
            case ResultsEntry():
                messages += _answered(entry, call)
            case UserEntry(parts=asked):
                pieces = [asked_pieces(part, call) for part in asked]
                messages.append({"role": "user", "content": _content(pieces)})
    return messages


def _said(parts: list[Part], endpoint: Endpoint, names: ToolNames) -> Object:
    message: Object = {"role": "assistant"}
    texts: list[str] = []
    calls: list[Object] = []
    for part in parts:
        ours = is_ours(part, endpoint.dialect)
        block = cast(Object, part.native.block) if part.native and ours else None
        if type(part) is Text:
            if block and "refusal" in block:
                message["refusal"] = block["refusal"]
            else:
                texts.append(part.text)
        elif type(part) is ToolCall:
            calls.append(_called(part, block, names))
        elif type(part) is Reasoning and block and endpoint.quirks.replays_reasoning:
            message |= block
    message["content"] = "".join(texts) if texts else None
    if calls:
        message["tool_calls"] = calls
    return message


def _called(call: ToolCall, block: Object | None, names: ToolNames) -> Object:
    if block is not None:
        return block if block.get("id") == call.call_id else {**block, "id": call.call_id}
    arguments = orjson.dumps(arguments_of(call)).decode()
    function = {"name": names.name(call.tool), "arguments": arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _answered(entry: ResultsEntry, call: Call) -> list[Object]:
    messages: list[Object] = []
    pictures: list[Piece] = []
    for result in entry.results:
        pieces = output_pieces(result.output, call)
        shown = [piece for piece in pieces if not isinstance(piece, Words)]
        if shown:
            pictures += [Words(f"From the result of {result.call_id}:"), *shown]
        messages.append(
            {"role": "tool", "tool_call_id": result.call_id, "content": output_text(pieces)}
        )
    if pictures:  # tool messages are text only on this wire
        messages.append({"role": "user", "content": _content(pictures)})
    return messages


def _content(pieces: list[Piece]) -> object:
    if len(pieces) == 1 and isinstance(pieces[0], Words):
        return pieces[0].text
    return [_piece(piece) for piece in pieces]


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case Picture():
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case Paper(name=name):
            return {"type": "file", "file": {"filename": name, "file_data": piece.url}}
        case _:
            assert_never(piece)


def _tools(call: Call, names: ToolNames) -> list[Object]:
    ours: list[Object] = [
        {
            "type": "function",
            "function": {
                "name": names.name(tool.name),
                "description": tool.description,
                "parameters": schema_of(tool.schema),
            },
        }
        for tool in call.tools
    ]
    return [*ours, *(dict(tool.block) for tool in call.provider_tools if tool.wire == "chat")]


def _tool_choice(call: Call, names: ToolNames) -> object:
    match call.tool_choice:
        case OneTool(name):
            return {"type": "function", "function": {"name": names.name(name)}}
        case "auto" | "required" | "none":
            return call.tool_choice


# The stream.


class ChatDecoder:
    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._dialect = endpoint.dialect
        self._done_ends = endpoint.quirks.done_ends
        self._names = ToolNames.of(call.tools)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._speaking: Slot | None = None  # the text or reasoning under way
        self._speaking_as = ""
        self._details: list[Object] = []  # OpenRouter's form of reasoning
        self._calls: list[tuple[Slot, Object]] = []
        self._by_index: dict[object, int] = {}
        self._response_id: str | None = None
        self._finish: str | None = None
        self._refused = self._answered = False
        # Such a model thinks first; most servers say nothing until it has words to show.
        self._silent = will_think(call)
        self.usage = Usage()
        self.counted = False
        self.closed = False

    @property
    def thinking(self) -> bool:
        return self._silent or (self._speaking is not None and self._speaking.kind == "reasoning")

    @property
    def ended(self) -> bool:
        return self._finish is not None

    def feed(self, name: str, data: Object | None) -> list[Event]:  # noqa: ARG002
        events: list[Event] = []
        if data is None:
            self.closed = True
            if self._finish is None and self._done_ends:
                self._end("stop", events)
            return events
        if data.get("error"):
            raise from_event(data)
        self._response_id = self._response_id or data.get("id")
        choices: list[Object] = data.get("choices") or []
        if choices:
            choice = choices[0]
            delta: Object | None = choice.get("delta")
            if delta:
                self._delta(delta, events)
            finish = choice.get("finish_reason")
            if finish and self._finish is None:
                self._end(finish, events)
        if events:  # said, and not yet counted; vLLM can count with every event
            self.counted = self._silent = False
        usage: Object | None = data.get("usage")
        if usage:
            self._count(usage, events)
        return events

    def _delta(self, delta: Object, events: list[Event]) -> None:
        content = delta.get("content")
        if content:
            self._speak("text", "content", content, events)
        for field in _REASONING_FIELDS:
            if delta.get(field):
                self._speak("reasoning", field, delta[field], events)
                break
        if delta.get("reasoning_details"):
            self._details += delta["reasoning_details"]
        if delta.get("refusal"):
            self._speak("text", "refusal", delta["refusal"], events)
        for call in delta.get("tool_calls") or ():
            self._call(call, events)
        for annotation in delta.get("annotations") or ():
            citation: Object = annotation.get("url_citation") or annotation
            self._reply.source(citation.get("url"), citation.get("title"), events)
            self._reply.cite_reply(
                citation.get("start_index"), citation.get("end_index"), citation.get("url")
            )

    def _speak(self, kind: str, field: str, text: str, events: list[Event]) -> None:
        slot = self._speaking
        if slot is None or self._speaking_as != field:
            self._fall_silent(events)
            slot = self._reply.text() if kind == "text" else self._reply.reasoning()
            self._speaking, self._speaking_as = slot, field
        self._reply.grow(slot, text, events)

    def _fall_silent(self, events: list[Event]) -> None:
        slot = self._speaking
        if slot is None:
            return
        self._speaking = None
        if slot.kind == "text":
            refusal = self._speaking_as == "refusal"
            self._refused = self._refused or refusal
            self._answered = self._answered or not (refusal or not slot.text.strip())
            native = Native(self._dialect, {"refusal": slot.text}) if refusal else None
            self._reply.finish_text(slot, native, events)
        else:
            block: Object = {self._speaking_as: slot.text}
            if self._details:
                block = {"reasoning_details": _merged(self._details)}
                self._details = []
            self._reply.finish_reasoning(slot, Native(self._dialect, block), events)

    def _call(self, delta: Object, events: list[Event]) -> None:
        self._fall_silent(events)
        function: Object = delta.get("function") or {}
        raw_id, index = delta.get("id"), delta.get("index")
        place = self._by_index.get(index) if index is not None else len(self._calls) - 1
        if place is not None and place >= 0 and raw_id:
            # Some servers number every call 0, or not at all: a new id is a new call.
            known = self._calls[place][1].get("id")
            place = place if known == raw_id else None
        if place is None or place < 0:
            place = len(self._calls)
            call_id = self._ids.give(raw_id, self._response_id)
            tool = self._names.tool(function["name"])
            slot = self._reply.call(call_id, tool, events)
            extras = {k: v for k, v in delta.items() if k not in ("index", "function")}
            block: Object = {"id": raw_id or call_id, "type": "function", **extras}
            block["function"] = {"name": function["name"], "arguments": ""}
            self._calls.append((slot, block))
        if index is not None:
            self._by_index[index] = place
        arguments: Any = function.get("arguments")
        if arguments:
            text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
            self._reply.grow(self._calls[place][0], text, events)

    def _end(self, finish: str, events: list[Event]) -> None:
        if self._details and self._speaking is None:
            block: Object = {"reasoning_details": _merged(self._details)}
            self._details = []
            self._reply.add(Reasoning("", None, Native(self._dialect, block)), events)
        self._fall_silent(events)
        for slot, block in self._calls:
            self._answered = True
            arguments = parsed_arguments(slot.text)
            block["function"]["arguments"] = slot.text or "{}"
            self._reply.finish_call(slot, arguments, Native(self._dialect, block), events)
        self._calls = []
        self._finish = finish

    def _count(self, usage: Object, events: list[Event]) -> None:
        sent: Object = usage.get("prompt_tokens_details") or {}
        received: Object = usage.get("completion_tokens_details") or {}
        cached = sent.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
        self.usage = Usage(
            input=usage.get("prompt_tokens") or 0,
            cache_read=cached or 0,
            cache_write_5m=sent.get("cache_write_tokens") or 0,
            output=usage.get("completion_tokens") or 0,
            reasoning=received.get("reasoning_tokens") or 0,
        )
        self.counted = self.usage.input > 0 and usage.get("completion_tokens") is not None
        events.append(UsageSeen(self.usage))

    def final(self, now: datetime) -> models.Reply:
        finish = self._finish
        if finish is None:
            raise incomplete()
        if finish == "content_filter":
            raise filtered(finish)
        if self._refused and not self._answered:  # whatever politeness went with it (L42)
            raise filtered("refusal")
        if finish == "error":
            raise ProviderError(
                ErrorKind.UNAVAILABLE, "the server finished with an error", retryable=True
            )
        return self._reply.final(
            now=now,
            ending=Ending.LENGTH if finish == "length" else Ending.COMPLETE,
            usage=self.usage if self.counted else None,
            finish=finish,
            response_id=self._response_id,
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)


def _merged(details: list[Object]) -> list[Object]:
    """OpenRouter streams each entry in pieces: the same index and type is the same entry."""
    merged: list[Object] = []
    for detail in details:
        last = merged[-1] if merged else None
        same = last is not None and all(last.get(k) == detail.get(k) for k in ("type", "index"))
        if last is None or not same:
            merged.append(dict(detail))
            continue
        for key, value in detail.items():
            if key in ("text", "summary", "data") and isinstance(last.get(key), str) and value:
                last[key] += value
            elif value is not None:
                last[key] = value
    return merged
