"""The Gemini wire (`streamGenerateContent`), on Google's own address and on Vertex.

Parts carry thought signatures that must come back on the very part they came with: a part with a
signature is never merged with its neighbours. A call from another wire has none; where the model
insists, Google's own stand-in says so. The end is a `finishReason`.
"""

import base64
from datetime import datetime
from typing import TYPE_CHECKING, Final, assert_never, cast

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
from holdfast.adapters.providers.errors import (
    ProviderError,
    filtered,
    from_event,
    incomplete,
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
from holdfast.adapters.providers.known import GEMINI_BLOCKS, GEMINI_FINISHES, FinishMeaning
from holdfast.adapters.providers.names import CallIds, ToolNames
from holdfast.adapters.providers.reply import ReplyBuilder, Slot
from holdfast.adapters.providers.shaping import (
    arguments_of,
    effort_of,
    encode,
    schema_of,
    temperature_of,
    will_think,
)
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    OneTool,
    Request,
    ThinkingStyle,
)
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event, Usage, UsageSeen

if TYPE_CHECKING:
    from holdfast.domain.ids import CallId

UNSIGNED: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
TOKEN: Final = "continuationToken"  # noqa: S105 - the name of a field
IN_RESPONSE: Final = frozenset({"image/png", "image/jpeg", "image/webp"})
"""Images that models with thinking levels (Gemini 3 and later) take inside `functionResponse`."""


class GeminiWire:
    name = "gemini"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        names = ToolNames.of(call.tools)
        prompt = prompt_of(call.history, call.system, endpoint.dialect)
        entries, token = _resumed(prompt.entries, endpoint.dialect)
        body: Object = {"contents": _Contents(call, endpoint.dialect, names).of(entries)}
        if token is not None:
            body[TOKEN] = token
        if prompt.system:
            body["systemInstruction"] = {"parts": [{"text": text} for text in prompt.system]}
        tools = _tools(call, names)
        if tools:
            body["tools"] = tools
        if call.tools:
            body["toolConfig"] = {"functionCallingConfig": _tool_choice(call, names)}
        generation = _generation(call)
        if generation:
            body["generationConfig"] = generation
        url = f"{endpoint.base_url}/models/{call.model.model}:streamGenerateContent?alt=sse"
        return Request(url, endpoint.headers, encode(body, call))

    def decoder(self, call: Call, endpoint: Endpoint) -> "GeminiDecoder":
        return GeminiDecoder(call, endpoint)


# The request.


class _Contents:
    """Spells the entries; remembers under which name and id each call went."""

    def __init__(self, call: Call, dialect: str, names: ToolNames) -> None:
        self._call = call
        self._dialect = dialect
        self._names = names
        self._called: dict[CallId, tuple[str, str | None]] = {}

    def of(self, entries: list[Entry]) -> list[Object]:
        contents: list[Object] = []
        for entry in entries:
            match entry:
                case ModelEntry(parts=said):
                    spelled = self._said(said)
                    if spelled:
                        contents.append({"role": "model", "parts": spelled})
                case ResultsEntry(results=results):
                    contents += self._answered(results)
                case UserEntry(parts=asked):
                    parts = [_piece(asked_pieces(part, self._call)) for part in asked]
                    contents.append({"role": "user", "parts": parts})
        return contents

    def _said(self, parts: list[Part]) -> list[Object]:
        spelled: list[Object] = []
        signs = self._call.model.thinking is ThinkingStyle.LEVEL
        for part in parts:
            block = cast(Object, part.native.block) if part.native else {}
            if is_ours(part, self._dialect):
                if TOKEN in block:
                    continue  # the pause is over
                if type(part) is ToolCall and part.runs_at == "here":
                    block = self._replayed(part, block)
                    signs = False
                spelled.append(block)
            elif type(part) is Text:
                spelled.append({"text": part.text})
            elif type(part) is ToolCall:
                name = self._names.name(part.tool)
                self._called[part.call_id] = (name, None)
                foreign: Object = {"functionCall": {"name": name, "args": arguments_of(part)}}
                if signs:  # only the first of a message is checked
                    foreign["thoughtSignature"] = UNSIGNED
                    signs = False
                spelled.append(foreign)
        return spelled

    def _replayed(self, part: ToolCall, block: Object) -> Object:
        called: Object = block["functionCall"]
        raw = called.get("id")
        if raw is not None and raw != part.call_id:
            called = {**called, "id": part.call_id}
            block = {**block, "functionCall": called}
        self._called[part.call_id] = (called["name"], called.get("id"))
        return block

    def _answered(self, results: list[ToolResult]) -> list[Object]:
        """The results in one content, and what they cannot hold in one of its own: Vertex refuses
        a content with both, and some models take all of it for words of the model."""
        responses: list[Object] = []
        shown: list[Object] = []
        for result in results:
            response, rest = self._result(result)
            responses.append({"functionResponse": response})
            shown += rest
        contents: list[Object] = [{"role": "user", "parts": responses}]
        return [*contents, {"role": "user", "parts": shown}] if shown else contents

    def _result(self, result: ToolResult) -> tuple[Object, list[Object]]:
        pieces = output_pieces(result.output, self._call)
        name, raw_id = self._called[result.call_id]
        response: Object = {"id": raw_id} if raw_id is not None else {}
        response |= {
            "name": name,
            "response": {"error" if result.failed else "output": output_text(pieces)},
        }
        pictures = [piece for piece in pieces if not isinstance(piece, Words)]
        modern = self._call.model.thinking is ThinkingStyle.LEVEL
        inside = [
            piece
            for piece in pictures
            if modern and isinstance(piece, Picture) and piece.media_type in IN_RESPONSE
        ]
        if inside:
            response["parts"] = [_piece(piece) for piece in inside]
        outside = [_piece(piece) for piece in pictures if piece not in inside]
        if outside:
            outside.insert(0, {"text": f"From the result of {name}:"})
        return response, outside


def _resumed(entries: list[Entry], dialect: str) -> tuple[list[Entry], str | None]:
    """After a pause: the entries of the request that was paused, and the token to go on with."""
    last = entries[-1] if entries else None
    if type(last) is not ModelEntry or not last.paused:
        return entries, None
    end = last.parts[-1]
    if end.native is None or not is_ours(end, dialect) or TOKEN not in end.native.block:
        return entries, None
    return entries[:-1], cast(str, end.native.block[TOKEN])


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"text": text}
        case Picture(media_type, data):
            return {"inlineData": {"mimeType": media_type, "data": data}}
        case Paper(base64=data):
            return {"inlineData": {"mimeType": "application/pdf", "data": data}}
        case _:
            assert_never(piece)


def _tools(call: Call, names: ToolNames) -> list[Object]:
    declared = [
        {
            "name": names.name(tool.name),
            "description": tool.description,
            "parametersJsonSchema": schema_of(tool.schema),
        }
        for tool in call.tools
    ]
    ours: list[Object] = [{"functionDeclarations": declared}] if declared else []
    return [*ours, *(dict(tool.block) for tool in call.provider_tools if tool.wire == "gemini")]


def _tool_choice(call: Call, names: ToolNames) -> Object:
    match call.tool_choice:
        case OneTool(name):
            return {"mode": "ANY", "allowedFunctionNames": [names.name(name)]}
        case "required":
            return {"mode": "ANY"}
        case "auto" | "none":
            return {"mode": call.tool_choice.upper()}


def _generation(call: Call) -> Object:
    generation: Object = {}
    if call.output_max is not None:
        generation["maxOutputTokens"] = call.output_max
    temperature = temperature_of(call)
    if temperature is not None:
        generation["temperature"] = temperature
    thinking = _thinking(call)
    if thinking:
        generation["thinkingConfig"] = thinking
    return generation


def _thinking(call: Call) -> Object:
    effort = effort_of(call)
    if effort is None:
        return {"includeThoughts": True} if call.model.thinks else {}
    if call.model.thinking is ThinkingStyle.LEVEL:
        return {"includeThoughts": True, "thinkingLevel": effort}
    return {"includeThoughts": True, "thinkingBudget": call.model.budgets.get(effort, -1)}


# The stream.


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
        self._searches = 0
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
        _, sent = _resumed(prompt_of(self._history, (), self._dialect).entries, self._dialect)
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

    def _cite(self, candidate: Object, events: list[Event]) -> None:
        grounding: Object = candidate.get("groundingMetadata") or {}
        self._searches = max(self._searches, len(grounding.get("webSearchQueries") or ()))
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
