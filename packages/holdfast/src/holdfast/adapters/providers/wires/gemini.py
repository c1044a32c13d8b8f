"""The Gemini wire (`streamGenerateContent`), on Google's own address and on Vertex.

Parts carry thought signatures that must come back on the very part they came with: a part with a
signature is never merged with its neighbours. A call from another wire has none; where the model
insists, Google's own stand-in says so. The end is a `finishReason`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

import orjson

from holdfast.adapters.providers.errors import (
    ProviderError,
    filtered,
    from_event,
    incomplete,
    protocol,
)
from holdfast.adapters.providers.history import (
    prompt_of,
)
from holdfast.adapters.providers.known import GEMINI_BLOCKS, GEMINI_FINISHES, FinishMeaning
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import ReplyBuilder, Slot
from holdfast.adapters.providers.shaping import (
    tier_of,
    will_think,
)
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    Request,
    ThinkingStyle,
)
from holdfast.adapters.providers.wires.gemini_request import TOKEN, gemini_request, resumed
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

if TYPE_CHECKING:
    from holdfast.domain.ids import CallId


TOOL_TYPES: Final[Mapping[str, str]] = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "image_search",
    "URL_CONTEXT": "web_fetch",
    "GOOGLE_MAPS": "google_maps",
    "FILE_SEARCH": "file_search",
    "MEDIA_PROCESSING": "media_processing",
}
"""What the provider calls its tools in a reply."""


class GeminiWire:
    name = "gemini"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        return gemini_request(call, endpoint)

    def decoder(self, call: Call, endpoint: Endpoint) -> "GeminiDecoder":
        return GeminiDecoder(call, endpoint)


class GeminiDecoder:
    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._dialect = endpoint.dialect
        self._names = ToolNames.of(call.tools)
        self._ids = CallIds(call.history)
        self._reply = ReplyBuilder()
        self._speaking: Slot | None = None
        self._block: Object = {}
        self._code_id: CallId | None = None
        self.response_id: str | None = None
        self._finish: str | None = None
        self._blocked: str | None = None
        self._token: str | None = None
        self._paused = False
        self._history = call.history
        self._searches = self._fetches = self._code_runs = 0
        # Gemini before 3 bills a prompt that was searched for, later ones bill each query.
        self._per_prompt = call.model.thinking is ThinkingStyle.BUDGET
        self._invoked: dict[str, CallId] = {}
        self._may_search = any(tool.wire == "gemini" for tool in call.provider_tools)
        self._signed: dict[str, list[Object]] = {}
        # Such a model thinks first; on this wire nothing says so until it has words to show.
        self._silent = will_think(call)
        self.usage = Usage()
        self.counted = False

    @property
    def thinking(self) -> bool:
        return self._silent or (self._speaking is not None and self._speaking.kind == "reasoning")

    @property
    def ended(self) -> bool:
        return self._finish is not None or self._blocked is not None

    @property
    def closed(self) -> bool:
        return False  # only the connection's end says so

    def feed(self, name: str, data: Object | None) -> list[Event]:  # noqa: ARG002
        events: list[Event] = []
        if data is None:
            return events
        if "error" in data:
            raise from_event(data)
        self.response_id = self.response_id or data.get("responseId")
        feedback: Object = data.get("promptFeedback") or {}
        blocked = feedback.get("blockReason")
        if blocked and GEMINI_BLOCKS.get(blocked) is not FinishMeaning.UNSET:
            self._blocked = blocked
        candidates: list[Object] = data.get("candidates") or []
        if candidates:
            candidate = candidates[0]
            content: Object = candidate.get("content") or {}
            for part in content.get("parts") or ():
                self._part(part, events)
                self._silent = False
            self._cite(candidate, events)
            self._token = candidate.get(TOKEN) or self._token
            finish = candidate.get("finishReason")
            if finish and GEMINI_FINISHES.get(finish) is not FinishMeaning.UNSET:
                self._fall_silent(events)
                self._finish = finish
                self._pause(events)
        if events:
            self.counted = False
        usage: Object | None = data.get("usageMetadata")
        if usage:
            self._count(usage, events)
        return events

    def _part(self, part: Object, events: list[Event]) -> None:
        signature = part.get("thoughtSignature")
        if signature:
            # A part that came before, signature and all, was sent twice by a proxy, and a call
            # would run twice. Gateways put one stand-in on several parts: those differ.
            same = self._signed.setdefault(signature, [])
            if part in same:
                raise protocol("a part that came twice", retryable=True)
            same.append(part)
        if "functionCall" in part:
            self._call(part, events)
        elif "executableCode" in part or "codeExecutionResult" in part:
            self._code(part, events)
        elif "toolCall" in part or "toolResponse" in part:
            self._invocation(part, events)
        elif "text" in part or signature:
            self._words(part, events)
        else:
            self._fall_silent(events)
            self._reply.add(Reasoning("", None, Native(self._dialect, part)), events)

    def _words(self, part: Object, events: list[Event]) -> None:
        thought = part.get("thought") is True
        kind = "reasoning" if thought else "text"
        signed = bool(part.get("thoughtSignature"))
        slot = self._speaking
        if slot is None or slot.kind != kind or signed:
            self._fall_silent(events)
            slot = self._reply.reasoning() if thought else self._reply.text()
            self._speaking, self._block = slot, dict(part)
        self._reply.grow(slot, part.get("text") or "", events)
        if signed:
            self._fall_silent(events)

    def _fall_silent(self, events: list[Event]) -> None:
        slot = self._speaking
        if slot is None:
            return
        self._speaking = None
        block = {**self._block, "text": slot.text}
        native = Native(self._dialect, block)
        if slot.kind == "text":
            self._reply.finish_text(slot, native, events)
        else:
            self._reply.finish_reasoning(slot, native, events)

    def _call(self, part: Object, events: list[Event]) -> None:
        self._fall_silent(events)
        called: Object = part["functionCall"]
        call_id = self._ids.give(called.get("id"), self.response_id)
        slot = self._reply.call(call_id, self._names.tool(called["name"]), events)
        given: object = called.get("args")
        arguments = cast(Object, {} if given is None else given)
        self._reply.grow(slot, orjson.dumps(arguments).decode(), events)
        whole = arguments if type(arguments) is dict else None
        self._reply.finish_call(slot, whole, Native(self._dialect, part), events)

    def _pause(self, events: list[Event]) -> None:
        """Keep the token of a reply that goes on in the next request, unless it is the one that
        this request was sent with: the provider would only repeat itself."""
        if (
            GEMINI_FINISHES.get(self._finish or "") is not FinishMeaning.PAUSED
            or self._token is None
        ):
            return
        _, sent = resumed(prompt_of(self._history, (), self._dialect).entries, self._dialect)
        if self._token != sent:
            self._paused = True
            block = {TOKEN: self._token}
            self._reply.add(Reasoning("", None, Native(self._dialect, block)), events)

    def _code(self, part: Object, events: list[Event]) -> None:
        """Code that the provider runs: the call, or the result of the one before."""
        self._fall_silent(events)
        native = Native(self._dialect, part)
        if "executableCode" in part:
            code: Object = part["executableCode"]
            self._code_runs += 1
            self._code_id = self._ids.give(code.get("id"), self.response_id)
            slot = self._reply.call(self._code_id, "code_execution", events, "provider")
            self._reply.grow(slot, orjson.dumps(code).decode(), events)
            self._reply.finish_call(slot, code, native, events)
            return
        result: Object = part["codeExecutionResult"]
        self._reply.add(
            ToolResult(
                self._code_id or self._ids.give(None, self.response_id),
                "code_execution",
                result.get("output") or "",
                failed=result.get("outcome") != "OUTCOME_OK",
                runs_at="provider",
                native=native,
            ),
            events,
        )

    def _invocation(self, part: Object, events: list[Event]) -> None:
        """A call of the provider's own tool, or its result; they name each other by their ids."""
        self._fall_silent(events)
        native = Native(self._dialect, part)
        given: Object = part.get("toolCall") or part["toolResponse"]
        tool = TOOL_TYPES.get(given.get("toolType") or "", "provider_tool")
        if "toolCall" in part:
            call_id = self._ids.give(given.get("id"), self.response_id)
            self._invoked[given.get("id") or ""] = call_id
            arguments: Object = given.get("args") or {}
            slot = self._reply.call(call_id, tool, events, "provider")
            self._reply.grow(slot, orjson.dumps(arguments).decode(), events)
            self._reply.finish_call(slot, arguments, native, events)
            self._fetches += tool == "web_fetch"
            return
        call_id = self._invoked.get(given.get("id") or "") or self._ids.give(None, self.response_id)
        output = given.get("response") or "done"
        result = ToolResult(call_id, tool, output, runs_at="provider", native=native)
        self._reply.add(result, events)

    def _cite(self, candidate: Object, events: list[Event]) -> None:
        grounding: Object = candidate.get("groundingMetadata") or {}
        queries = len(grounding.get("webSearchQueries") or ())
        if self._per_prompt:
            queries = min(queries, 1)
        self._searches = max(self._searches, queries)
        pages: Object = candidate.get("urlContextMetadata") or {}
        for page in pages.get("urlMetadata") or ():
            if page.get("urlRetrievalStatus") == "URL_RETRIEVAL_STATUS_SUCCESS":
                self._reply.source(page.get("retrievedUrl"), None, events)
        for source in grounding.get("groundingChunks") or ():
            web: Object = source.get("web") or {}
            self._reply.source(web.get("uri"), web.get("title"), events)
        self._cite_segments(grounding)
        citations: Object = candidate.get("citationMetadata") or {}
        for citation in citations.get("citationSources") or citations.get("citations") or ():
            self._reply.source(citation.get("uri"), citation.get("title"), events)

    def _cite_segments(self, grounding: Object) -> None:
        """Segments count bytes of the reply's text; a start of 0 is left out."""
        chunks: list[Object] = grounding.get("groundingChunks") or []
        for support in grounding.get("groundingSupports") or ():
            segment: Object = support.get("segment") or {}
            start, end = segment.get("startIndex") or 0, segment.get("endIndex")
            for index in support.get("groundingChunkIndices") or ():
                if isinstance(index, int) and 0 <= index < len(chunks):
                    web: Object = chunks[index].get("web") or {}
                    self._reply.cite_reply(start, end, web.get("uri"), in_bytes=True)

    def _count(self, usage: Object, events: list[Event]) -> None:
        thoughts: int = usage.get("thoughtsTokenCount") or self.usage.reasoning
        said = usage.get("candidatesTokenCount")
        sent = usage.get("promptTokenCount")
        tools: int = usage.get("toolUsePromptTokenCount") or 0
        self.usage = Usage(
            input=self.usage.input if sent is None else sent + tools,
            cache_read=usage.get("cachedContentTokenCount") or self.usage.cache_read,
            output=max(self.usage.output, (said or 0) + thoughts),
            reasoning=thoughts,
            searches=self._searches,
            fetches=self._fetches,
            code_runs=self._code_runs,
            service_tier=tier_of(usage.get("serviceTier")) or self.usage.service_tier,
        )
        # Searches are told at the end; until then those of the provider's own tools are unknown.
        so_far = said is not None and not self._may_search
        self.counted = self.usage.input > 0 and (self.ended or so_far)
        events.append(UsageSeen(self.usage))

    def final(self, now: datetime) -> models.Reply:
        if self._blocked:
            raise filtered(self._blocked)
        finish = self._finish
        if finish is None:
            raise incomplete()
        meaning = GEMINI_FINISHES.get(finish, FinishMeaning.BROKEN)
        if meaning is FinishMeaning.FILTERED:
            raise filtered(finish)
        if meaning is FinishMeaning.BROKEN:
            raise ProviderError(ErrorKind.UNKNOWN, f"finished with {finish!r}", retryable=True)
        ending = Ending.COMPLETE if meaning is FinishMeaning.COMPLETE else Ending.LENGTH
        if self._paused:
            ending = Ending.PAUSED
        return self._reply.final(
            now=now,
            ending=ending,
            usage=self.usage if self.counted else None,
            finish=finish,
            response_id=self.response_id,
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)
