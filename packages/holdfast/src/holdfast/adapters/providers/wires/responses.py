"""The OpenAI Responses wire, without state at the provider (`store: false`).

Reasoning goes back encrypted, and only together with the item that followed it: the provider
refuses one without the other. `output_item.done` is the truth about an item; its ciphertext differs
from the one in `.added`. The end is `response.completed` or `response.incomplete`.
"""

import json
from datetime import datetime
from typing import Any, ClassVar, cast

import orjson

from holdfast.adapters.providers.errors import filtered, from_event, incomplete, protocol
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import Handlers, ReplyBuilder, Slot, parsed_arguments
from holdfast.adapters.providers.shaping import (
    encode,
    tier_of,
    will_think,
)
from holdfast.adapters.providers.types import Call, Endpoint, Object, Request
from holdfast.adapters.providers.wires.responses_request import (
    CUSTOM_CALL,
    WIRE,
    free_forms,
    request_body,
)
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event, Malformed, Usage, UsageSeen


class ResponsesWire:
    name = WIRE

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        body = request_body(call, endpoint)
        url = f"{endpoint.base_url}/responses"
        return Request(url, endpoint.headers, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> "ResponsesDecoder":
        return ResponsesDecoder(call, endpoint)


class ResponsesDecoder:
    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._dialect = endpoint.dialect
        self._names = ToolNames.of(call.tools)
        self._texts = free_forms(call, endpoint)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._items: dict[int, Slot] = {}
        self._written: set[int] = set()  # slots of calls whose input is a text
        self._last_index = -1
        self.response_id: str | None = None
        self._status: str | None = None
        self._reason: str | None = None
        self._refused = self._answered = False
        self._searches = self._fetches = self._code_runs = 0
        # Such a model thinks first, and says nothing until it has something to show.
        self._silent = will_think(call)
        self.usage = Usage()
        self.counted = False

    @property
    def thinking(self) -> bool:
        return self._silent or any(slot.kind == "reasoning" for slot in self._items.values())

    @property
    def ended(self) -> bool:
        return self._status is not None

    @property
    def closed(self) -> bool:
        return self._status is not None

    def feed(self, name: str, data: Object | None) -> list[Event]:
        events: list[Event] = []
        handle = self._HANDLERS.get(data.get("type") or name) if data else None
        if handle is not None and data is not None:  # what says nothing new passes
            handle(self, data, events)
        return events

    def _text(self, data: Object, events: list[Event]) -> None:
        self._grow(data, "text", events)

    def _reasoning(self, data: Object, events: list[Event]) -> None:
        self._grow(data, "reasoning", events)

    def _arguments(self, data: Object, events: list[Event]) -> None:
        self._grow(data, "call", events)

    def _input(self, data: Object, events: list[Event]) -> None:
        self._grow({**data, "delta": escaped(data["delta"])}, "call", events)

    def _summary_part(self, data: Object, events: list[Event]) -> None:
        if data["summary_index"] > 0:
            self._reply.grow(self._items[data["output_index"]], "\n\n", events)

    def _annotation(self, data: Object, events: list[Event]) -> None:
        self._cite(data["annotation"], events)

    def _begin(self, data: Object, events: list[Event]) -> None:  # noqa: ARG002
        self.response_id = data["response"].get("id")

    def _fail(self, data: Object, events: list[Event]) -> None:  # noqa: ARG002
        response: Object | None = data.get("response")
        if response is None:
            raise from_event(data)
        # The rest of it echoes the instructions: words of ours that must not be classified.
        raise from_event({"error": response.get("error") or {"code": "server_error"}})

    def _grow(self, data: Object, kind: str, events: list[Event]) -> None:
        slot = self._items[data["output_index"]]
        if slot.kind != kind:
            raise protocol(f"a {kind} delta in another item", retryable=True)
        self._reply.grow(slot, data["delta"], events)

    def _added(self, data: Object, events: list[Event]) -> None:
        index, item = data["output_index"], data["item"]
        if index <= self._last_index:
            raise protocol(f"output item {index} after {self._last_index}", retryable=True)
        self._last_index = index
        self._silent = False
        kind: str = item["type"]
        if kind == "message":
            slot = self._reply.text()
        elif kind == "function_call":
            call_id = self._ids.give(item["call_id"], self.response_id)
            slot = self._reply.call(call_id, self._names.tool(item["name"]), events)
        elif kind == CUSTOM_CALL:
            tool = self._names.tool(item["name"])
            slot = self._reply.call(self._ids.give(item["call_id"], self.response_id), tool, events)
            self._written.add(slot.index)
            self._reply.grow(slot, self._opening(tool), events)
        elif kind.endswith("_call"):
            tool = item.get("name") or kind.removesuffix("_call")
            slot = self._reply.call(CallId(item["id"]), tool, events, "provider")
        else:  # reasoning, and whatever only the provider understands
            slot = self._reply.reasoning()
        self._items[index] = slot

    def _done(self, data: Object, events: list[Event]) -> None:
        index, item = data["output_index"], data["item"]
        if index not in self._items:
            self._added(data, events)
        slot = self._items.pop(index)
        item = {key: value for key, value in item.items() if value is not None}
        native = Native(self._dialect, item)
        if slot.kind == "text":
            self._complete(slot, _words(item, "content"), events)
            refuses = _refuses(item)
            self._refused = self._refused or refuses
            self._answered = self._answered or not (refuses or not slot.text.strip())
            self._reply.finish_text(slot, native, events)
            self._cite_content(slot, item, events)
        elif slot.kind == "reasoning":
            words = _words(item, "summary", "\n\n") or _words(item, "content")
            self._complete(slot, words, events)
            self._reply.finish_reasoning(slot, native, events)
        elif slot.runs_at == "here":
            self._answered = True
            said: str = item["arguments"] if "arguments" in item else self._as_json(slot, item)
            self._complete(slot, said, events)
            self._reply.finish_call(slot, parsed_arguments(said), native, events)
        else:
            self._provider_call(slot, item, native, events)

    def _opening(self, tool: str) -> str:
        """Of arguments in JSON: so readers and the stored call have one form on all wires."""
        return f'{{{orjson.dumps(self._texts.get(tool, "input")).decode()}:"'

    def _as_json(self, slot: Slot, item: Object) -> str:
        return f'{self._opening(slot.tool)}{escaped(item["input"])}"}}'

    def _complete(self, slot: Slot, text: str, events: list[Event]) -> None:
        """The finished item is the truth: what the deltas left out is delivered now."""
        seen = slot.text
        if text.startswith(seen):
            self._reply.grow(slot, text[len(seen) :], events)
        elif text:
            raise protocol("an item that contradicts its deltas", retryable=True)

    def _provider_call(self, slot: Slot, item: Object, native: Native, events: list[Event]) -> None:
        action = item.get("action")
        arguments = dict(cast(Object, action)) if isinstance(action, dict) else {}
        sources: Any = arguments.pop("sources", None)
        if "code" in item:
            arguments = {"code": item["code"]}
        self._reply.finish_call(slot, arguments, native, events)
        # A page that was opened, or looked through, is no search.
        searched = item["type"] == "web_search_call" and arguments.get("type", "search") == "search"
        self._searches += searched
        self._fetches += item["type"] == "web_search_call" and not searched
        self._code_runs += item["type"] == "code_interpreter_call"
        told: Any = item.get("output") or item.get("results") or sources or item.get("outputs")
        output: Any = told or item.get("status") or "done"
        # One item is both call and result; an empty block says that the call's has it all.
        result = ToolResult(
            slot.call_id,
            slot.tool,
            output,
            failed=item.get("status") == "failed",
            runs_at="provider",
            native=Native(self._dialect, {}),
        )
        self._reply.add(result, events)

    def _cite_content(self, slot: Slot, item: Object, events: list[Event]) -> None:
        """An annotation counts characters of its own content; a part has all contents."""
        at = 0
        for content in item.get("content") or ():
            for annotation in content.get("annotations") or ():
                self._cite(annotation, events)
                if annotation.get("type") == "url_citation":
                    start, end = annotation.get("start_index"), annotation.get("end_index")
                    if isinstance(start, int) and isinstance(end, int):
                        self._reply.cite(slot, at + start, at + end, annotation.get("url"))
            at += len(content.get("text") or content.get("refusal") or "")

    def _cite(self, annotation: Object, events: list[Event]) -> None:
        if annotation.get("type") == "url_citation":
            self._reply.source(annotation.get("url"), annotation.get("title"), events)

    def _ended(self, data: Object, events: list[Event]) -> None:
        response: Object = data["response"]
        self.response_id = response.get("id") or self.response_id
        self._status = response["status"]
        details: Object = response.get("incomplete_details") or {}
        self._reason = details.get("reason")
        usage: Object | None = response.get("usage")
        if usage:
            sent: Object = usage.get("input_tokens_details") or {}
            received: Object = usage.get("output_tokens_details") or {}
            self.usage = Usage(
                input=usage["input_tokens"],
                cache_read=sent.get("cached_tokens") or 0,
                cache_write_5m=sent.get("cache_write_tokens") or 0,
                output=usage["output_tokens"],
                reasoning=received.get("reasoning_tokens") or 0,
                searches=self._searches,
                fetches=self._fetches,
                code_runs=self._code_runs,
                service_tier=tier_of(response.get("service_tier")),
            )
            self.counted = True
            events.append(UsageSeen(self.usage))

    def final(self, now: datetime) -> models.Reply:
        if self._status not in ("completed", "incomplete"):
            raise incomplete()
        if self._reason == "content_filter":
            raise filtered(self._reason)
        if self._refused and not self._answered:  # whatever politeness went with it (L42)
            raise filtered("refusal")
        ending = Ending.COMPLETE if self._status == "completed" else Ending.LENGTH
        if ending is Ending.LENGTH:
            self._leave_out_half()
        return self._reply.final(
            now=now,
            ending=ending,
            usage=self.usage if self.counted else None,
            finish=self._reason or self._status,
            response_id=self.response_id,
        )

    def _leave_out_half(self) -> None:
        """Half a text looks like a whole one. JSON that was cut does not: see `ReplyBuilder`."""
        last = self._reply.slots[-1] if self._reply.slots else None
        if last is not None and last.index in self._written:
            self._reply.malformed.append(Malformed(last.call_id, last.text))

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)

    _HANDLERS: ClassVar[Handlers] = {
        "response.output_text.delta": _text,
        "response.refusal.delta": _text,
        "response.reasoning_summary_text.delta": _reasoning,
        "response.reasoning_text.delta": _reasoning,
        "response.function_call_arguments.delta": _arguments,
        "response.custom_tool_call_input.delta": _input,
        "response.reasoning_summary_part.added": _summary_part,
        "response.output_item.added": _added,
        "response.output_item.done": _done,
        "response.output_text.annotation.added": _annotation,
        "response.created": _begin,
        "response.completed": _ended,
        "response.incomplete": _ended,
        "response.failed": _fail,
        "error": _fail,
    }


def escaped(text: str) -> str:
    """Within a string of JSON. Of several pieces it is the same as of all together."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _words(item: Object, key: str, separator: str = "") -> str:
    blocks: list[Object] = item.get(key) or []
    return separator.join(block.get("text") or block.get("refusal") or "" for block in blocks)


def _refuses(item: Object) -> bool:
    return any(block.get("type") == "refusal" for block in item.get("content") or ())
