"""The OpenAI Chat Completions wire, and every server that is compatible with it, more or less.

The end is a `finish_reason`; a bare `[DONE]` proves it only for vendors that are flagged so. Where
vendors depart (no `index` on calls, ids that start again, reasoning under three names) the decoder
takes what comes, and `Quirks` says what to send.
"""

import logging
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any, Final, cast

import orjson

from holdfast.adapters.providers.errors import ProviderError, filtered, from_event, incomplete
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import encode, tier_of, will_think
from holdfast.adapters.providers.types import Call, Endpoint, Object, Request
from holdfast.adapters.providers.wires.chat_details import merged
from holdfast.adapters.providers.wires.chat_request import REASONING_FIELDS, chat_body
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

_COMPLETE: Final = frozenset({"stop", "tool_calls", "function_call", "eos"})
_CUT: Final = frozenset({"length", "model_length"})
_BROKEN: Final = frozenset({"abort", "error", "insufficient_system_resource"})
_MICROS: Final = 1_000_000
_log: Final = logging.getLogger(__name__)


@lru_cache(maxsize=64)
def log_once(vendor: str, finish: str) -> None:
    """The cache makes it once per process."""
    _log.warning(
        "providers: unknown finish reason", extra={"vendor": vendor, "finish": finish[:100]}
    )


class ChatWire:
    name = "chat"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        body = chat_body(call, endpoint)
        url = f"{endpoint.base_url}/chat/completions"
        return Request(url, endpoint.headers, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> "ChatDecoder":
        return ChatDecoder(call, endpoint)


class ChatDecoder:
    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._dialect = endpoint.dialect
        self._vendor = endpoint.vendor
        self._done_ends = endpoint.quirks.done_ends
        self._tells_cost = endpoint.quirks.tells_cost
        self._names = ToolNames.of(call.tools)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._speaking: Slot | None = None  # the text or reasoning under way
        self._speaking_as = ""
        self._details: list[Object] = []  # OpenRouter's form of reasoning
        self._chunk: Object = {}  # what Mistral says of a thinking chunk beside its text
        self._calls: list[tuple[Slot, Object]] = []
        self._by_index: dict[object, int] = {}
        self.response_id: str | None = None
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
        self.response_id = self.response_id or data.get("id")
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
            self._count(usage, events, data.get("service_tier"))
        return events

    def _delta(self, delta: Object, events: list[Event]) -> None:
        content = delta.get("content")
        if isinstance(content, list):
            self._chunks(cast(list[Object], content), events)
        elif content:
            self._speak("text", "content", content, events)
        for field in REASONING_FIELDS:
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

    def _chunks(self, chunks: list[Object], events: list[Event]) -> None:
        """Mistral's form of content: thinking and text as typed chunks."""
        for chunk in chunks:
            if chunk["type"] == "text":
                self._speak("text", "content", chunk["text"], events)
            elif chunk["type"] == "thinking":
                for thought in chunk["thinking"]:
                    self._speak("reasoning", "thinking", thought.get("text") or "", events)
                extras = ((k, v) for k, v in chunk.items() if k not in ("type", "thinking"))
                self._chunk |= {key: value for key, value in extras if value is not None}

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
                block = self._take_details()
            elif self._speaking_as == "thinking":
                said = [{"type": "text", "text": slot.text}]
                block = {"type": "thinking", "thinking": said, **self._chunk}
                self._chunk = {}
            self._reply.finish_reasoning(slot, Native(self._dialect, block), events)

    def _take_details(self) -> Object:
        block: Object = {"reasoning_details": merged(self._details)}
        self._details = []
        return block

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
            call_id = self._ids.give(raw_id, self.response_id)
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
        self._fall_silent(events)
        if self._details:  # came with or after the text or the call, and goes back with them
            native = Native(self._dialect, self._take_details())
            self._reply.add(Reasoning("", None, native), events)
        for slot, block in self._calls:
            self._answered = True
            arguments = parsed_arguments(slot.text)
            block["function"]["arguments"] = slot.text or "{}"
            self._reply.finish_call(slot, arguments, Native(self._dialect, block), events)
        self._calls = []
        self._finish = finish

    def _count(self, usage: Object, events: list[Event], tier: object = None) -> None:
        sent: Object = usage.get("prompt_tokens_details") or {}
        received: Object = usage.get("completion_tokens_details") or {}
        cached = sent.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
        self.usage = Usage(
            input=usage.get("prompt_tokens") or 0,
            cache_read=cached or 0,
            cache_write_5m=sent.get("cache_write_tokens") or 0,
            output=usage.get("completion_tokens") or 0,
            reasoning=received.get("reasoning_tokens") or 0,
            service_tier=tier_of(tier),
            billed_micros=_micros(usage.get("cost")) if self._tells_cost else None,
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
        if finish in _BROKEN:
            detail = f"the server finished with {finish!r}"
            raise ProviderError(ErrorKind.UNAVAILABLE, detail, retryable=True)
        if finish not in _COMPLETE and finish not in _CUT:
            self._judge_unknown(finish)
        return self._reply.final(
            now=now,
            ending=Ending.LENGTH if finish in _CUT else Ending.COMPLETE,
            usage=self.usage if self.counted else None,
            finish=finish,
            response_id=self.response_id,
        )

    def _judge_unknown(self, finish: str) -> None:
        """An end of a name that we do not know is one only if nothing is missing."""
        if self._reply.malformed or not self._answered:
            raise incomplete(f"finished with {finish!r} and without a whole answer")
        log_once(self._vendor, finish)

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)


def _micros(dollars: object) -> int | None:
    """Whole micro-dollars, rounded up. None: it was not told."""
    if isinstance(dollars, bool) or not isinstance(dollars, (int, float)):
        return None
    # As decimal digits: 0.0000135 dollars are 13.5 micro-dollars and no binary neighbour of it.
    exact = Decimal(str(dollars)) * _MICROS
    if not exact.is_finite() or exact < 0:
        return None
    return int(exact.to_integral_value(rounding=ROUND_CEILING))
