"""Vendors of the Chat Completions wire: what each refuses and sends otherwise than OpenAI.

The words of the refusals are those that their users report. Vendors that want their reasoning back
are played strictly: a call id is made from the reasoning before it, so that the simulator sees
without a memory whether the client sent back what it was given.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from holdfast_simulator import tokens
from holdfast_simulator.jsons import JsonObject, obj, objs
from holdfast_simulator.reply import CallPart, Part, RedactedPart, TextPart, ThinkingPart
from holdfast_simulator.seal import Purpose, seal
from holdfast_simulator.usage import Usage
from holdfast_simulator.wires import chat_vendor_rules as rules
from holdfast_simulator.wires import openai_common as common
from holdfast_simulator.wires.base import Frame, Job, Mark, Rejection, Rule
from holdfast_simulator.wires.chat import ChatWire, part_deltas, usage_of
from holdfast_simulator.wires.chat_rules import RULES

Shows = Literal["hidden", "reasoning_content", "reasoning", "details", "chunks"]
BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatVendor:
    name: str
    shows: Shows
    """Where it shows reasoning."""
    added: tuple[Rule, ...] = ()
    """Rules that OpenAI does not have."""
    dropped: frozenset[str] = frozenset()
    """Rules of OpenAI that it does not have."""
    binds_calls: bool = False
    """Its call ids stand for the reasoning before them."""
    short_ids: bool = False
    whole_calls: bool = False
    """A call is one event, with all of its arguments."""
    always_counts: bool = False
    comment: str = ""
    tells_cost: bool = False


LENIENT: Final = frozenset({"unknown-parameter", "max-tokens-model"})
VENDORS: Final = (
    ChatVendor(name="openai", shows="hidden"),
    ChatVendor(
        name="deepseek",
        shows="reasoning_content",
        added=(rules.TEXT_ONLY, rules.DEEPSEEK_REASONING),
        dropped=LENIENT,
        binds_calls=True,
    ),
    ChatVendor(
        name="moonshot",
        shows="reasoning_content",
        added=(rules.MOONSHOT_REASONING, rules.NO_FILES),
        dropped=LENIENT,
        binds_calls=True,
    ),
    ChatVendor(
        name="zai",
        shows="reasoning_content",
        added=(rules.NO_REFERENCES, rules.NO_FILES),
        dropped=LENIENT,
    ),
    ChatVendor(
        name="mistral",
        shows="chunks",
        added=(
            rules.MISTRAL_EXTRA,
            rules.MISTRAL_FIELDS,
            rules.MISTRAL_IDS,
            rules.MISTRAL_ORDER,
            rules.NO_FILES,
        ),
        dropped=frozenset({*LENIENT, "part-type-unknown"}),
        short_ids=True,
        whole_calls=True,
        always_counts=True,
    ),
    ChatVendor(
        name="groq",
        shows="reasoning",
        added=(rules.GROQ_FIELDS, rules.NO_FILES),
        dropped=LENIENT,
    ),
    ChatVendor(name="together", shows="reasoning", added=(rules.NO_FILES,), dropped=LENIENT),
    ChatVendor(
        name="fireworks", shows="reasoning_content", added=(rules.NO_FILES,), dropped=LENIENT
    ),
    ChatVendor(name="cerebras", shows="reasoning", added=(rules.TEXT_ONLY,), dropped=LENIENT),
    ChatVendor(
        name="openrouter",
        shows="details",
        added=(rules.OPENROUTER_SIGNED_CALLS, rules.OPENROUTER_THINKING, rules.CACHE_MARKS),
        dropped=LENIENT,
        comment="OPENROUTER PROCESSING",
        tells_cost=True,
    ),
    ChatVendor(name="vllm", shows="reasoning", added=(rules.NO_FILES,), dropped=LENIENT),
    ChatVendor(
        name="ollama",
        shows="reasoning",
        added=(rules.NO_FILES,),
        dropped=LENIENT | {"api-key-missing"},
    ),
)


class VendorChatWire(ChatWire):
    """The wire as one vendor speaks it."""

    def __init__(self, vendor: ChatVendor) -> None:
        self.vendor = vendor
        self.always_counts = vendor.always_counts
        self.rules = (*(rule for rule in RULES if rule.name not in vendor.dropped), *vendor.added)

    def frames(self, job: Job) -> list[Frame]:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        frames = super().frames(job)
        if self.vendor.comment:
            frames.insert(0, Frame(body=self.vendor.comment, mark=Mark.COMMENT))
        return frames

    def deltas(  # pyright: ignore[reportImplicitOverride]
        self, job: Job, part: Part, call_index: int, at: int
    ) -> Iterator[Frame]:
        match part:
            case ThinkingPart() | RedactedPart() if self.vendor.shows != "hidden":
                yield from self._thoughts(job, part)
            case CallPart():
                yield from self._call(job, part, call_index, at)
            case TextPart() if self.vendor.shows == "chunks" and _thinks(job):
                for frame in part_deltas(job, part, call_index, at):
                    yield _as_chunk(frame)
            case _:
                yield from part_deltas(job, part, call_index, at)

    def _thoughts(self, job: Job, part: ThinkingPart | RedactedPart) -> Iterator[Frame]:
        pieces = job.cut(part.text) or [""]
        shows = self.vendor.shows
        for piece in pieces:
            size = tokens.count(piece)
            body: JsonObject = {shows: piece}
            if shows == "chunks":
                said = [{"type": "text", "text": piece}]
                body = {"content": [{"type": "thinking", "thinking": said}]}
            elif shows == "details":
                body = {"reasoning": piece, "reasoning_details": [_detail(job, piece)]}
            yield Frame(body=body, mark=Mark.DELTA, tokens=size, reasoning=size)
        if shows == "details":
            signed = {"signature": seal(Purpose.THINKING, part.text, job.chance)}
            yield Frame(body={"reasoning_details": [_detail(job, "") | signed]})

    def _call(self, job: Job, part: CallPart, index: int, at: int) -> Iterator[Frame]:
        vendor = self.vendor
        call_id = part.call_id
        if call_id is None and vendor.short_ids:
            call_id = job.chance.word(9, BASE62)
        elif call_id is None and vendor.binds_calls:
            call_id = rules.bound_id(vendor.name, thoughts(job), index, job.chance.word(8))
        elif call_id is None and _is_gemini(job):
            call_id = f"{rules.SIGNED_CALL}{job.chance.word(16)}"
        named = CallPart(name=part.name, arguments=part.arguments, call_id=call_id)
        frames = part_deltas(job, named, index, at)
        yield from (_whole_call(frames),) if vendor.whole_calls else frames
        if _is_gemini(job) and vendor.shows == "details" and call_id is not None:
            # The signature of a call comes after it, as an entry of the reasoning.
            entry = {
                "type": "reasoning.encrypted",
                "format": "google-gemini-v1",
                "id": call_id,
                "index": index + 1,
                "data": seal(Purpose.THOUGHT, call_id, job.chance),
            }
            yield Frame(body={"reasoning_details": [entry]})

    def usage(self, usage: Usage) -> JsonObject:  # pyright: ignore[reportImplicitOverride]
        told = usage_of(usage)
        if self.vendor.tells_cost:
            # A price of the simulator's own: a dollar for a million tokens of any kind.
            told["cost"] = (usage.input_tokens + usage.output_tokens) / 1_000_000
        return told

    def error_body(  # pyright: ignore[reportImplicitOverride]
        self, rejection: Rejection, request_id: str
    ) -> JsonObject:
        if self.vendor.name == "mistral" and rejection.details:
            detail = {"detail": rejection.details}
            return {"object": "error", "message": detail, "type": rejection.kind, "code": None}
        return common.error_body(rejection) | {"request_id": request_id}


def thoughts(job: Job) -> str:
    """What the reply thinks, in all its parts."""
    kinds = (ThinkingPart, RedactedPart)
    return "".join(part.text for part in job.reply.parts if isinstance(part, kinds))


def _thinks(job: Job) -> bool:
    return bool(thoughts(job))


def _is_gemini(job: Job) -> bool:
    return job.asked.model.startswith("google/")


def _detail(job: Job, text: str) -> JsonObject:
    form = "google-gemini-v1" if _is_gemini(job) else "anthropic-claude-v1"
    return {"type": "reasoning.text", "text": text, "format": form, "index": 0}


def _whole_call(frames: Iterator[Frame]) -> Frame:
    first, *rest = frames
    (call,) = objs(obj(first.body).get("tool_calls"))
    pieces = [one for frame in rest for one in objs(obj(frame.body).get("tool_calls"))]
    call["function"]["arguments"] = "".join(piece["function"]["arguments"] for piece in pieces)
    size = sum(frame.tokens for frame in rest)
    return Frame(body={"tool_calls": [call]}, mark=Mark.DELTA, tokens=size)


def _as_chunk(frame: Frame) -> Frame:
    body = frame.body
    if isinstance(body, dict) and isinstance(body.get("content"), str):
        frame.body = {"content": [{"type": "text", "text": body["content"]}]}
    return frame


CHAT_VENDORS: Final = {vendor.name: VendorChatWire(vendor) for vendor in VENDORS}
