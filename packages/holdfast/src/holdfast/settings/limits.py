"""Bounds on what one person or one address may ask of a process."""

from typing import Annotated, TypeAlias

from pydantic import Field

RatePerSecond: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        description="Requests per second that one user may make of one process in the long run.",
    ),
]
RateBurst: TypeAlias = Annotated[
    int, Field(ge=1, description="Requests that one user may make at once.")
]
StrangerRatePerSecond: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        description="Requests per second without a credential that holds which one address may"
        " make of one process in the long run.",
    ),
]
StrangerRateBurst: TypeAlias = Annotated[
    int, Field(ge=1, description="Such requests that one address may make at once.")
]
RequestsMax: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        description="Requests that one process works on at once, streams not counted; more are"
        " told to come again.",
    ),
]
StatementsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=200,
        description="Statements of one user that one process makes at once; further ones wait, and"
        " free connections go round among the users who wait. With it all users together leave two"
        " connections to the turns. 0: no bound.",
    ),
]
ListSeconds: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=60,
        description="Seconds that the database may take for a list of chats or a search in it; then"
        " the statement is ended (`list_too_slow`).",
    ),
]
ChatsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=10_000_000,
        description="How many chats one user may have, archived ones included. Beyond it none is"
        " made or forked (`too_many_chats`). 0: no bound.",
    ),
]
BytesPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=10**15,
        description="How many bytes of messages one user may store, those of archived chats"
        " included. Beyond it nothing is sent, edited, restored, made or forked"
        " (`too_many_bytes`); a turn that runs goes on to its end. What was stored before the"
        " upgrade that brought this setting is not counted. 0: no bound.",
    ),
]
StreamsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Streams of one user (of chats and of the list, by SSE or WebSocket) that one"
        " process keeps open; a further one ends the oldest (`too_many_streams`). 0: no bound.",
    ),
]
StreamsPerChatMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Streams of one user of the same chat, or of the list, that one process keeps"
        " open; a further one ends the oldest. 0: no bound.",
    ),
]
