"""What routes share: routers that read strictly, and checks that need the edge."""

from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Path, Query

from holdfast.admin.settings import ALLOWED_MODELS, is_allowed
from holdfast.api.auth import Caller
from holdfast.api.etags import tag_of_chat
from holdfast.api.problems import MEDIA_TYPE
from holdfast.api.requests import COUNT_MAX
from holdfast.api.responses import Problem
from holdfast.api.strict import StrictRoute
from holdfast.chats import listing
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import ChatId

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "A problem: see `code`.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}},
    }
}

ChatIdInPath: TypeAlias = Annotated[UUID, Path(alias="chat_id")]
UserIdInPath: TypeAlias = Annotated[UUID, Path(alias="user_id")]
NumberInPath: TypeAlias = Annotated[int, Path(ge=1, le=COUNT_MAX)]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=200)]
After: TypeAlias = Annotated[
    str | None, Query(max_length=1_000, description="Where the page before this one ended.")
]


def router_for(tag: str) -> APIRouter:
    return APIRouter(route_class=StrictRoute, tags=[tag], responses=PROBLEMS)


async def chat_tag(asks: Caller, chat_id: ChatId) -> str:
    return tag_of_chat(await listing.find(asks.edge.chats.listing, asks.who, chat_id))


def check_model(asks: Caller, name: str | None) -> None:
    """A replica that only serves people may not know the models: then the turn finds out."""
    edge = asks.edge
    if name is not None and edge.models and name not in edge.models:
        raise FieldRefused("model", "no such model")
    if name is not None and not is_allowed(name, asks.current(ALLOWED_MODELS)):
        raise FieldRefused("model", "not allowed in this organisation")
