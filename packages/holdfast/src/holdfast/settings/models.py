"""The models that chats may name: where each is served, and how it is asked."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, model_validator

from holdfast.domain.messages import Effort
from holdfast.domain.provider_tools import ProviderToolName
from holdfast.settings.providers import FORBID, AwsSettings, ProviderSettings

_OWN: Final = "Instead of the setting of this name, for this model."
_SHORT: Final = "Short form, without `provider`: see the field of this name there."
Domains: TypeAlias = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[a-z0-9*]([a-z0-9.*/_-]{0,251})$")], ...],
    Field(max_length=100),
]
Dollars: TypeAlias = Annotated[Decimal, Field(ge=0, le=1_000_000)]


class CacheSettings(BaseModel):
    """How long the provider keeps the prompt in its cache. Only Anthropic Messages asks."""

    model_config = FORBID

    prefix: Literal["5m", "1h"] | None = Field(
        default="5m", description="Instructions and tools. null: not cached."
    )
    tail: Literal["5m", "1h"] | None = Field(
        default="5m", description="The messages. null: not cached."
    )

    @model_validator(mode="after")
    def _longer_first(self) -> Self:
        if (self.prefix, self.tail) == ("5m", "1h"):
            raise ValueError("tail should not be longer than prefix")
        return self


class FactsSettings(BaseModel):
    """What the model can do, instead of what the catalogue says of its name."""

    model_config = FORBID

    like: str = Field(
        default="",
        description="Name of a known model with the same facts and price, such as"
        " `gpt-5.4` for a deployment that is named otherwise.",
    )
    context_window: int | None = Field(default=None, gt=0, description="Tokens of the window.")
    output_max: int | None = Field(
        default=None, gt=0, description="Maximum tokens of a reply, thinking included."
    )
    images: bool | None = Field(default=None, description="Whether the model reads images.")
    documents: bool | None = Field(default=None, description="Whether the model reads PDFs.")
    thinking: Literal["none", "adaptive", "budget", "effort", "level"] | None = Field(
        default=None,
        description="How thinking is asked for: `adaptive` and `budget` (Anthropic), `effort`"
        " (OpenAI), `level` and `budget` (Gemini).",
    )
    efforts: tuple[Effort, ...] | None = Field(
        default=None, description="Efforts that the model knows, in rising order."
    )
    provider_tools: dict[ProviderToolName, str] | None = Field(
        default=None,
        description="Tools that the provider runs for the model, with the provider's name of each,"
        ' such as `{"web_search": "web_search_20260318"}`.',
    )
    edit_tool: Literal["replace", "patch"] | None = Field(
        default=None,
        description="What the model edits files with: `replace` (`edit_file`), or `patch`"
        " (`apply_patch`), which the GPT-5 models and later ones were trained on.",
    )


class ProviderToolSettings(BaseModel):
    """A tool that the provider runs for the model, and how far it may go."""

    model_config = FORBID

    name: ProviderToolName = Field(description="`web_search`, `web_fetch` or `code_execution`.")
    uses_max: int | None = Field(
        default=None,
        gt=0,
        le=1000,
        description="Maximum uses in one reply, where the vendor has it.",
    )
    allowed_domains: Domains = Field(
        default=(), description="The only domains that it may read, where the vendor has it."
    )
    blocked_domains: Domains = Field(
        default=(),
        description="Domains that it may not read, where the vendor has it; not with"
        " `allowed_domains`.",
    )

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.allowed_domains and self.blocked_domains:
            raise ValueError("set only one of allowed_domains, blocked_domains")
        if self.name == "code_execution" and (self.allowed_domains or self.blocked_domains):
            raise ValueError("code_execution reads no domains")
        return self


class PriceSettings(BaseModel):
    """Price in dollars per million tokens, instead of the price list's."""

    model_config = FORBID

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = Field(default=None, description="Empty: as `input`.")
    cache_write_5m: Dollars | None = Field(default=None, description="Empty: as `input`.")
    cache_write_1h: Dollars | None = Field(default=None, description="Empty: as `input`.")
    search: Dollars = Field(default=Decimal(0), description="Dollars per thousand web searches.")
    fetch: Dollars = Field(
        default=Decimal(0), description="Dollars per thousand pages that the provider read."
    )
    code_run: Dollars = Field(
        default=Decimal(0), description="Dollars per thousand runs of code at the provider."
    )


class ModelSettings(BaseModel):
    """A model that chats may name, and where it is served."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(min_length=1, description="Name of the model in Holdfast.")
    provider: str = Field(default="", description="Name of the provider that serves it.")
    model: str = Field(
        default="", description="The vendor's name of the model. Empty: the same as `name`."
    )
    effort: Effort | None = Field(
        default=None, description="Effort of messages that name none. Empty: the model's own."
    )
    output_max: int | None = Field(
        default=None, gt=0, description="Maximum tokens of one reply, as asked for."
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="Sampling temperature, where the model takes one."
    )
    cache: CacheSettings | None = Field(
        default=None, description="Time to live of the prompt cache; see below."
    )
    extra: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue],
        description="Further fields of the request's body, in the provider's words.",
    )
    betas: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]{1,100}$")], ...] = Field(
        default=(), description="Further values of the header `anthropic-beta`."
    )
    facts: FactsSettings | None = Field(
        default=None, description="What the model can do; see below."
    )
    price: PriceSettings | None = Field(default=None, description="Its price; see below.")
    price_id: str = Field(
        default="",
        pattern=r"^([a-z0-9-]+/.+)?$",
        description="Its name in the price list, such as `openai/gpt-5.4`.",
    )
    service_tier: str = Field(
        default="",
        pattern=r"^[a-z_]{0,40}$",
        description="Service tier in the provider's words, such as `flex` or `priority` (OpenAI,"
        " Gemini), `auto` or `standard_only` (Anthropic). Empty: the provider's own choice.",
    )
    provider_tools: tuple[ProviderToolSettings, ...] = Field(
        default=(),
        description="Tools that the provider runs for the model, such as web search; see below.",
    )
    web: bool = Field(
        default=True,
        description="Whether `web_search` and `web_fetch` of `provider_tools` are offered in chats"
        " whose messages do not say.",
    )
    fallback: tuple[str, ...] = Field(
        default=(),
        description="Names of other models of this list, in order. They answer while this one is"
        " overloaded, rate-limited, silent or unreachable.",
    )
    fallback_on_usage_limit: bool = Field(
        default=False,
        description="Whether a used-up account of the vendor also leads to `fallback`.",
    )
    first_part_s: float | None = Field(default=None, gt=0, description=_OWN)
    silence_s: float | None = Field(default=None, gt=0, description=_OWN)
    progress_s: float | None = Field(default=None, gt=0, description=_OWN)
    thinking_s: float | None = Field(default=None, gt=0, description=_OWN)
    vendor: str = Field(default="", description=_SHORT)
    base_url: str = Field(default="", description=_SHORT)
    api_key: SecretStr | None = Field(
        default=None, description="Short form, without `provider`: the field `key` there."
    )
    aws: AwsSettings | None = Field(default=None, description=_SHORT)
    values: dict[str, str] = Field(default_factory=dict[str, str], description=_SHORT)

    @model_validator(mode="after")
    def _one_provider(self) -> Self:
        short = [
            name
            for name in ("vendor", "base_url", "api_key", "aws", "values")
            if getattr(self, name)
        ]
        if self.provider and short:
            raise ValueError(f"set either provider or {', '.join(short)}, not both")
        if not self.provider and not self.vendor:
            raise ValueError("set provider, or vendor")
        if self.aws is not None and self.api_key is not None:
            raise ValueError("set either api_key or aws, not both")
        if self.price is not None and self.price_id:
            raise ValueError("set either price or price_id, not both")
        return self

    @property
    def model_name(self) -> str:
        return self.model or self.name

    def own_provider(self) -> ProviderSettings:
        """Of the short form."""
        return ProviderSettings(
            name=self.name,
            vendor=self.vendor,
            base_url=self.base_url,
            key=self.api_key,
            aws=self.aws,
            values=self.values,
        )

    def secrets(self) -> Iterator[str]:
        return self.own_provider().secrets()
