"""Requests and answers about the providers and models of an organisation."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SecretStr

from holdfast.admin.purposes import ModelPurpose
from holdfast.api.ids import GivenAs, ModelIdText, ProviderIdText, UserIdText
from holdfast.api.requests import Body
from holdfast.api.responses import NextCursor, Shape
from holdfast.domain.public_ids import PROVIDER_ID
from holdfast.ports.catalogue import ModelState

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
_SETTINGS = (
    "Further fields, as the models file has them: see docs/how-to/configure-a-provider.md. What is"
    " left out stays, null removes."
)


class CreateProvider(Body):
    name: Name = Field(description="Unique within the organisation.")
    vendor: Annotated[str, Field(max_length=100)] = Field(
        description="Whose protocol and address it is, such as `openai` or `anthropic`."
    )
    base_url: Annotated[str, Field(max_length=2_000)] = Field(
        default="", description="Where the API is; empty: the vendor's own address."
    )
    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None, description="API key; it is never returned."
    )
    values: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Values for the placeholders of the vendor's address, such as `region`.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any], description=f"`headers`, `proxy`, `aws`, … {_SETTINGS}"
    )
    is_enabled: bool = Field(default=True, description="Whether its models can be used.")
    user_keys: bool = Field(
        default=False, description="Whether users may store keys of their own, for their chats."
    )


class UpdateProvider(Body):
    """What is left out stays. If the host changes, keys that are not sent again are dropped."""

    name: Name | None = Field(default=None, description="Unique within the organisation.")
    vendor: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="Whose protocol and address it is."
    )
    base_url: Annotated[str, Field(max_length=2_000)] | None = Field(
        default=None, description="Where the API is; null: the vendor's own address."
    )
    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None, description="A new API key; null removes the present one."
    )
    values: dict[str, str] | None = Field(
        default=None, description="All values for the placeholders of the vendor's address."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any], description=f"`headers`, `proxy`, `aws`, … {_SETTINGS}"
    )
    is_enabled: bool | None = Field(default=None, description="Whether its models can be used.")
    user_keys: bool | None = Field(
        default=None, description="Whether users may store keys of their own, for their chats."
    )


class CreateModel(Body):
    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="What messages name it by; unique on the server."
    )
    provider_id: Annotated[str, GivenAs(PROVIDER_ID)] = Field(description="Where it is served.")
    is_enabled: bool = Field(default=True, description="Whether chats can use it.")
    is_default: bool = Field(
        default=False, description="Whether it is for messages that name no model."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description=f"`model`, `effort`, `output_max`, `price`, `facts`, … {_SETTINGS}",
    )


class UpdateModel(Body):
    """What is left out stays."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="What messages name it by."
    )
    provider_id: Annotated[str, GivenAs(PROVIDER_ID)] | None = Field(
        default=None, description="Where it is served."
    )
    is_enabled: bool | None = Field(default=None, description="Whether chats can use it.")
    is_default: bool | None = Field(
        default=None, description="true: instead of the present default."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description=f"`model`, `effort`, `output_max`, `price`, `facts`, … {_SETTINGS}",
    )


class ProviderEntry(Shape):
    id: ProviderIdText = Field(description="The provider, by its id.")
    name: str = Field(description="How admins name it.")
    vendor: str = Field(description="Whose protocol and address it is.")
    base_url: str = Field(description="Where the API is; empty: the vendor's own address.")
    values: dict[str, str] = Field(description="Values for the placeholders of the address.")
    settings: dict[str, Any] = Field(description="Its other fields that are not secret.")
    is_enabled: bool = Field(description="Whether its models can be used.")
    user_keys: bool = Field(
        description="Whether users may store keys of their own, for their chats."
    )
    has_key: bool = Field(description="Whether an API key is stored.")
    secret_fields: list[str] = Field(description="Secret fields that are stored.")
    key_last_four: str | None = Field(
        description="The end of the key; null: there is no key, or it is too short to show any."
    )
    key_fingerprint: str | None = Field(description="Tells two keys apart; null: none is stored.")
    key_set_at: datetime | None = Field(description="When it was stored; null: none is stored.")
    key_set_by: UserIdText | None = Field(description="Who stored it; null: none is stored.")
    created_at: datetime = Field(description="When it was added.")
    etag: str = Field(description="Its `ETag`, for `If-Match` of a change.")


class ProviderEntryPage(Shape):
    data: list[ProviderEntry] = Field(description="Providers that admins added, oldest first.")
    next_cursor: NextCursor


class SetProviderKey(Body):
    key: Annotated[SecretStr, Field(min_length=1, max_length=10_000)] = Field(
        description="The user's own API key for the provider; it is never returned."
    )


class ProviderKey(Shape):
    provider_id: ProviderIdText = Field(description="The provider, by its id.")
    name: str = Field(description="How admins name the provider.")
    vendor: str = Field(description="Whose protocol and address it is.")
    is_allowed: bool = Field(
        description="Whether an admin allows keys of users; if not, a stored key is not used."
    )
    has_key: bool = Field(description="Whether a key of the user is stored.")
    set_at: datetime | None = Field(description="When it was stored; null: none is stored.")


class ProviderKeyPage(Shape):
    data: list[ProviderKey] = Field(
        description="Providers that allow keys of users, or have one of this user, by name."
    )
    next_cursor: NextCursor


class ModelEntry(Shape):
    id: ModelIdText | None = Field(description="The model, by its id; null: of the models file.")
    name: str = Field(description="What messages name it by.")
    source: Literal["database", "file"] = Field(
        description="`file`: from the models file of the server; it cannot be changed here."
    )
    provider_id: ProviderIdText | None = Field(
        description="Where it is served; null: as the models file says."
    )
    is_enabled: bool = Field(description="Whether chats can use it.")
    is_default: bool = Field(description="Whether it is for messages that name no model.")
    settings: dict[str, Any] = Field(description="Its other fields; empty for the models file.")
    state: ModelState = Field(description="Whether it can answer, and if not, why.")
    unavailable_reason: str | None = Field(
        description="Why chats of the organisation cannot use it; null: they can."
    )
    purposes: list[ModelPurpose] = Field(
        description="What it is used for where neither a message nor a chat names a model."
    )
    etag: str | None = Field(
        description="Its `ETag`, for `If-Match` of a change; null: of the models file."
    )


class ModelEntryPage(Shape):
    data: list[ModelEntry] = Field(description="Models of the file first, then those added.")
    next_cursor: NextCursor


class ModelAnswer(Shape):
    answered: bool = Field(description="Whether the model answered.")
    failure: str | None = Field(
        description="Why not, with the provider's own words; null: it answered."
    )
    took_ms: int = Field(description="How long it took, in milliseconds.")
