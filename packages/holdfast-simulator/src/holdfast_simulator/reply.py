"""What the simulator will say, before any wire has a say in how."""

from dataclasses import dataclass, field
from enum import StrEnum

from holdfast_simulator import tokens


class Stop(StrEnum):
    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    FILTER = "filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    MISSING = "missing"
    """The terminal event comes, and does not say why."""
    UNKNOWN = "unknown"
    """It says why, in a word that no document has."""
    BROKEN = "broken"
    """The server gave up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    url: str
    title: str
    quote: str
    page_age: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    text: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPart:
    text: str
    hidden_s: float = 0.0
    """The client sees none of the text, and so many seconds of silence instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedPart:
    """Reasoning that the client pays for and never reads."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    name: str
    arguments: str
    """JSON text; broken on purpose under some faults."""
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPart:
    """A search that the provider runs itself, with its results."""

    query: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPart:
    """A page that the provider reads itself."""

    url: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """Code that the provider runs itself."""

    code: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalPart:
    text: str


RunHere = SearchPart | FetchPart | RunPart
Part = TextPart | ThinkingPart | RedactedPart | CallPart | RunHere | RefusalPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    parts: tuple[Part, ...]
    stop: Stop = field(default=Stop.END)

    @property
    def calls(self) -> tuple[CallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, CallPart))


def reply_of(*parts: Part) -> Reply:
    stop = Stop.CALLS if any(isinstance(part, CallPart) for part in parts) else Stop.END
    return Reply(parts=parts, stop=stop)


def fit(reply: Reply, tokens_max: int | None) -> Reply:
    """The reply cut at the output limit of the request, as every provider does."""
    if tokens_max is None:
        return reply
    left = tokens_max
    kept: list[Part] = []
    for part in reply.parts:
        size = cost(part)
        if size > left:
            cut = _cut(part, left)
            return Reply(parts=(*kept, *cut), stop=Stop.LENGTH)
        kept.append(part)
        left -= size
    return reply


def cost(part: Part) -> int:
    return sum(map(tokens.count, pieces(part)))


def pieces(part: Part) -> list[str]:
    cut = tokens.json_deltas if isinstance(part, CallPart) else tokens.deltas
    return cut(spoken(part))


def spoken(part: Part) -> str:
    """The text of a part that is counted as output."""
    match part:
        case CallPart(arguments=arguments):
            return arguments
        case SearchPart(query=query):
            return query
        case FetchPart(url=url):
            return url
        case RunPart(code=code):
            return code
        case _:
            return part.text


def _cut(part: Part, left: int) -> tuple[Part, ...]:
    kept = ""
    for delta in pieces(part):
        left -= tokens.count(delta)
        if left < 0:
            break
        kept += delta
    if not kept:
        return ()
    match part:
        case TextPart(sources=sources):
            return (TextPart(text=kept, sources=sources),)
        case CallPart(name=name, call_id=call_id):
            return (CallPart(name=name, arguments=kept, call_id=call_id),)
        case ThinkingPart(hidden_s=hidden_s):
            return (ThinkingPart(text=kept, hidden_s=hidden_s),)
        case _:
            return ()
