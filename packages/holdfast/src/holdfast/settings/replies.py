"""Settings of replies that are under way."""

from typing import Annotated, TypeAlias

from pydantic import Field

FinishRepliesSeconds: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=3600,
        description="Seconds that a stopping worker waits for running replies to end. After that"
        " it commits the partial replies, and another worker continues them. At most"
        " four fifths of `HOLDFAST_DRAIN_S`. 0: replies are handed over at once.",
    ),
]
