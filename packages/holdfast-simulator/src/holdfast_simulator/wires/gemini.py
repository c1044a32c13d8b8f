"""Gemini: a reply as the chunks of `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`.

The lines end with CRLF, usage comes with every chunk and counts up, calls come whole, and there is
no event after the one with `finishReason`.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, Choice, Offer, Said, Segment, Speaker, WireName
from holdfast_simulator.chance import URLSAFE
from holdfast_simulator.jsons import (
    JsonList,
    JsonObject,
    arr,
    dumps,
    is_obj,
    loads,
    obj,
    objs,
    txt,
    whole,
)
from holdfast_simulator.reply import (
    CallPart,
    FetchPart,
    Part,
    RedactedPart,
    RefusalPart,
    RunHere,
    RunPart,
    SearchPart,
    Source,
    Stop,
    TextPart,
    ThinkingPart,
)
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.usage import Usage, bill
from holdfast_simulator.wires import troubles
from holdfast_simulator.wires.base import Call, Frame, Job, Mark, Rejection
from holdfast_simulator.wires.gemini_rules import (
    RULES,
    continuation_token,
    continued,
    field,
    key_of,
    no,
    tells_invocations,
)

FINISH_REASONS: Final[dict[Stop, str | None]] = {
    Stop.END: "STOP",
    Stop.CALLS: "STOP",
    Stop.LENGTH: "MAX_TOKENS",
    Stop.FILTER: "SAFETY",
    Stop.REFUSAL: "PROHIBITED_CONTENT",
    Stop.PAUSE: "CONTINUATION",
    Stop.MISSING: None,
    Stop.UNKNOWN: "OUT_OF_IDEAS",
    Stop.BROKEN: "OTHER",
}
MALFORMED: Final = "MALFORMED_FUNCTION_CALL"


class GeminiWire:
    name = WireName.GEMINI
    crlf = True
    rules = RULES
    troubles = troubles.GEMINI

    def account(self, call: Call) -> str:
        return key_of(call)

    def read(self, call: Call) -> Asked:
        body = call.body or {}
        config = obj(field(body, "generationConfig"))
        calling = obj(field(obj(field(body, "toolConfig")), "functionCallingConfig"))
        allowed = arr(field(calling, "allowedFunctionNames"))
        kinds = {"ANY": Choice.REQUIRED, "NONE": Choice.NONE}
        tools = list(objs(body.get("tools")))
        return Asked(
            wire=self.name,
            party=call.party,
            model=call.path_model,
            streams=call.path_streams,
            # What the requests before said is not in this one: the token stands for it.
            prompt=(*_prompt(body), *(Said(speaker=Speaker.ASSISTANT, text=""),) * continued(body)),
            offers=tuple(_offers(tools)),
            choice=kinds.get(txt(calling.get("mode")).upper(), Choice.AUTO),
            choice_name=txt(allowed[0]) if allowed else None,
            searches=any(field(tool, "googleSearch") is not None for tool in tools),
            thinks=obj(field(config, "thinkingConfig")).get("includeThoughts") is True,
            tokens_max=whole(field(config, "maxOutputTokens")),
            segments=tuple(_segments(body)),
            body=body,
        )

    def frames(self, job: Job) -> list[Frame]:
        frames: list[Frame] = []
        for index, part in enumerate(job.reply.parts):
            for frame in _part(job, part, first_call=part in job.reply.calls[:1]):
                frame.part = index
                frames.append(frame)
        frames = _without_silent(frames)
        last: JsonObject = {"text": ""}
        if not job.reply.calls and job.reply.parts:
            last["thoughtSignature"] = seal(Purpose.THOUGHT, job.asked.party, job.chance)
        frames.append(Frame(body=last, mark=Mark.CLOSING))
        self._wrap(job, frames)
        frames[0].mark = Mark.CLOSING if len(frames) == 1 else frames[0].mark
        return frames

    def _wrap(self, job: Job, frames: list[Frame]) -> None:
        """Put every part into a candidate, with the usage so far."""
        reason = _reason(job)
        searched = any(isinstance(part, SearchPart) for part in job.reply.parts)
        name = job.named("response", 22, URLSAFE)
        output = reasoning = 0
        for frame in frames:
            output += frame.tokens
            reasoning += frame.reasoning
            candidate: JsonObject = {
                "content": {"parts": [frame.body], "role": "model"},
                "index": 0,
            }
            if frame.mark is Mark.CLOSING:
                if reason is not None:
                    candidate["finishReason"] = reason
                if job.reply.stop is Stop.PAUSE:
                    candidate["continuationToken"] = continuation_token(job.asked.body, job.chance)
                if reason == MALFORMED:
                    candidate["finishMessage"] = "Malformed function call"
                    candidate["content"] = {}
            if searched:
                candidate["groundingMetadata"] = (
                    _grounding(job) if frame.mark is Mark.CLOSING else {}
                )
            pages = [part.url for part in job.reply.parts if isinstance(part, FetchPart)]
            if pages and frame.mark is Mark.CLOSING:
                read = "URL_RETRIEVAL_STATUS_SUCCESS"
                candidate["urlContextMetadata"] = {
                    "urlMetadata": [
                        {"retrievedUrl": url, "urlRetrievalStatus": read} for url in pages
                    ]
                }
            usage = bill(job.entry, output=output, reasoning=reasoning, searches=0)
            frame.body = {
                "candidates": [candidate],
                "usageMetadata": _usage(usage) | _tier(job),
                "modelVersion": job.asked.model,
                "responseId": name,
            }

    def body(self, job: Job) -> JsonObject:
        frames = self.frames(job)
        final = dict(obj(frames[-1].body))
        candidate = dict(obj(final["candidates"][0]))
        parts: JsonList = []
        for frame in frames:
            for given in objs(obj(obj(obj(frame.body)["candidates"][0])["content"]).get("parts")):
                _join(parts, given)
        candidate["content"] = {"parts": parts, "role": "model"}
        return final | {"candidates": [candidate]}

    def error_body(self, rejection: Rejection, request_id: str) -> JsonObject:  # noqa: ARG002
        error: JsonObject = {
            "code": rejection.status,
            "message": rejection.message,
            "status": rejection.kind,
        }
        if rejection.details:
            error["details"] = rejection.details
        return {"error": error}

    def error_frame(self, rejection: Rejection, job: Job, at: int) -> Frame:  # noqa: ARG002
        return Frame(body=self.error_body(rejection, ""))

    def headers(self, request_id: str) -> dict[str, str]:
        return {
            "server-timing": "gfet4t7; dur=12",
            "vary": "Origin, X-Origin, Referer",
            "x-sim-request-id": request_id,
        }

    def ping(self) -> Frame | None:
        return None

    def unknown(self) -> Frame:
        return Frame(name="hint", body={"hintMetadata": {"x": 1}, "modelVersion": "sim"})

    def without_usage(self, frame: Frame) -> Frame | None:
        body = obj(frame.body)
        frame.body = {name: value for name, value in body.items() if name != "usageMetadata"}
        return frame

    def overflow(self, total: int, window: int) -> Rejection:
        return no(
            400,
            "INVALID_ARGUMENT",
            f"The input token count ({total}) exceeds the maximum number of tokens allowed "
            f"({window}).",
        )


def _reason(job: Job) -> str | None:
    broken = any(not _whole_call(part) for part in job.reply.calls)
    if broken and job.reply.stop is not Stop.LENGTH:
        return MALFORMED
    return FINISH_REASONS[job.reply.stop]


def _whole_call(part: CallPart) -> bool:
    try:
        loads(part.arguments)
    except ValueError:
        return False
    return True


def _without_silent(frames: list[Frame]) -> list[Frame]:
    """What says nothing is not sent; the next chunk takes over its bill."""
    kept: list[Frame] = []
    carried = Frame(body={})
    for frame in frames:
        frame.tokens += carried.tokens
        frame.reasoning += carried.reasoning
        frame.searches += carried.searches
        frame.pause_s += carried.pause_s
        carried = Frame(body={})
        if frame.body:
            kept.append(frame)
        else:
            carried = frame
    if carried.tokens or carried.searches:
        kept.append(Frame(body={"text": ""}, tokens=carried.tokens, reasoning=carried.reasoning))
    return kept


def _part(job: Job, part: Part, *, first_call: bool) -> Iterator[Frame]:
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            for delta in job.cut(text) or [""]:
                yield Frame(body={"text": delta}, mark=Mark.DELTA, tokens=tokens.count(delta))
        case ThinkingPart(text=text, hidden_s=hidden_s) if hidden_s:
            size = tokens.count(text)
            yield Frame(body={}, tokens=size, reasoning=size, pause_s=hidden_s)
        case ThinkingPart(text=text):
            for delta in job.cut(text):
                size = tokens.count(delta)
                body = {"text": delta, "thought": True}
                yield Frame(body=body, mark=Mark.DELTA, tokens=size, reasoning=size)
        case RedactedPart(text=text):
            yield Frame(body={}, tokens=tokens.count(text), reasoning=tokens.count(text))
        case CallPart():
            yield _call(job, part, first=first_call)
        case SearchPart() | FetchPart() | RunPart():
            yield from _run_here(job, part)
        case _:
            assert_never(part)


def _run_here(job: Job, part: RunHere) -> Iterator[Frame]:
    match part:
        case SearchPart(query=query):
            found = {"sources": [{"uri": one.url, "title": one.title} for one in part.sources]}
            yield from _invoked(job, "GOOGLE_SEARCH_WEB", {"queries": [query]}, found, searches=1)
        case FetchPart(url=url, text=text):
            yield from _invoked(job, "URL_CONTEXT", {"urls": [url]}, {"text": text})
        case RunPart(code=code, output=output):
            ran = {"executableCode": {"language": "PYTHON", "code": code}}
            yield Frame(body=ran, tokens=tokens.count(code))
            yield Frame(body={"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": output}})
        case _:
            assert_never(part)


def _invoked(
    job: Job, kind: str, args: JsonObject, response: JsonObject, *, searches: int = 0
) -> Iterator[Frame]:
    """A tool of ours: its call and result are parts only for a client that asked for them."""
    size = tokens.count(dumps(args).decode())
    if not tells_invocations(job.asked.body):
        yield Frame(body={}, tokens=size, searches=searches)
        return
    name = job.chance.word(8)
    call: JsonObject = {"id": name, "toolType": kind, "args": args}
    sealed = seal(Purpose.THOUGHT, job.asked.party, job.chance)
    yield Frame(body={"toolCall": call, "thoughtSignature": sealed}, tokens=size, searches=searches)
    yield Frame(body={"toolResponse": {"id": name, "toolType": kind, "response": response}})


def _call(job: Job, part: CallPart, *, first: bool) -> Frame:
    size = sum(map(tokens.count, job.cut_json(part.arguments)))
    if not _whole_call(part):
        # Broken arguments cannot be said on this wire: there is no call, and the reason tells.
        return Frame(body={}, tokens=size)
    call: JsonObject = {"name": part.name, "args": loads(part.arguments)}
    if job.force_ids or "gemini-3." in job.asked.model:
        call["id"] = part.call_id or job.chance.word(8)
    body: JsonObject = {"functionCall": call}
    if first:
        body["thoughtSignature"] = seal(Purpose.THOUGHT, job.asked.party, job.chance)
    return Frame(body=body, mark=Mark.DELTA, tokens=size)


def _tier(job: Job) -> JsonObject:
    asked = field(job.asked.body, "serviceTier")
    return {} if asked is None else {"serviceTier": asked}


def _usage(usage: Usage) -> JsonObject:
    found: JsonObject = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input_tokens}],
    }
    if usage.cache_read_tokens:
        found["cachedContentTokenCount"] = usage.cache_read_tokens
        found["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cache_read_tokens}]
    if usage.reasoning_tokens:
        found["thoughtsTokenCount"] = usage.reasoning_tokens
    return found


def _grounding(job: Job) -> JsonObject:
    searches = [part for part in job.reply.parts if isinstance(part, SearchPart)]
    found: list[Source] = [source for part in searches for source in part.sources]
    supports: list[JsonObject] = []
    at = 0
    for part in job.reply.parts:
        if not isinstance(part, TextPart):
            continue
        end = at + len(part.text.encode())
        indices = [found.index(source) for source in part.sources if source in found]
        if indices:
            segment = {"startIndex": at, "endIndex": end, "text": part.text}
            supports.append({"segment": segment, "groundingChunkIndices": indices})
        at = end
    return {
        "searchEntryPoint": {"renderedContent": "<div>search</div>"},
        "groundingChunks": [{"web": {"uri": one.url, "title": one.title}} for one in found],
        "groundingSupports": supports,
        "webSearchQueries": [part.query for part in searches],
    }


def _join(parts: JsonList, given: JsonObject) -> None:
    """Texts of one kind run together, as in an answer that was never a stream."""
    last = obj(parts[-1]) if parts else {}
    same = "text" in given and "text" in last and given.get("thought") == last.get("thought")
    if same and "thoughtSignature" not in last:
        parts[-1] = {**last, **given, "text": txt(last["text"]) + txt(given["text"])}
    elif given.get("text") != "" or "thoughtSignature" in given:
        parts.append(given)


def _offers(tools: list[JsonObject]) -> Iterator[Offer]:
    for tool in tools:
        for declared in objs(field(tool, "functionDeclarations")):
            schema = field(declared, "parametersJsonSchema") or declared.get("parameters")
            yield Offer(
                name=txt(declared.get("name")),
                description=txt(declared.get("description")),
                schema=obj(schema),
            )


def _prompt(body: JsonObject) -> Iterator[Said]:
    for content in objs(body.get("contents")):
        parts = list(objs(content.get("parts")))
        text = "\n".join(txt(p["text"]) for p in parts if p.get("text") and not p.get("thought"))
        if content.get("role") == "model":
            calls = [obj(field(part, "functionCall")) for part in parts]
            names = tuple(txt(call.get("name")) for call in calls if call)
            yield Said(speaker=Speaker.ASSISTANT, text=text, calls=names)
            continue
        for part in parts:
            result = field(part, "functionResponse")
            if is_obj(result):
                yield Said(speaker=Speaker.TOOL, text=_result(obj(obj(result).get("response"))))
        if text.strip():
            yield Said(speaker=Speaker.USER, text=text)


def _result(response: JsonObject) -> str:
    if len(response) == 1:
        only = next(iter(response.values()))
        return only if isinstance(only, str) else dumps(only).decode()
    return dumps(response).decode()


def _segments(body: JsonObject) -> Iterator[Segment]:
    for name in ("systemInstruction", "tools"):
        given = field(body, name)
        if given:
            yield Segment(data=dumps(given))
    for content in objs(body.get("contents")):
        yield Segment(data=dumps(content))
