"""Parts of messages as answers show them (responses.py)."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from holdfast.api.shapes import Shape, left_out_if_none
from holdfast.domain.parts import Synthetic

ActionType: TypeAlias = Literal["approval", "login", "result", "answer"]
ExecutedBy: TypeAlias = Literal["server", "client", "provider"]


class Citation(Shape):
    start: int = Field(description="The first character, from 0, in Unicode code points.")
    end: int = Field(description="The character after the last one.")
    source_url: str = Field(description="The `url` of a part `source` of the same message.")


class TextPart(Shape):
    type: Literal["text"]
    text: str = Field(description="Markdown, as the user or the model wrote it.")
    citations: list[Citation] = Field(
        description="Which of the text rests on which source, in the order of `start`."
    )


class ReasoningPart(Shape):
    type: Literal["reasoning"]
    text: str = Field(
        description="What the provider shows of the model's reasoning; often only a summary."
    )
    finished_at: datetime | None = Field(
        description="When the model went on from reasoning to its answer; null: not recorded."
    )


class ToolCallPart(Shape):
    type: Literal["tool_call"]
    call_id: str = Field(description="Unique within the chat; the result of the call names it.")
    tool_name: str = Field(
        description="The tool that the model calls, as it was declared to the model."
    )
    arguments: dict[str, Any] = Field(
        description="What the model gives to the tool: an object that fits the tool's input schema."
    )
    action_required: ActionType | None = Field(
        description="What the call waits for before it is run, or instead of being run."
    )
    executed_by: ExecutedBy = Field(
        description="Who runs the tool: this server, the client of the chat, or the model's "
        "provider."
    )
    digest: str | None = Field(
        description="What an approval of the call must name; null: the call needs no approval."
    )
    exact_arguments: dict[str, str] | None = Field(
        default=None,
        description="The JSON text of those arguments that hold a number which a 64-bit float "
        "cannot hold. Show this text instead of the parsed value; the call runs with it.",
        json_schema_extra=left_out_if_none,
    )


class ToolResultPart(Shape):
    type: Literal["tool_result"]
    call_id: str = Field(description="The call that this is the result of.")
    tool_name: str = Field(description="The tool that was called.")
    output: Any = Field(description="Any JSON value; text over 32 KiB is cut in its middle.")
    is_error: bool = Field(description="Whether the tool failed; `output` then says why.")
    synthetic_reason: Synthetic | None = Field(
        description="Why the server wrote this result; null: the tool returned it."
    )
    executed_by: ExecutedBy = Field(
        description="Who ran the tool: this server, the client of the chat, or the model's "
        "provider."
    )
    exit_code: int | None = Field(description="Of a command that ended by itself.")
    signal: str | None = Field(description="What ended a command, without `SIG`: `KILL`.")
    duration_ms: int | None = Field(description="How long a command ran that has ended.")
    process_id: str | None = Field(
        description="The command goes on in the workspace as this process, such as `p1`."
    )
    timed_out: bool = Field(description="The server stopped the tool at its deadline.")
    truncated: bool = Field(description="There was more output than `output` holds.")
    summary_lines: int = Field(
        description="So many lines at the beginning of a text `output` are the tool's own summary, "
        "written for the model. The other fields say the same; leave these lines out when you show "
        "the output."
    )
    diff: str | None = Field(
        default=None,
        description="What the tool changed in files: a unified diff. Left out: nothing.",
        json_schema_extra=left_out_if_none,
    )


class SourcePart(Shape):
    type: Literal["source"]
    url: str = Field(description="The page that the model used.")
    title: str = Field(
        description="Of the page, as the provider reports it; empty if it reports none."
    )


class FilePart(Shape):
    type: Literal["file"]
    file_id: str = Field(description="Names the stored file; the bytes are not in the message.")
    media_type: str = Field(description="Of the file, such as `image/png`.")
    name: str = Field(
        description="The file name that the user saw when attaching it; empty if it had none."
    )


class FileReferencePart(Shape):
    type: Literal["file_reference"]
    path: str = Field(description="Of the file, within the workspace.")
    first_line: int | None = Field(
        description="Counted from 1; null: the reference is to the whole file."
    )
    last_line: int | None = Field(
        description="Included, counted from 1; null: up to the end of the file."
    )
    text: str = Field(description="The lines as they were when the message was sent.")


class SkillPart(Shape):
    type: Literal["skill"]
    name: str = Field(description="The skill that the user chose.")
    text: str = Field(description="The instructions of the skill, which the model reads.")


Part: TypeAlias = Annotated[
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | SourcePart
    | FilePart
    | FileReferencePart
    | SkillPart,
    Field(discriminator="type"),
]
