"""The base of all answers, and what a message says of how it was made."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast.domain.messages import CallFate


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


def left_out_if_none(schema: dict[str, Any]) -> None:
    """A field that is not sent where there is nothing to say: optional, without a default."""
    schema.pop("default")


class InheritedCall(Shape):
    call_id: str = Field(description="As in the part `tool_call`.")
    tool_name: str = Field(
        description="The tool that the lost worker had called or was about to call."
    )
    fate: CallFate = Field(
        description="`joined`: keyed, not run twice. `repeated`: run again, for it is repeatable. "
        "`unknown`: may have taken effect, and was not run again. `not_started`: the lost worker "
        "had not started it."
    )


class Takeover(Shape):
    """Workers were lost before this message, and another one went on."""

    attempt: int = Field(description="The attempt at this step that made the message.")
    lost_workers: int = Field(description="How many workers were lost since the message before.")
    after_seconds: int | None = Field(
        description="From the last sign of the first lost worker until another one went on. "
        "null: not known."
    )
    kept: bool = Field(description="The message is what the lost worker's model had said.")
    calls: list[InheritedCall] = Field(description="Those that were open, and what became of each.")


class Usage(Shape):
    """Tokens of the request that made a message. null: the provider reported none."""

    input_tokens: int | None = Field(description="All tokens of the prompt, cached ones included.")
    output_tokens: int | None = Field(description="All tokens of the reply, reasoning included.")
    reasoning_tokens: int | None = Field(
        description="The part of `output_tokens` that the model spent on reasoning."
    )
    cache_read_tokens: int | None = Field(
        description="The part of `input_tokens` that the provider read from its cache."
    )
    cache_write_tokens: int | None = Field(
        description="The part of `input_tokens` that the provider wrote to its cache."
    )
    service_tier: str | None = Field(
        default=None,
        description="The provider's service tier that answered; left out: the standard one.",
        json_schema_extra=left_out_if_none,
    )
