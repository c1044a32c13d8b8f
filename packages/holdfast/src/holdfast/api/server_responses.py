"""What answers about the server, its models and its workspaces look like (see responses.py)."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from holdfast.api.ids import ChatIdText, WorkspaceIdText
from holdfast.api.responses import NextCursor, Shape
from holdfast.domain.workspaces import WorkspaceStatus


class TokenPrice(Shape):
    input_micros: int = Field(description="For a million tokens of the prompt that are not cached.")
    output_micros: int = Field(description="For a million tokens of replies.")


class Model(Shape):
    id: str = Field(description="What messages name it by.")
    is_default: bool = Field(description="Whether messages that name no model get this one.")
    context_window: int | None = Field(description="In tokens; null: not known.")
    output_max: int | None = Field(
        description="Tokens that one reply may have at most; null: not known."
    )
    efforts: list[str] = Field(
        description="Efforts that the model knows, in rising order; empty: none can be chosen."
    )
    images: bool = Field(description="Whether the model takes images.")
    provider_tools: list[str] = Field(
        description="Tools that the provider runs for the model: `web_search`, `web_fetch`, "
        "`code_execution`."
    )
    web: bool = Field(
        description="Whether the model may search the web for messages that do not say `web`."
    )
    documents: bool = Field(description="Whether the model takes PDFs.")
    thinking: bool = Field(description="Whether the model can think before it answers.")
    vendor: str | None = Field(description="Who serves the model, for people; null: not known.")
    simulated: bool = Field(
        description="Whether the simulator of `holdfast dev` answers instead of a language model."
    )
    price: TokenPrice | None = Field(
        description="In micro-dollars, as the price list or the server's settings have it; null: "
        "not known, or it depends on more than the number of tokens."
    )
    retires_at: datetime | None = Field(
        description="When the provider ends the model; null: not announced."
    )


class ModelPage(Shape):
    data: list[Model] = Field(description="Models that the organisation allows.")
    next_cursor: NextCursor


class Template(Shape):
    name: str = Field(description="What a request for a workspace names.")
    description: str = Field(
        description="What the workspace has, for people; written by the administrator of the "
        "server."
    )
    ttl_seconds: int | None = Field(
        description="How long a workspace may lie idle before it is stopped; null: for ever."
    )


class TemplatePage(Shape):
    """The first is the default."""

    data: list[Template] = Field(description="Templates in the order of preference.")
    next_cursor: NextCursor


class Workspace(Shape):
    id: WorkspaceIdText = Field(
        description="The workspace, by its id; another workspace of the chat has another one."
    )
    chat_id: ChatIdText
    template: str = Field(description="The template that it was made from.")
    status: WorkspaceStatus = Field(
        description="What it does now; `starting` and `stopping` end by themselves."
    )
    ttl_seconds: int | None = Field(
        description="How long it may lie idle before it is stopped; null: as its template says."
    )
    auto_stop_at: datetime | None = Field(
        description="When it is stopped unless something happens in the chat before; null: never."
    )
    error: str | None = Field(description="Why it failed.")
    created_at: datetime = Field(description="When it was requested.")


class VersionInfo(Shape):
    version: str = Field(description="Of the server software.")
    api: Literal["v1"] = Field(description="The version of the API; it is part of every path.")


class Health(Shape):
    status: Literal["ok"] = Field(
        description="Always `ok`: a server that is not healthy answers with a problem."
    )
