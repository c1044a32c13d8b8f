"""The words of the model layer: what is asked (`Call`), where (`Endpoint`), and what a wire must be
able to do (`Wire`, `Decoder`). What arrives is said in the words of `ports.models`.
"""

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import JsonObject, Part
from holdfast.ports.models import Event, Reply, Usage
from holdfast.ports.tools import EditTool, FreeForm

Object: TypeAlias = dict[str, Any]
"""JSON as it lies on a wire: not ours to type, checked where it is read."""


class ThinkingReplay(StrEnum):
    """How much of its earlier thinking a model is sent (Anthropic)."""

    ALL = "all"
    DROP_STALE = "drop_stale"  # all, and the provider drops what no longer fits its conversation
    LAST_TURN = "last_turn"  # only what was thought since the last user message
    NONE = "none"


class ThinkingStyle(StrEnum):
    """How a model is told how hard to think."""

    NONE = "none"
    ADAPTIVE = "adaptive"  # Anthropic: `thinking: adaptive` and `output_config.effort`
    BUDGET = "budget"  # Anthropic's `budget_tokens`, Gemini's `thinkingBudget`
    EFFORT = "effort"  # OpenAI's `reasoning.effort`
    LEVEL = "level"  # Gemini's `thinkingLevel`


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What we know of a model. Unknown models get cautious defaults from the catalogue."""

    model: str  # as the provider spells it
    context_window: int | None = None
    output_max: int = 32_000
    thinking: ThinkingStyle = ThinkingStyle.NONE
    efforts: tuple[str, ...] = ()  # allowed ones, in rising order
    budgets: Mapping[str, int] = field(default_factory=dict[str, int])
    sampling: bool = True  # whether `temperature` is accepted
    images: bool = True
    documents: bool = True  # PDF
    thinks: bool = False  # without being asked to
    thinking_display: str | None = None  # Anthropic hides thinking on newer models unless asked
    betas: tuple[str, ...] = ()
    price_id: str | None = None  # "provider/model" for prices.py
    provider_tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tools that the provider runs for it, with the provider's name of each."""
    edit_tool: EditTool = "replace"  # what it was trained to edit files with


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that we run, as offered to the model."""

    name: str
    description: str = ""
    schema: JsonObject = field(default_factory=dict[str, Any])
    free_form: FreeForm | None = None


@dataclass(frozen=True, slots=True)
class ProviderTool:
    """A tool that the provider runs, in the provider's own words; other wires leave it out."""

    wire: str
    block: JsonObject


@dataclass(frozen=True, slots=True)
class OneTool:
    """The model must call this tool."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "required", "none"] | OneTool
Ttl: TypeAlias = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """For how long the prompt's fixed prefix and its growing tail should stay cached."""

    prefix: Ttl | None = "5m"
    tail: Ttl | None = "5m"

    def __post_init__(self) -> None:
        # The provider refuses a longer time to live behind a shorter one.
        assert (self.prefix, self.tail) != ("5m", "1h"), "the longer time to live goes first"


FileResolver: TypeAlias = Callable[[str], bytes | None]
"""The bytes of a file id, loaded beforehand: codecs do no I/O. None: the file has expired."""


def no_files(_file_id: str) -> bytes | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt's prompt and settings, in no wire's words."""

    model: ModelFacts
    history: Sequence[MessageBody]
    system: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    provider_tools: Sequence[ProviderTool] = ()
    tool_choice: ToolChoice = "auto"
    effort: str | None = None
    output_max: int | None = None
    temperature: float | None = None
    cache: CachePolicy = CachePolicy()
    cache_key: str | None = None  # the chat: keeps its prompts on the same cache
    stored: bool = False  # whether the provider keeps the reply, with its reasoning (Responses)
    thinking_replay: ThinkingReplay = ThinkingReplay.ALL
    bound_from: int = 0  # of so many messages the model cannot take its thinking back (Anthropic)
    files: FileResolver = no_files
    extra: JsonObject = field(default_factory=dict[str, Any])  # further fields of the body
    service_tier: str | None = None  # in the provider's words
    without: frozenset[str] = frozenset()  # settings that the provider rejected, as dotted paths


# Where it goes.


@dataclass(frozen=True, slots=True)
class NoAuth:
    pass


@dataclass(frozen=True, slots=True)
class HeaderAuth:
    """A secret in a header: `authorization: Bearer …`, `x-api-key: …`."""

    name: str
    secret: str = field(repr=False)
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class AwsAuth:
    """AWS signature version 4."""

    access_key: str
    secret: str = field(repr=False)
    region: str
    service: str
    token: str | None = field(default=None, repr=False)


FixedAuth: TypeAlias = NoAuth | HeaderAuth | AwsAuth


class RenewedAuth(Protocol):
    """A credential that ends and is renewed: see tokens.py."""

    @property
    def secrets(self) -> tuple[str, ...]: ...

    async def current(self, now: datetime) -> FixedAuth:
        """The credential for a request made now; raises `ProviderError`."""
        ...

    async def renewed(self, refused: FixedAuth, now: datetime) -> FixedAuth:
        """The credential after the provider refused this one; raises `ProviderError`."""
        ...


Auth: TypeAlias = FixedAuth | RenewedAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """Where a vendor departs from its wire. Each is off for the wire's inventor."""

    done_ends: bool = False  # chat: a bare [DONE] proves the end, without a finish_reason
    replays_reasoning: bool = False  # chat: wants its reasoning fields back
    reasoning_stand_in: str | None = None
    """Chat: `reasoning_content` of messages that call tools and have no reasoning."""
    thinking_chunks: bool = False  # chat: reasoning is a chunk of a list in `content`
    thinking_switch: bool = False  # chat: effort "none" is `thinking: {"type": "disabled"}`
    output_limit: str = "max_completion_tokens"  # chat: the name of that field
    effort_field: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"  # chat
    usage_option: bool = True  # chat: knows `stream_options.include_usage`
    short_call_ids: bool = False  # chat: call ids are nine letters or digits
    reply_before_user: bool = False  # chat: refuses a user message right after a tool's result
    inline_schemas: bool = False  # chat: knows no `$ref` in the schema of a tool
    images: bool = True  # chat: False where no model of the vendor sees images
    documents: bool = True  # chat: knows parts of the type `file`
    cache_marks: bool = False  # chat: takes Anthropic's `cache_control` for some models
    tells_cost: bool = False  # chat: `usage.cost` is the price of the reply in dollars
    cache_key: bool = False  # knows `prompt_cache_key`
    custom_tools: bool = False  # responses: knows tools whose input is a text with a grammar
    plugins: bool = False  # chat: provider-run tools are `plugins`
    model_in_url: bool = False  # anthropic: `models/MODEL:streamRawPredict`, as Google serves it


NO_QUIRKS: typing.Final = Quirks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A vendor with an address and a credential: everything a request needs beside the call."""

    vendor: str
    title: str = ""  # for people
    wire: str
    base_url: str
    auth: Auth = NoAuth()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    quirks: Quirks = NO_QUIRKS
    guarded: bool = False  # a user set the address: it must not lead inside
    dialect: str = ""  # whose blocks may be replayed here; the wire's name unless said
    proxy: str | None = field(default=None, repr=False)  # only for addresses that an admin set
    private: tuple[str, ...] = field(default=(), repr=False)  # further secrets: headers, the proxy

    def __post_init__(self) -> None:
        # Behind a proxy the guard would check the proxy's address instead of the provider's.
        assert not (self.guarded and self.proxy), "a guarded address is reached without a proxy"
        if not self.dialect:
            object.__setattr__(self, "dialect", self.wire)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be seen in an error or a log."""
        return (*secrets_of(self.auth), *self.private)


def secrets_of(auth: Auth) -> tuple[str, ...]:
    match auth:
        case NoAuth():
            return ()
        case HeaderAuth(secret=secret):
            return (secret,)
        case AwsAuth(secret=secret, token=token):
            return (secret, token) if token else (secret,)
        case _:
            return auth.secrets


@dataclass(frozen=True, slots=True)
class Request:
    """What a wire wants sent, before it is authorised."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: Literal["GET", "POST"] = "POST"


class Decoder(Protocol):
    """Turns one stream into parts. Pure: bytes and time come in as arguments."""

    @property
    def usage(self) -> Usage:
        """What was told of the cost so far: at least so much."""
        ...

    @property
    def response_id(self) -> str | None:
        """The provider's name for the reply, once it was told."""
        ...

    @property
    def counted(self) -> bool:
        """Whether `usage` covers all that was received, so that it is a bill and no lower bound."""
        ...

    @property
    def thinking(self) -> bool:
        """Whether the model thinks at the moment, as far as the stream shows: silence is then no
        sign of a dead stream."""
        ...

    @property
    def ended(self) -> bool:
        """The provider has declared the end (P1); a little more may follow."""
        ...

    @property
    def closed(self) -> bool:
        """Nothing more will come: no need to wait for the connection's end."""
        ...

    def feed(self, name: str, data: Object | None) -> list[Event]:
        """One server-sent event; None for `[DONE]`. An error event raises `ProviderError`."""
        ...

    def final(self, now: datetime) -> Reply:
        """The reply; raises `ProviderError` unless the end was declared and is a good one."""
        ...

    def partial(self, now: datetime) -> tuple[Part, ...]:
        """What there is at this moment, fit to be stored."""
        ...


class Wire(Protocol):
    """A provider protocol: two pure functions, testable without a network."""

    @property
    def name(self) -> str: ...

    def request(self, call: Call, endpoint: Endpoint) -> Request: ...

    def decoder(self, call: Call, endpoint: Endpoint) -> Decoder: ...
