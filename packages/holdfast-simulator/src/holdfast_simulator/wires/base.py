"""What the four wires have in common: frames, rules, rejections and the shape of a wire."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, WireName
from holdfast_simulator.chance import BASE62, Chance
from holdfast_simulator.jsons import JsonList, JsonObject
from holdfast_simulator.reply import Reply
from holdfast_simulator.usage import InputUsage


class Mark(StrEnum):
    """What a frame is for; faults strike by it."""

    START = "start"
    DELTA = "delta"
    OTHER = "other"
    PING = "ping"
    COMMENT = "comment"
    """A comment of the event stream: clients skip it."""
    CLOSING = "closing"
    """Proves, alone or with those after it, that the reply is complete."""


@dataclass(slots=True, kw_only=True)
class Frame:
    """One event before it becomes bytes, with what it adds to the bill."""

    name: str = ""
    body: JsonObject | str
    mark: Mark = Mark.OTHER
    tokens: int = 0
    reasoning: int = 0
    searches: int = 0
    part: int = -1
    """Which part of the reply it belongs to."""
    pause_s: float = 0.0
    """Silence before it, but for the pings of a wire that has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request as it came in. Header names are lower case."""

    headers: Mapping[str, str]
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: JsonObject | None
    """None: the bytes were no JSON object."""
    path_model: str = ""
    path_streams: bool = False
    party: str = ""
    """The vendor that is played, where it cannot read what others have sealed."""
    old_account: bool = False
    """An account of before 2026-08-31: thinking that does not fit its conversation is accepted."""

    @property
    def bearer(self) -> str:
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key.strip() if scheme.lower() == "bearer" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A refusal, in words that every wire can put into its own error shape."""

    status: int
    kind: str
    message: str
    param: str | None = None
    code: str | None = None
    details: JsonList = field(default_factory=JsonList)


Check = Callable[[Call], Rejection | None]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    check: Check


class Trouble(StrEnum):
    """The errors that a fault can ask for; every wire words them its own way."""

    RATE_LIMIT = "rate-limit"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    SERVER = "server"
    UNAVAILABLE = "unavailable"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    MODEL = "model"
    TOO_LARGE = "too-large"
    CONTEXT = "context"
    INVALID = "invalid"
    TEMPERATURE = "temperature"
    LIMIT = "limit"
    """The request alone is larger than what a minute allows."""
    PAYMENT = "payment"
    EXPIRED = "expired"
    TOOL_USE = "tool-use"
    SUMMARY = "summary"
    EFFORT = "effort"
    STREAM_OPTIONS = "stream-options"
    UNPROCESSABLE = "unprocessable"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    CAPACITY = "capacity"
    NOVEL = "novel"
    """Of a kind that no document has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One reply to render."""

    asked: Asked
    reply: Reply
    entry: InputUsage
    chance: Chance
    created_s: int
    seed: bytes = b""
    """Stands for the request where an id is made from it."""
    deltas: int | None = None
    force_ids: bool = False
    """Send call ids even where the model has none."""

    def cut(self, text: str) -> list[str]:
        return tokens.deltas(text, self.deltas)

    def cut_json(self, text: str) -> list[str]:
        return tokens.json_deltas(text, self.deltas)

    def named(self, purpose: str, length: int, alphabet: str = BASE62) -> str:
        """An id that does not depend on what else was drawn: asked for twice, it is the same."""
        return Chance(f"{purpose}\0".encode() + self.seed).word(length, alphabet)


class Wire(Protocol):
    @property
    def name(self) -> WireName: ...
    @property
    def crlf(self) -> bool: ...
    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def troubles(self) -> Mapping[Trouble, Rejection]: ...

    def read(self, call: Call) -> Asked: ...
    def account(self, call: Call) -> str: ...
    def frames(self, job: Job) -> list[Frame]: ...
    def body(self, job: Job) -> JsonObject: ...
    def error_body(self, rejection: Rejection, request_id: str) -> JsonObject: ...
    def error_frame(self, rejection: Rejection, job: Job, at: int) -> Frame:
        """The error as an event of a running stream, in which `at` events came before it."""
        ...

    def headers(self, request_id: str) -> dict[str, str]: ...
    def ping(self) -> Frame | None: ...
    def unknown(self) -> Frame: ...
    def without_usage(self, frame: Frame) -> Frame | None: ...
    def overflow(self, total: int, window: int) -> Rejection: ...


def first_rejection(rules: tuple[Rule, ...], call: Call) -> tuple[str, Rejection] | None:
    """The name and the words of the first rule that says no."""
    for rule in rules:
        rejection = rule.check(call)
        if rejection is not None:
            return rule.name, rejection
    return None


def repeated(names: Iterator[str]) -> str | None:
    """The first name that comes twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
