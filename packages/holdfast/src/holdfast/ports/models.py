"""What a turn needs of language models: one attempt at a reply, as it arrives.

async with models.stream(ask) as stream:
    async for event in stream: ...
stream.final                # only if the provider declared the end
stream.partial()            # at any moment, also after an error
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Final, Literal, Protocol, Self, TypeAlias

from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import CallId, ChatId, UserId
from holdfast.domain.messages import TIER, Ending, MessageBody
from holdfast.domain.parts import Part
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.ports.tools import EditTool, ToolSpec


class ModelFailed(HoldfastError):
    """An attempt that brought no reply, classified once."""

    kind: ErrorKind
    detail: str  # for operators: redacted, but never for readers
    retryable: bool
    retry_after_s: float | None
    own_deadline: bool  # ours, not the provider's: never retried (L56)
    attempts_max: int | None = None  # at a step, where that is fewer than the policy allows
    request_id: str | None = None  # the provider's own name for the request, for its support
    own_key: bool = False  # the owner's key was used: its limits are no other chat's

    @abstractmethod
    def turn_error(self) -> TurnError:
        """For people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One attempt's prompt and settings, in no provider's words. `model`: None is the default.

    `bound_from`: so many messages were said with another system prompt, or other tools."""

    chat_id: ChatId
    model: str | None
    effort: str | None
    history: Sequence[MessageBody]
    bound_from: int = 0
    system: Sequence[str] = ()
    tools: Sequence[ToolSpec] = ()
    provider_tools: Sequence[ProviderToolSpec] = ()
    output_max: int | None = None  # tokens; None: as the model is configured
    temperature: float | None = None  # None: as the model is configured
    owner_id: UserId | None = None  # whose own key is used, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """Micro-dollars for a million tokens."""

    input_micros: int
    output_micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What is known of a model, for clients. None: not known."""

    context_window: int | None = None
    output_max: int | None = None
    efforts: tuple[str, ...] = ()  # in rising order; empty: it cannot be told how hard to think
    images: bool = False  # whether it takes them
    provider_tools: tuple[str, ...] = ()  # that the provider runs for it, as set here
    web: bool = False  # whether it searches the web for messages that do not say
    documents: bool = False  # whether it takes PDFs
    thinks: bool = False  # whether it can think before it answers
    vendor: str | None = None  # who serves it, for people
    simulated: bool = False  # whether the simulator of `holdfast dev` answers
    price: TokenPrice | None = None  # None: not known, or not by token alone
    retires_at: datetime | None = None


_NOT_COUNTED: Final = frozenset({"billed_micros", "service_tier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one attempt. `input` is the total; the cache counts are shares of it."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0  # a share of `output`
    searches: int = 0  # billed apiece
    fetches: int = 0  # pages that the provider read, where it tells
    code_runs: int = 0  # runs of code at the provider
    service_tier: str | None = None  # that answered, unless it is the standard one
    billed_micros: int | None = None  # the provider's own price of the reply, in micro-dollars

    def counts(self) -> Mapping[str, int]:
        """For `MessageBody.usage`: only what is not zero. Money is not counted here. A service tier
        is the name of a count of its own."""
        pairs = ((name, getattr(self, name)) for name in self.__slots__)
        counts = {name: value for name, value in pairs if value and name not in _NOT_COUNTED}
        tier = self.service_tier
        return counts if tier is None else {**counts, f"{TIER}{tier}": 1}


# What arrives. `index` is the position of the part in the reply.


@dataclass(frozen=True, slots=True)
class TextDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    index: int
    call_id: CallId
    tool: str
    runs_at: Literal["here", "provider"] = "here"


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class PartFinished:
    index: int
    part: Part


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """Cumulative: each one replaces the one before."""

    usage: Usage


Event: TypeAlias = (
    TextDelta | ReasoningDelta | CallStarted | ArgumentsDelta | PartFinished | UsageSeen
)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A call whose arguments were no JSON object: never run it, tell the model what it sent."""

    call_id: CallId
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply whose end the provider itself has declared."""

    parts: tuple[Part, ...]
    ending: Ending
    usage: Usage | None  # None: the provider did not say what it billed
    finish: str  # the provider's own word
    response_id: str | None = None
    malformed: tuple[Malformed, ...] = ()


class ModelStream(Protocol):
    """The events of one attempt. Enter it once; leaving it closes the connection."""

    @property
    def opened(self) -> bool:
        """Whether the provider began to stream: from then on it may bill (L12)."""
        ...

    @property
    def final(self) -> Reply | None: ...

    @property
    def usage(self) -> Usage | None:
        """What was billed up to the last event; None as long as the provider has not said."""
        ...

    def partial(self) -> tuple[Part, ...]:
        """What was said so far, fit to be stored."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a model is served, and which models answer in its place while it is down.

    `model` is its configured name, `fallback` is in the order of preference.
    """

    model: str = ""
    vendor: str = ""
    host: str = ""
    wire: str = ""
    fallback: tuple[str, ...] = ()
    fallback_on_usage_limit: bool = False
    provider_tools: tuple[ProviderToolSpec, ...] = ()  # that the provider runs for it
    web: bool = False  # whether those of the web go without saying
    edit_tool: EditTool = "replace"  # what the model was trained to edit files with

    @property
    def endpoint(self) -> str:
        """Names what fails as one: the circuit breaker counts by it."""
        return f"{self.vendor} {self.host}"


NO_ROUTE: Final = Route()


class OfferedModels(Protocol):
    """The models that messages may name. They may change while the process runs."""

    def names(self) -> tuple[str, ...]:
        """The first is for messages that name none."""
        ...

    def card(self, name: str) -> ModelCard | None:
        """What is known of a model; None for an unknown one."""
        ...


class Models(Protocol):
    def stream(self, ask: Ask) -> ModelStream:
        """Entering and reading it raise `ModelFailed`; so does an unknown model."""
        ...

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        """None: unknown; 0: free."""
        ...

    def context_window(self, model: str | None) -> int | None:
        """In tokens; None if unknown."""
        ...

    def route(self, model: str | None) -> Route:
        """`NO_ROUTE` for an unknown model."""
        ...
