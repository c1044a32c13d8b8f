"""OpenAI Chat Completions: a reply as the chunks of `POST /v1/chat/completions`.

The API itself never shows reasoning; servers that speak its wire do, as `reasoning_content`. So
models named like OpenAI's own only count it, all others show it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, assert_never

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, Choice, Offer, Said, Segment, Speaker, WireName
from holdfast_simulator.jsons import JsonList, JsonObject, arr, dumps, is_obj, obj, objs, txt, whole
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
    spoken,
)
from holdfast_simulator.usage import Usage, bill
from holdfast_simulator.wires import openai_common as common
from holdfast_simulator.wires import troubles
from holdfast_simulator.wires.base import Call, Frame, Job, Mark, Rejection
from holdfast_simulator.wires.chat_rules import RULES

FINISH_REASONS: Final[dict[Stop, str | None]] = {
    Stop.END: "stop",
    Stop.CALLS: "tool_calls",
    Stop.LENGTH: "length",
    Stop.FILTER: "content_filter",
    Stop.REFUSAL: "stop",
    Stop.PAUSE: "stop",
    Stop.MISSING: None,
    Stop.UNKNOWN: "out_of_ideas",
    Stop.BROKEN: "insufficient_system_resource",
}
HIDES_REASONING: Final = ("gpt-", "o1", "o3", "o4", "chatgpt-")


class ChatWire:
    name = WireName.CHAT
    crlf = False
    rules = RULES
    always_counts = False
    """Sends the usage also to clients that do not ask for it."""
    troubles = troubles.openai(model_status=404, effort="reasoning_effort")

    def account(self, call: Call) -> str:
        return call.bearer

    def read(self, call: Call) -> Asked:
        body = call.body or {}
        choice = body.get("tool_choice")
        kinds = {"required": Choice.REQUIRED, "none": Choice.NONE}
        functions = [obj(tool.get("function")) for tool in objs(body.get("tools"))]
        limit = whole(body.get("max_completion_tokens")) or whole(body.get("max_tokens"))
        return Asked(
            wire=self.name,
            model=txt(body.get("model")),
            streams=body.get("stream") is True,
            prompt=tuple(_prompt(body)),
            offers=tuple(
                Offer(
                    name=txt(function.get("name")),
                    description=txt(function.get("description")),
                    schema=obj(function.get("parameters")),
                )
                for function in functions
                if function
            ),
            choice=Choice.REQUIRED if is_obj(choice) else kinds.get(txt(choice), Choice.AUTO),
            choice_name=txt(obj(obj(choice).get("function")).get("name")) or None,
            searches="web_search_options" in body
            or any(one.get("id") == "web" for one in objs(body.get("plugins"))),
            thinks=bool(body.get("reasoning_effort")) and body.get("reasoning_effort") != "none",
            tokens_max=limit,
            segments=tuple(_segments(body)),
            body=body,
        )

    def frames(self, job: Job) -> list[Frame]:
        opening = {"role": "assistant", "content": "", "refusal": None}
        frames = [Frame(body=opening, mark=Mark.START)]
        calls = 0
        at = 0
        for index, part in enumerate(job.reply.parts):
            for frame in self.deltas(job, part, calls, at):
                frame.part = index
                frames.append(frame)
            calls += isinstance(part, CallPart)
            at += len(part.text) if isinstance(part, TextPart) else 0
        frames = _without_silent(frames)
        frames.append(Frame(body={}, mark=Mark.CLOSING))
        usage = self.usage(self._bill(job, frames))
        reason = FINISH_REASONS[job.reply.stop]
        wanted = obj(job.asked.body.get("stream_options"))
        with_usage = self.always_counts or wanted.get("include_usage") is True
        envelope = _envelope(job, "chat.completion.chunk")
        so_far = list[Frame]()
        for frame in frames:
            last = frame.mark is Mark.CLOSING
            choice = {"index": 0, "delta": frame.body, "logprobs": None}
            event = dict(envelope)
            event["choices"] = [choice | {"finish_reason": reason if last else None}]
            if with_usage:
                event["usage"] = None
            if wanted.get("continuous_usage_stats") is True:
                # What vLLM offers: every chunk tells the usage so far.
                so_far = [_sum(so_far, frame)]
                event["usage"] = self.usage(self._bill(job, so_far))
            if wanted.get("include_obfuscation", True):
                event["obfuscation"] = job.chance.word(8)
            frame.body = event
        if with_usage:
            closing = envelope | {"choices": JsonList(), "usage": usage}
            frames.append(Frame(body=closing, mark=Mark.CLOSING))
        frames.append(Frame(body="[DONE]", mark=Mark.CLOSING))
        return frames

    def deltas(self, job: Job, part: Part, call_index: int, at: int) -> Iterator[Frame]:
        """The frames of a part, as deltas; `at` is where its text begins."""
        return part_deltas(job, part, call_index, at)

    def usage(self, usage: Usage) -> JsonObject:
        return usage_of(usage)

    def body(self, job: Job) -> JsonObject:
        frames = self.frames(job)
        message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
        calls: list[JsonObject] = []
        annotations: list[object] = []
        for frame in frames:
            for choice in objs(obj(frame.body).get("choices")):
                delta = obj(choice.get("delta"))
                _grow(message, delta)
                annotations.extend(objs(delta.get("annotations")))
                for piece in objs(delta.get("tool_calls")):
                    _join(calls, piece)
        message["annotations"] = annotations
        if calls:
            message["tool_calls"] = calls
        reason = FINISH_REASONS[job.reply.stop]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        found = _envelope(job, "chat.completion")
        return found | {"choices": [choice], "usage": self.usage(self._bill(job, frames))}

    def _bill(self, job: Job, frames: list[Frame]) -> Usage:
        return bill(
            job.entry,
            output=sum(frame.tokens for frame in frames),
            reasoning=sum(frame.reasoning for frame in frames),
            searches=sum(frame.searches for frame in frames),
        )

    def error_body(self, rejection: Rejection, request_id: str) -> JsonObject:  # noqa: ARG002
        return common.error_body(rejection)

    def error_frame(self, rejection: Rejection, job: Job, at: int) -> Frame:  # noqa: ARG002
        return Frame(body=common.error_body(rejection))

    def headers(self, request_id: str) -> dict[str, str]:
        return common.answer_headers(request_id)

    def ping(self) -> Frame | None:
        return None

    def unknown(self) -> Frame:
        return Frame(name="hint", body={"object": "chat.completion.hint", "hint": {"x": 1}})

    def without_usage(self, frame: Frame) -> Frame | None:
        if isinstance(frame.body, str):
            return frame
        if not frame.body.get("choices"):
            return None
        frame.body = {name: value for name, value in frame.body.items() if name != "usage"}
        return frame

    def overflow(self, total: int, window: int) -> Rejection:
        message = (
            f"This model's maximum context length is {window} tokens. However, your messages "
            f"resulted in {total} tokens. Please reduce the length of the messages."
        )
        return common.bad(message, "messages", "context_length_exceeded")


def _sum(before: list[Frame], frame: Frame) -> Frame:
    both = [*before, frame]
    return Frame(
        body={},
        tokens=sum(one.tokens for one in both),
        reasoning=sum(one.reasoning for one in both),
        searches=sum(one.searches for one in both),
    )


def _without_silent(frames: list[Frame]) -> list[Frame]:
    """A frame that says nothing is not sent; the opening chunk takes over its bill, and the next
    chunk its silence."""
    for before, frame in pairwise(frames):
        if not before.body:
            frame.pause_s += before.pause_s
    for frame in frames:
        if not frame.body:
            frames[0].tokens += frame.tokens
            frames[0].reasoning += frame.reasoning
            frames[0].searches += frame.searches
    return [frame for frame in frames if frame.body]


def _envelope(job: Job, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{job.named('completion', 29)}",
        "object": kind,
        "created": job.created_s,
        "model": job.asked.model,
        "service_tier": common.tier_of(job.asked.body),
        "system_fingerprint": "fp_simulated0",
    }


def usage_of(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def part_deltas(job: Job, part: Part, call_index: int, at: int) -> Iterator[Frame]:
    match part:
        case TextPart(text=text):
            yield from _pieces(job, "content", text)
            if part.sources:
                yield Frame(body={"annotations": _annotations(part, at)})
        case RefusalPart(text=text):
            yield from _pieces(job, "refusal", text)
        case ThinkingPart(text=text, hidden_s=hidden_s):
            if hidden_s or job.asked.model.startswith(HIDES_REASONING):
                size = sum(map(tokens.count, job.cut(text)))
                yield Frame(body={}, tokens=size, reasoning=size, pause_s=hidden_s)
            else:
                for frame in _pieces(job, "reasoning_content", text):
                    frame.reasoning = frame.tokens
                    yield frame
        case RedactedPart(text=text):
            yield Frame(body={}, tokens=tokens.count(text), reasoning=tokens.count(text))
        case CallPart():
            yield from _call(job, part, call_index)
        case SearchPart() | FetchPart() | RunPart():
            # What runs here is not on this wire; the sources of a search come as annotations.
            searches = int(isinstance(part, SearchPart))
            yield Frame(body={}, tokens=tokens.count(spoken(part)), searches=searches)
        case _:
            assert_never(part)


def _pieces(job: Job, field: str, text: str) -> Iterator[Frame]:
    # An empty text is shown as one empty delta, or no client would see it.
    for delta in job.cut(text) or [""]:
        yield Frame(body={field: delta}, mark=Mark.DELTA, tokens=tokens.count(delta))


def _annotations(part: TextPart, at: int) -> list[JsonObject]:
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": at,
                "end_index": at + len(part.text),
                "title": source.title,
                "url": source.url,
            },
        }
        for source in part.sources
    ]


def _call(job: Job, part: CallPart, index: int) -> Iterator[Frame]:
    opening = {
        "index": index,
        "id": part.call_id or f"call_{job.chance.word(24)}",
        "type": "function",
        "function": {"name": part.name, "arguments": ""},
    }
    yield Frame(body={"tool_calls": [opening]})
    for delta in job.cut_json(part.arguments):
        piece = {"index": index, "function": {"arguments": delta}}
        yield Frame(body={"tool_calls": [piece]}, mark=Mark.DELTA, tokens=tokens.count(delta))


def _grow(message: JsonObject, delta: JsonObject) -> None:
    for field in ("content", "refusal", "reasoning_content", "reasoning"):
        if delta.get(field) and isinstance(delta[field], str):
            message[field] = txt(message.get(field)) + delta[field]
    for field in ("content", "reasoning_details"):
        if isinstance(delta.get(field), list):
            message[field] = [*arr(message.get(field)), *delta[field]]


def _join(calls: list[JsonObject], piece: JsonObject) -> None:
    if "id" in piece:
        function = dict(obj(piece["function"]))
        calls.append({"id": piece["id"], "type": "function", "function": function})
    else:
        calls[-1]["function"]["arguments"] += obj(piece["function"])["arguments"]


def _prompt(body: JsonObject) -> Iterator[Said]:
    speakers = {"assistant": Speaker.ASSISTANT, "tool": Speaker.TOOL, "user": Speaker.USER}
    for message in objs(body.get("messages")):
        calls = tuple(txt(call.get("id")) for call in objs(message.get("tool_calls")))
        yield Said(
            speaker=speakers.get(txt(message.get("role")), Speaker.SYSTEM),
            text=_text(message.get("content")),
            calls=calls,
        )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(txt(part.get("text")) for part in objs(content) if part.get("text"))


def _segments(body: JsonObject) -> Iterator[Segment]:
    for tool in objs(body.get("tools")):
        yield Segment(data=dumps(tool))
    for message in objs(body.get("messages")):
        yield Segment(data=dumps(message))
