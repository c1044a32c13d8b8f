"""Bounds on what one person or one address may ask of a process."""

from typing import Annotated, TypeAlias

from pydantic import Field

RatePerSecond: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        description="Sustained requests per second, per user and process.",
    ),
]
RateBurst: TypeAlias = Annotated[
    int, Field(ge=1, description="Largest burst of requests, per user and process.")
]
StrangerRatePerSecond: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        description="Sustained unauthenticated requests per second, per client address and"
        " process.",
    ),
]
StrangerRateBurst: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        description="Largest burst of unauthenticated requests, per client address and process.",
    ),
]
RequestsMax: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        description="Maximum number of concurrent requests per process, streams not counted;"
        " further ones get 503 with `Retry-After`.",
    ),
]
StatementsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=200,
        description="Maximum number of concurrent statements per user and process; further ones"
        " wait, and free connections go to the waiting users in turn. All users"
        " together leave two connections to the turns. 0: no limit.",
    ),
]
ListSeconds: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=60,
        description="Timeout of a list of chats or a search, in seconds (`list_too_slow`).",
    ),
]
ChatsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=10_000_000,
        description="Maximum number of chats per user, archived ones included. At the limit no"
        " chat is created or forked (`too_many_chats`). 0: no limit.",
    ),
]
BytesPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=10**15,
        description="Maximum number of stored bytes of messages per user, archived chats"
        " included. At the limit nothing is sent, edited, restored, created or forked"
        " (`too_many_bytes`); a running turn goes on to its end. Messages from before"
        " the upgrade that added this setting are not counted. 0: no limit.",
    ),
]
StreamsPerUserMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Maximum number of open streams per user and process, of chats and of the"
        " list, SSE and WebSocket; a further one ends the oldest"
        " (`too_many_streams`). 0: no limit.",
    ),
]
StreamsPerChatMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Maximum number of open streams per user and process of the same chat, or of"
        " the list; a further one ends the oldest. 0: no limit.",
    ),
]
