"""What routes share: routers that read strictly, and checks that need the edge."""

from base64 import b64decode, urlsafe_b64encode
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request

from holdfast.admin.settings import (
    ALLOWED_MODELS,
    WEB_TOOLS_ENABLED,
    is_allowed,
)
from holdfast.api.auth import Caller
from holdfast.api.etags import tag_of_chat
from holdfast.api.ids import GivenAs
from holdfast.api.problem_responses import Problem
from holdfast.api.problems import MEDIA_TYPE
from holdfast.api.requests import COUNT_MAX
from holdfast.api.strict import StrictRoute
from holdfast.chats import listing
from holdfast.chats.listing import (
    METADATA_KEY_CHARS_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_CHARS_MAX,
)
from holdfast.domain.chat import Chat
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import ChatId, UserId
from holdfast.domain.provider_tools import WEB_TOOLS
from holdfast.domain.public_ids import (
    API_KEY_ID,
    CHAT_ID,
    MODEL_ID,
    PROVIDER_ID,
    SESSION_ID,
    USER_ID,
    WrongId,
)

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "A problem: see `code`.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}},
    }
}

ChatIdInPath: TypeAlias = Annotated[UUID, GivenAs(CHAT_ID), Path(alias="chat_id")]
UserIdInPath: TypeAlias = Annotated[UUID, GivenAs(USER_ID), Path(alias="user_id")]
SessionIdInPath: TypeAlias = Annotated[UUID, GivenAs(SESSION_ID), Path(alias="session_id")]
ApiKeyIdInPath: TypeAlias = Annotated[UUID, GivenAs(API_KEY_ID), Path(alias="api_key_id")]
ProviderIdInPath: TypeAlias = Annotated[UUID, GivenAs(PROVIDER_ID), Path(alias="provider_id")]
ModelIdInPath: TypeAlias = Annotated[UUID, GivenAs(MODEL_ID), Path(alias="model_id")]
UserIdInQuery: TypeAlias = Annotated[UUID, GivenAs(USER_ID)]
NumberInPath: TypeAlias = Annotated[
    int, Path(ge=1, le=COUNT_MAX, description="Its number within the chat.")
]
Limit: TypeAlias = Annotated[
    int, Query(ge=1, le=200, description="How many items a page has at most.")
]
After: TypeAlias = Annotated[
    str | None, Query(max_length=1_000, description="Where the page before this one ended.")
]
CursorInQuery: TypeAlias = Annotated[
    str | None,
    Query(alias="cursor", max_length=1_000, description="`next_cursor` of the page before."),
]


def _metadata_filter(
    request: Request,
    _: Annotated[
        str | None,
        Query(
            alias="metadata[key]",
            description="Only chats with this value under `key` in their metadata. Several keys: "
            "with all of them.",
        ),
    ] = None,
) -> dict[str, str] | None:
    """The pairs that a request asks for, each as `metadata[key]=value`."""
    given = [
        (name.removeprefix("metadata[").removesuffix("]"), value)
        for name, value in request.query_params.multi_items()
        if name.startswith("metadata[")
    ]
    for key, value in given:
        if not 1 <= len(key) <= METADATA_KEY_CHARS_MAX or len(value) > METADATA_VALUE_CHARS_MAX:
            raise FieldRefused("metadata", "no chat can have this pair", within="query")
    if len(dict(given)) < len(given) or len(given) > METADATA_PAIRS_MAX:
        raise FieldRefused(
            "metadata", f"at most {METADATA_PAIRS_MAX} keys, each once", within="query"
        )
    return dict(given) or None


MetadataInQuery: TypeAlias = Annotated[dict[str, str] | None, Depends(_metadata_filter)]


def encode_number(prefix: str, number: int) -> str:
    """A cursor of a list in the order of numbers. `prefix`: which list, and in which order."""
    return urlsafe_b64encode(f"{prefix}{number}".encode()).decode().rstrip("=")


def decode_number(prefix: str, cursor: str) -> int:
    try:
        said = b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except ValueError:
        said = ""
    number = said.removeprefix(prefix)
    if not said.startswith(prefix) or not (number.isascii() and number.isdigit()):
        raise FieldRefused("cursor", "not a cursor of this list")
    return min(int(number[:18]), COUNT_MAX)


Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=1_000, description="`next_cursor` of the page before this one.")
]
UserChoice: TypeAlias = Annotated[
    str,
    Query(
        alias="user_id",
        max_length=64,
        description="`me`, the id of a user, or `any`: of every user whose the caller may see.",
    ),
]


def chosen_user(asks: Caller, choice: str) -> UserId | None:
    """None: of every user."""
    if choice == "any":
        return None
    if choice == "me":
        return asks.who.user_id
    try:
        return USER_ID.decode(choice)
    except WrongId as wrong:
        reason = f"{wrong} `me` and `any` are allowed as well."
        raise FieldRefused("user_id", reason, within="query") from None


def router_for(tag: str, route_class: type[StrictRoute] = StrictRoute) -> APIRouter:
    return APIRouter(route_class=route_class, tags=[tag], responses=PROBLEMS)


async def chat_tag(asks: Caller, chat_id: ChatId) -> str:
    return tag_of_chat(await listing.find(asks.edge.chats.listing, asks.who, chat_id))


async def check_web(
    asks: Caller, *models: str | None, web: bool | None, chat_id: ChatId | None = None
) -> None:
    """Refuse a message that asks for a search that its model cannot make, before it is stored.
    `models`: what the message names, and what the chat would name. A replica that only serves
    people may not know the models: then the model answers without a search."""
    if not web:
        return
    if not asks.current(WEB_TOOLS_ENABLED):
        raise FieldRefused("web", "not allowed in this organisation")
    edge = asks.edge
    name = next((model for model in models if model is not None), None)
    if name is None and chat_id is not None:
        await listing.find(edge.chats.listing, asks.who, chat_id)
        loaded = await edge.chats.store.load(chat_id)
        name = None if loaded is None else loaded.facts.chat.model
    name = name or asks.default_model
    card = None if name is None else edge.models.card(name)
    if card is not None and WEB_TOOLS.isdisjoint(card.provider_tools):
        raise FieldRefused("web", f"the model {name} has no web search")


def check_model(asks: Caller, name: str | None) -> None:
    """A replica that only serves people may not know the models: then the turn finds out."""
    known = asks.models
    if name is not None and known and name not in known:
        raise FieldRefused("model", "no such model")
    if name is not None and not is_allowed(name, asks.current(ALLOWED_MODELS)):
        raise FieldRefused("model", "not allowed in this organisation")


def window_tokens(asks: Caller, chat: Chat) -> int | None:
    """The context window of the model that reads the chat; None: not known."""
    model = chat.model or asks.default_model
    card = None if model is None else asks.edge.models.card(model)
    return None if card is None else card.context_window
