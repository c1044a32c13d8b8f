"""Anthropic Messages: a reply as the events of `POST /v1/messages`."""

from collections.abc import Iterator
from typing import Final, assert_never

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, Choice, Offer, Said, Segment, Speaker, WireName
from holdfast_simulator.jsons import JsonObject, arr, dumps, is_obj, loads, obj, objs, txt, whole
from holdfast_simulator.reply import (
    CallPart,
    FetchPart,
    Part,
    RedactedPart,
    RefusalPart,
    RunPart,
    SearchPart,
    Source,
    Stop,
    TextPart,
    ThinkingPart,
)
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.usage import FIVE_MINUTES_S, ONE_HOUR_S, Usage, bill
from holdfast_simulator.wires import anthropic_binding as binding
from holdfast_simulator.wires import anthropic_tools as provider_tools
from holdfast_simulator.wires import troubles
from holdfast_simulator.wires.anthropic_rules import RULES
from holdfast_simulator.wires.base import Call, Frame, Job, Mark, Rejection

STOP_REASONS: Final[dict[Stop, str | None]] = {
    Stop.END: "end_turn",
    Stop.CALLS: "tool_use",
    Stop.LENGTH: "max_tokens",
    Stop.FILTER: "refusal",
    Stop.REFUSAL: "refusal",
    Stop.PAUSE: "pause_turn",
    Stop.MISSING: None,
    Stop.UNKNOWN: "out_of_ideas",
    Stop.BROKEN: None,
}


class AnthropicWire:
    name = WireName.ANTHROPIC
    crlf = False
    rules = RULES
    troubles = troubles.ANTHROPIC

    def account(self, call: Call) -> str:
        return call.headers.get("x-api-key") or call.bearer

    def read(self, call: Call) -> Asked:
        body = call.body or {}
        choice = obj(body.get("tool_choice"))
        tools = list(objs(body.get("tools")))
        kinds = {"any": Choice.REQUIRED, "tool": Choice.REQUIRED, "none": Choice.NONE}
        thinking = obj(body.get("thinking")).get("type")
        return Asked(
            wire=self.name,
            model=txt(body.get("model")),
            streams=body.get("stream") is True,
            prompt=tuple(_prompt(body)),
            offers=tuple(
                Offer(
                    name=txt(tool.get("name")),
                    description=txt(tool.get("description")),
                    schema=obj(tool.get("input_schema")),
                )
                for tool in tools
                if "input_schema" in tool
            ),
            choice=kinds.get(txt(choice.get("type")), Choice.AUTO),
            choice_name=txt(choice.get("name")) or None,
            searches=any(txt(tool.get("type")).startswith("web_search") for tool in tools),
            thinks=thinking in ("enabled", "adaptive"),
            tokens_max=whole(body.get("max_tokens")),
            segments=tuple(_segments(body)),
            bound=binding.walk(body).digest if binding.binds(call) else None,
            transformations=binding.dropped(body) if binding.reports(call) else None,
            body=body,
        )

    def frames(self, job: Job) -> list[Frame]:
        start = {
            "type": "message_start",
            # Searches are told when they are over.
            "message": self._message(
                job, [], bill(job.entry, output=1, reasoning=0, searches=0), None
            ),
        }
        # Real streams open with the one token that is always billed.
        frames = [Frame(name="message_start", body=start, mark=Mark.START)]
        index, bound = 0, job.asked.bound
        for part in job.reply.parts:
            rendered = list(_part_frames(job, index, part, bound))
            bound = _bound_after(rendered, bound)
            frames.extend(rendered)
            index += sum(frame.name == "content_block_start" for frame in rendered)
        frames.insert(min(2, len(frames)), self.ping())
        output = sum(frame.tokens for frame in frames)
        reasoning = sum(frame.reasoning for frame in frames)
        usage = bill_of(job, output=output, reasoning=reasoning)
        delta: JsonObject = {
            "type": "message_delta",
            "delta": {"stop_reason": STOP_REASONS[job.reply.stop], "stop_sequence": None},
            "usage": _delta_usage(usage),
        }
        container = provider_tools.container_of(job)
        if container is not None:
            delta["delta"]["container"] = container
        frames.append(Frame(name="message_delta", body=delta, mark=Mark.CLOSING))
        frames.append(Frame(name="message_stop", body={"type": "message_stop"}, mark=Mark.CLOSING))
        return frames

    def body(self, job: Job) -> JsonObject:
        """The same message in one piece: the stream, put together as a client does."""
        frames = self.frames(job)
        blocks: list[JsonObject] = []
        for frame in frames:
            event = obj(frame.body)
            if frame.name == "content_block_start":
                blocks.append(dict(obj(event["content_block"])))
            elif frame.name == "content_block_delta":
                _merge(blocks[-1], obj(event["delta"]))
        for block in blocks:
            if block["type"] in ("tool_use", "server_tool_use"):
                block["input"] = _parsed(txt(block.pop("partial", "")))
        usage = bill_of(
            job,
            output=sum(frame.tokens for frame in frames),
            reasoning=sum(frame.reasoning for frame in frames),
        )
        return self._message(job, blocks, usage, STOP_REASONS[job.reply.stop])

    def _message(
        self, job: Job, content: list[JsonObject], usage: Usage, stop: str | None
    ) -> JsonObject:
        changes = job.asked.transformations
        return {
            **({} if changes is None else {"input_transformations": changes}),
            "id": message_id(job),
            "type": "message",
            "role": "assistant",
            "model": job.asked.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": _full_usage(usage),
        }

    def error_body(self, rejection: Rejection, request_id: str) -> JsonObject:
        error: JsonObject = {"type": rejection.kind, "message": rejection.message}
        if rejection.details:
            error["details"] = rejection.details
        return {"type": "error", "error": error, "request_id": request_id}

    def error_frame(self, rejection: Rejection, job: Job, at: int) -> Frame:  # noqa: ARG002
        error = {"details": None, "type": rejection.kind, "message": rejection.message}
        return Frame(name="error", body={"type": "error", "error": error})

    def headers(self, request_id: str) -> dict[str, str]:
        return {"request-id": request_id, "anthropic-organization-id": "sim-organization"}

    def ping(self) -> Frame:
        return Frame(name="ping", body={"type": "ping"}, mark=Mark.PING)

    def unknown(self) -> Frame:
        return Frame(
            name="content_block_hint", body={"type": "content_block_hint", "hint": {"x": 1}}
        )

    def without_usage(self, frame: Frame) -> Frame | None:
        event = dict(obj(frame.body))
        event.pop("usage", None)
        if "message" in event:
            event["message"] = {k: v for k, v in obj(event["message"]).items() if k != "usage"}
        frame.body = event
        return frame

    def overflow(self, total: int, window: int) -> Rejection:
        return Rejection(
            status=400,
            kind="invalid_request_error",
            message=f"prompt is too long: {total} tokens > {window} maximum",
        )


def message_id(job: Job) -> str:
    # Drawn from the body, not from the running chance: asked for twice, it is the same.
    return f"msg_01{job.named('message', 22)}"


def bill_of(job: Job, *, output: int, reasoning: int) -> Usage:
    searches = sum(isinstance(part, SearchPart) for part in job.reply.parts)
    fetches = sum(isinstance(part, FetchPart) for part in job.reply.parts)
    return bill(job.entry, output=output, reasoning=reasoning, searches=searches, fetches=fetches)


def _full_usage(usage: Usage) -> JsonObject:
    written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    found: JsonObject = {
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        },
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }
    return found | _searched(usage)


def _delta_usage(usage: Usage) -> JsonObject:
    full = _full_usage(usage)
    kept = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {name: full[name] for name in (*kept, "output_tokens")} | _searched(usage)


def _searched(usage: Usage) -> JsonObject:
    if not usage.searches and not usage.fetches:
        return {}
    counts = {"web_search_requests": usage.searches, "web_fetch_requests": usage.fetches}
    return {"server_tool_use": counts}


def _bound_after(frames: list[Frame], bound: bytes | None) -> bytes | None:
    """What the next part is bound to, after the seals of this one."""
    if bound is None:
        return None
    for frame in frames:
        body = obj(frame.body)
        sealed = txt(obj(body.get("delta")).get("signature"))
        sealed = sealed or txt(obj(body.get("content_block")).get("data"))
        if sealed:
            return binding.after(bound, sealed)
    return bound


def _part_frames(job: Job, index: int, part: Part, bound: bytes | None) -> Iterator[Frame]:
    match part:
        case TextPart() | RefusalPart():
            yield from _text(job, index, part)
        case ThinkingPart():
            yield from _thinking(job, index, part, bound)
        case RedactedPart():
            data = binding.sealed_redacted(job.chance, bound)
            block = {"type": "redacted_thinking", "data": data}
            size = tokens.count(part.text)
            yield from _block(index, block, [Frame(body={}, tokens=size, reasoning=size)])
        case CallPart():
            yield from _call(job, index, part)
        case SearchPart():
            yield from _search(job, index, part)
        case FetchPart() | RunPart():
            yield from _run(job, index, part)
        case _:
            assert_never(part)


def _block(index: int, block: JsonObject, inner: list[Frame]) -> Iterator[Frame]:
    """Start, deltas, stop. A frame without a body is only a bill, which the start takes over."""
    start = {"type": "content_block_start", "index": index, "content_block": block}
    hidden = [frame for frame in inner if not frame.body]
    yield Frame(
        name="content_block_start",
        body=start,
        part=index,
        tokens=sum(frame.tokens for frame in hidden),
        reasoning=sum(frame.reasoning for frame in hidden),
        searches=sum(frame.searches for frame in hidden),
    )
    for frame in inner:
        if frame.body:
            delta = {"type": "content_block_delta", "index": index, "delta": frame.body}
            frame.name, frame.body, frame.part = "content_block_delta", delta, index
            yield frame
    stop = {"type": "content_block_stop", "index": index}
    yield Frame(name="content_block_stop", body=stop, part=index)


def _text(job: Job, index: int, part: TextPart | RefusalPart) -> Iterator[Frame]:
    sources = part.sources if isinstance(part, TextPart) else ()
    block: JsonObject = {"type": "text", "text": ""}
    if sources:
        block = {"citations": [], **block}
    inner = [
        Frame(body={"type": "citations_delta", "citation": _citation(job, source)})
        for source in sources
    ]
    inner += [
        Frame(
            body={"type": "text_delta", "text": delta}, mark=Mark.DELTA, tokens=tokens.count(delta)
        )
        for delta in job.cut(part.text)
    ]
    yield from _block(index, block, inner)


def _citation(job: Job, source: Source) -> JsonObject:
    return {
        "type": "web_search_result_location",
        "cited_text": source.quote,
        "url": source.url,
        "title": source.title,
        "encrypted_index": seal(Purpose.CITATION, source.url, job.chance),
    }


def _thinking(job: Job, index: int, part: ThinkingPart, bound: bytes | None) -> Iterator[Frame]:
    block: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
    if part.hidden_s:
        size = tokens.count(part.text)
        signature = binding.sealed_thinking("", job.chance, bound)
        body: JsonObject = {"type": "signature_delta", "signature": signature}
        signed = Frame(body=body, tokens=size, reasoning=size, pause_s=part.hidden_s)
        yield from _block(index, block, [signed])
        return
    inner = [
        Frame(
            body={"type": "thinking_delta", "thinking": delta},
            mark=Mark.DELTA,
            tokens=tokens.count(delta),
            reasoning=tokens.count(delta),
        )
        for delta in job.cut(part.text)
    ]
    signature = binding.sealed_thinking(part.text, job.chance, bound)
    inner.append(Frame(body={"type": "signature_delta", "signature": signature}))
    yield from _block(index, block, inner)


def _call(job: Job, index: int, part: CallPart) -> Iterator[Frame]:
    call_id = part.call_id or f"toolu_01{job.chance.word(22)}"
    block: JsonObject = {"type": "tool_use", "id": call_id, "name": part.name, "input": {}}
    yield from _block(index, block, list(_json_deltas(job, part.arguments)))


def _json_deltas(job: Job, text: str) -> Iterator[Frame]:
    yield Frame(body={"type": "input_json_delta", "partial_json": ""})
    for delta in job.cut_json(text):
        body = {"type": "input_json_delta", "partial_json": delta}
        yield Frame(body=body, mark=Mark.DELTA, tokens=tokens.count(delta))


def _search(job: Job, index: int, part: SearchPart) -> Iterator[Frame]:
    call_id = f"srvtoolu_01{job.chance.word(22)}"
    block: JsonObject = {
        "type": "server_tool_use",
        "id": call_id,
        "name": "web_search",
        "input": {},
    }
    query = dumps({"query": part.query}).decode()
    bills = [Frame(body={}, searches=1)]
    yield from _block(index, block, [*bills, *_json_deltas(job, query)])
    found = [
        {
            "type": "web_search_result",
            "title": source.title,
            "url": source.url,
            "encrypted_content": seal(Purpose.SEARCH_RESULT, source.url, job.chance),
            "page_age": source.page_age,
        }
        for source in part.sources
    ]
    result = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": found}
    yield from _block(index + 1, result, [])


def _run(job: Job, index: int, part: FetchPart | RunPart) -> Iterator[Frame]:
    call, given, result = provider_tools.blocks_of(job, part)
    yield from _block(index, call, list(_json_deltas(job, dumps(given).decode())))
    if not provider_tools.is_pending(job, part):
        yield from _block(index + 1, result, [])


def _merge(block: JsonObject, delta: JsonObject) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] += delta["signature"]
        case "citations_delta":
            block["citations"].append(delta["citation"])
        case _:
            block["partial"] = block.get("partial", "") + delta["partial_json"]


def _parsed(text: str) -> object:
    try:
        return loads(text or "{}")
    except ValueError:
        return {"INVALID_JSON": text}


def _prompt(body: JsonObject) -> Iterator[Said]:
    for message in objs(body.get("messages")):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objs(content)
        texts: list[str] = []
        calls: list[str] = []
        results: list[str] = []
        for block in blocks:
            match block.get("type"):
                case "text":
                    texts.append(txt(block.get("text")))
                case "tool_use":
                    calls.append(txt(block.get("id")))
                case "tool_result":
                    results.append(_result_text(block.get("content")))
                case _:
                    pass
        if message.get("role") == "assistant":
            yield Said(speaker=Speaker.ASSISTANT, text="".join(texts), calls=tuple(calls))
            continue
        yield from (Said(speaker=Speaker.TOOL, text=text) for text in results)
        if any(text.strip() for text in texts):
            yield Said(speaker=Speaker.USER, text="\n".join(texts))


def _result_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(txt(block.get("text")) for block in objs(content))


def _segments(body: JsonObject) -> Iterator[Segment]:
    """Tools, then system, then messages: the order in which the cache reads a prompt."""
    for tool in objs(body.get("tools")):
        yield _segment("tool", tool)
    system = body.get("system")
    if isinstance(system, str):
        yield Segment(data=system.encode(errors="surrogatepass"))
    for block in objs(system):
        yield _segment("system", block)
    for message in objs(body.get("messages")):
        role = txt(message.get("role"))
        content = message.get("content")
        if isinstance(content, str):
            yield Segment(data=f"{role}:{content}".encode(errors="surrogatepass"))
        for block in objs(content):
            yield _segment(role, block)
    if arr(body.get("messages")) and isinstance(body.get("cache_control"), dict):
        # Automatic caching: the breakpoint stands after the last block.
        yield Segment(data=b"", ttl_s=_ttl(obj(body["cache_control"])))


def _segment(role: str, block: JsonObject) -> Segment:
    control = block.get("cache_control")
    plain = {name: value for name, value in block.items() if name != "cache_control"}
    ttl_s = _ttl(obj(control)) if is_obj(control) else None
    return Segment(data=f"{role}:".encode() + dumps(plain), ttl_s=ttl_s)


def _ttl(control: JsonObject) -> int:
    return ONE_HOUR_S if control.get("ttl") == "1h" else FIVE_MINUTES_S
