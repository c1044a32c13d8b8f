"""Settings of replies that are under way."""

from typing import Annotated, TypeAlias

from pydantic import Field

FinishRepliesSeconds: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=3600,
        description="Seconds that a stopping worker lets replies that are under way come to their"
        " end, before it keeps what was said and another worker goes on from there. At most four"
        " fifths of `HOLDFAST_DRAIN_S`. 0: replies are handed over at once.",
    ),
]
