"""OpenAI Responses: a reply as the events of `POST /v1/responses`."""

from dataclasses import dataclass, field
from typing import Final, assert_never

from holdfast_simulator import tokens
from holdfast_simulator.arguments import text_argument
from holdfast_simulator.asked import Asked, WireName
from holdfast_simulator.chance import HEX
from holdfast_simulator.jsons import JsonObject, arr, obj
from holdfast_simulator.reply import (
    CallPart,
    FetchPart,
    Part,
    RedactedPart,
    RefusalPart,
    RunPart,
    SearchPart,
    Stop,
    TextPart,
    ThinkingPart,
)
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.usage import Usage, bill
from holdfast_simulator.wires import openai_common as common
from holdfast_simulator.wires import troubles
from holdfast_simulator.wires.base import Call, Frame, Job, Mark, Rejection
from holdfast_simulator.wires.pairing import follower_id, plain_id
from holdfast_simulator.wires.responses_prompt import asked_of, custom_tools
from holdfast_simulator.wires.responses_rules import RULES

ENCRYPTED: Final = "reasoning.encrypted_content"
SOURCES: Final = "web_search_call.action.sources"
OUTPUTS: Final = "code_interpreter_call.outputs"
ECHOED: Final[JsonObject] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


@dataclass
class _Stream:
    """The events so far and the items they built."""

    job: Job
    frames: list[Frame] = field(default_factory=list[Frame])
    output: list[JsonObject] = field(default_factory=list[JsonObject])
    reasoning_id: str | None = None
    """The reasoning item that the next item follows."""

    def emit(self, kind: str, fields: JsonObject, *, mark: Mark = Mark.OTHER) -> Frame:
        body = {"type": kind, "sequence_number": len(self.frames), **fields}
        part = len(self.output) if "output_index" in fields else -1
        frame = Frame(name=kind, body=body, mark=mark, part=part)
        self.frames.append(frame)
        return frame

    def delta(self, kind: str, fields: JsonObject, text: str) -> Frame:
        frame = self.emit(kind, {**fields, "delta": text}, mark=Mark.DELTA)
        frame.tokens = tokens.count(text)
        if kind != "response.output_text.delta":
            return frame
        obj(frame.body)["logprobs"] = []
        if obj(self.job.asked.body.get("stream_options")).get("include_obfuscation", True):
            obj(frame.body)["obfuscation"] = self.job.chance.word(16 - len(text) % 16)
        return frame

    def new_id(self, prefix: str) -> str:
        follows, self.reasoning_id = self.reasoning_id, None
        if prefix == "rs":
            self.reasoning_id = plain_id(prefix, self.job.chance)
            return self.reasoning_id
        if follows is None:
            return plain_id(prefix, self.job.chance)
        return follower_id(prefix, follows, self.job.chance)

    def added(self, item: JsonObject) -> JsonObject:
        """The item begins; what is returned is where its events belong."""
        at = {"output_index": len(self.output)}
        self.emit("response.output_item.added", {**at, "item": item})
        return {"item_id": item["id"], **at}

    def done(self, item: JsonObject) -> Frame:
        at = {"output_index": len(self.output)}
        frame = self.emit("response.output_item.done", {**at, "item": item})
        self.output.append(item)
        return frame

    @property
    def usage(self) -> Usage:
        return bill(
            self.job.entry,
            output=sum(frame.tokens for frame in self.frames),
            reasoning=sum(frame.reasoning for frame in self.frames),
            searches=sum(frame.searches for frame in self.frames),
        )


class ResponsesWire:
    name = WireName.RESPONSES
    crlf = False
    rules = RULES
    troubles = troubles.openai(model_status=400, effort="reasoning.effort")

    def account(self, call: Call) -> str:
        return call.bearer

    def read(self, call: Call) -> Asked:
        return asked_of(call)

    def frames(self, job: Job) -> list[Frame]:
        return self._render(job)[0]

    def body(self, job: Job) -> JsonObject:
        return self._render(job)[1]

    def _render(self, job: Job) -> tuple[list[Frame], JsonObject]:
        stream = _Stream(job)
        opening = response(job, "in_progress", [], None)
        stream.emit("response.created", {"response": opening}, mark=Mark.START)
        stream.emit("response.in_progress", {"response": opening})
        for group in _groups(job.reply.parts):
            _part(
                stream,
                group,
                cut=job.reply.stop is Stop.LENGTH and group[-1] is job.reply.parts[-1],
            )
        event, status, reason = _ending(job.reply.stop)
        final = response(job, status, stream.output, stream.usage)
        final["incomplete_details"] = {"reason": reason} if reason else None
        stream.emit(event, {"response": final}, mark=Mark.CLOSING)
        return stream.frames, final

    def error_body(self, rejection: Rejection, request_id: str) -> JsonObject:  # noqa: ARG002
        return common.error_body(rejection)

    def error_frame(self, rejection: Rejection, job: Job, at: int) -> Frame:
        error = {"code": rejection.code or rejection.kind, "message": rejection.message}
        if rejection.code == "server_error":
            # What fails while it runs is reported on the response; what was refused, as an error.
            failed = response(job, "failed", [], None) | {"error": error}
            body = {"type": "response.failed", "sequence_number": at, "response": failed}
            return Frame(name="response.failed", body=body)
        body = {"type": "error", "sequence_number": at, **error, "param": rejection.param}
        return Frame(name="error", body=body)

    def headers(self, request_id: str) -> dict[str, str]:
        return common.answer_headers(request_id)

    def ping(self) -> Frame | None:
        return None

    def unknown(self) -> Frame:
        kind = "response.hint.added"
        return Frame(name=kind, body={"type": kind, "sequence_number": 0, "hint": {"x": 1}})

    def without_usage(self, frame: Frame) -> Frame | None:
        event = dict(obj(frame.body))
        if "response" in event:
            event["response"] = {k: v for k, v in obj(event["response"]).items() if k != "usage"}
        frame.body = event
        return frame

    def overflow(self, total: int, window: int) -> Rejection:  # noqa: ARG002
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again."
        )
        return common.bad(message, "input", "context_length_exceeded")


def response(job: Job, status: str, output: list[JsonObject], usage: Usage | None) -> JsonObject:
    body = job.asked.body
    return {
        "id": f"resp_{job.named('response', 50, HEX)}",
        "object": "response",
        "created_at": job.created_s,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": job.asked.model,
        "output": output,
        "service_tier": common.tier_of(body),
        **{name: body.get(name, default) for name, default in ECHOED.items()},
        "usage": None if usage is None else _usage(usage),
    }


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": 0,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _ending(stop: Stop) -> tuple[str, str, str | None]:
    match stop:
        case Stop.LENGTH:
            return "response.incomplete", "incomplete", "max_output_tokens"
        case Stop.FILTER:
            return "response.incomplete", "incomplete", "content_filter"
        case Stop.MISSING:
            return "response.completed", "in_progress", None
        case Stop.UNKNOWN:
            return "response.incomplete", "incomplete", "out_of_ideas"
        case Stop.BROKEN:
            return "response.failed", "failed", None
        case _:
            return "response.completed", "completed", None


def _groups(parts: tuple[Part, ...]) -> list[list[Part]]:
    """Neighbouring texts make one message; an empty one stands alone, so that it can be seen."""
    groups: list[list[Part]] = []
    for part in parts:
        text = isinstance(part, TextPart) and part.text
        before = groups[-1][-1] if groups else None
        if text and isinstance(before, TextPart) and before.text:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _part(stream: _Stream, group: list[Part], *, cut: bool) -> None:
    status = "incomplete" if cut else "completed"
    part = group[0]
    match part:
        case TextPart():
            _message(stream, [one for one in group if isinstance(one, TextPart)], status)
        case RefusalPart():
            _refusal(stream, part)
        case ThinkingPart():
            done = _reasoning(stream, part.text, "" if part.hidden_s else part.text)
            done.pause_s = part.hidden_s
        case RedactedPart():
            _reasoning(stream, part.text, "")
        case CallPart():
            is_custom = part.name in custom_tools(stream.job.asked.body)
            (_custom_call if is_custom else _call)(stream, part, status)
        case SearchPart():
            _search(stream, part)
        case FetchPart():
            _fetch(stream, part)
        case RunPart():
            _run(stream, part)
        case _:
            assert_never(part)


def _open_message(stream: _Stream) -> tuple[JsonObject, JsonObject]:
    item: JsonObject = {
        "id": stream.new_id("msg"),
        "type": "message",
        "status": "in_progress",
        "content": [],
        "role": "assistant",
    }
    if common.reasons(stream.job.asked.model):
        calls = bool(stream.job.reply.calls)
        item["phase"] = "commentary" if calls else "final_answer"
    place = stream.added(item) | {"content_index": 0}
    return item, place


def _message(stream: _Stream, parts: list[TextPart], status: str) -> None:
    item, place = _open_message(stream)
    empty: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    stream.emit("response.content_part.added", {**place, "part": empty})
    text = ""
    annotations: list[JsonObject] = []
    for part in parts:
        start = len(text)
        for delta in stream.job.cut(part.text):
            stream.delta("response.output_text.delta", place, delta)
        text += part.text
        for source in part.sources:
            annotation: JsonObject = {
                "type": "url_citation",
                "end_index": len(text),
                "start_index": start,
                "title": source.title,
                "url": source.url,
            }
            where = {**place, "annotation_index": len(annotations)}
            stream.emit(
                "response.output_text.annotation.added", {**where, "annotation": annotation}
            )
            annotations.append(annotation)
    full = empty | {"annotations": annotations, "text": text}
    stream.emit("response.output_text.done", {**place, "text": text, "logprobs": []})
    stream.emit("response.content_part.done", {**place, "part": full})
    stream.done(item | {"status": status, "content": [full]})


def _refusal(stream: _Stream, part: RefusalPart) -> None:
    item, place = _open_message(stream)
    empty = {"type": "refusal", "refusal": ""}
    stream.emit("response.content_part.added", {**place, "part": empty})
    for delta in stream.job.cut(part.text):
        stream.delta("response.refusal.delta", place, delta)
    full = {"type": "refusal", "refusal": part.text}
    stream.emit("response.refusal.done", {**place, "refusal": part.text})
    stream.emit("response.content_part.done", {**place, "part": full})
    stream.done(item | {"status": "completed", "content": [full]})


def _reasoning(stream: _Stream, hidden: str, shown: str) -> Frame:
    encrypts = ENCRYPTED in arr(stream.job.asked.body.get("include"))
    item: JsonObject = {"id": stream.new_id("rs"), "type": "reasoning", "summary": []}
    draft = seal(Purpose.REASONING_DRAFT, "", stream.job.chance)
    final = seal(Purpose.REASONING, stream.job.asked.party, stream.job.chance)
    place = stream.added(item | ({"encrypted_content": draft} if encrypts else {}))
    place |= {"summary_index": 0}
    if shown:
        empty = {"type": "summary_text", "text": ""}
        stream.emit("response.reasoning_summary_part.added", {**place, "part": empty})
        for delta in stream.job.cut(shown):
            frame = stream.delta("response.reasoning_summary_text.delta", place, delta)
            frame.reasoning = frame.tokens
        full = {"type": "summary_text", "text": shown}
        stream.emit("response.reasoning_summary_text.done", {**place, "text": shown})
        stream.emit("response.reasoning_summary_part.done", {**place, "part": full})
        item["summary"] = [full]
    done = stream.done(item | ({"encrypted_content": final} if encrypts else {}))
    if not shown:
        done.tokens = done.reasoning = tokens.count(hidden)
    return done


def _call(stream: _Stream, part: CallPart, status: str) -> None:
    item: JsonObject = {
        "id": stream.new_id("fc"),
        "type": "function_call",
        "status": "in_progress",
        "arguments": "",
        "call_id": part.call_id or f"call_{stream.job.chance.word(24)}",
        "name": part.name,
    }
    place = stream.added(item)
    for delta in stream.job.cut_json(part.arguments):
        stream.delta("response.function_call_arguments.delta", place, delta)
    full = {**place, "arguments": part.arguments, "name": part.name}
    stream.emit("response.function_call_arguments.done", full)
    stream.done(item | {"status": status, "arguments": part.arguments})


def _custom_call(stream: _Stream, part: CallPart, status: str) -> None:
    """A call whose input is a text. A script has it as the only argument."""
    item: JsonObject = {
        "id": stream.new_id("ctc"),
        "type": "custom_tool_call",
        "status": "in_progress",
        "call_id": part.call_id or f"call_{stream.job.chance.word(24)}",
        "input": "",
        "name": part.name,
    }
    said = text_argument(part.arguments)
    place = stream.added(item)
    for delta in stream.job.cut(said):
        stream.delta("response.custom_tool_call_input.delta", place, delta)
    stream.emit("response.custom_tool_call_input.done", {**place, "input": said})
    stream.done(item | {"status": status, "input": said})


def _search(stream: _Stream, part: SearchPart) -> None:
    item: JsonObject = {
        "id": stream.new_id("ws"),
        "type": "web_search_call",
        "status": "in_progress",
        "action": {"type": "search"},
    }
    place = stream.added(item)
    for stage in ("in_progress", "searching", "completed"):
        stream.emit(f"response.web_search_call.{stage}", place)
    action: JsonObject = {"type": "search", "query": part.query, "queries": [part.query]}
    if SOURCES in arr(stream.job.asked.body.get("include")):
        action["sources"] = [{"type": "url", "url": source.url} for source in part.sources]
    done = stream.done(item | {"status": "completed", "action": action})
    done.searches = 1
    done.tokens = tokens.count(part.query)


def _fetch(stream: _Stream, part: FetchPart) -> None:
    item: JsonObject = {"id": stream.new_id("ws"), "type": "web_search_call"}
    action: JsonObject = {"type": "open_page", "url": part.url}
    stream.added(item | {"status": "in_progress", "action": action})
    stream.done(item | {"status": "completed", "action": action}).tokens = tokens.count(part.url)


def _run(stream: _Stream, part: RunPart) -> None:
    item: JsonObject = {
        "id": stream.new_id("ci"),
        "type": "code_interpreter_call",
        "container_id": stream.new_id("cntr"),
        "code": part.code,
    }
    place = stream.added(item | {"status": "in_progress", "code": "", "outputs": None})
    for stage in ("in_progress", "interpreting", "completed"):
        stream.emit(f"response.code_interpreter_call.{stage}", place)
    wanted = OUTPUTS in arr(stream.job.asked.body.get("include"))
    outputs = [{"type": "logs", "logs": part.output}] if wanted else None
    done = stream.done(item | {"status": "completed", "outputs": outputs})
    done.tokens = tokens.count(part.code)
