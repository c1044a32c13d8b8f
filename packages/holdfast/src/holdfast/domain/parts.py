"""The typed pieces that a message is made of.

Every part may carry `native`: what the provider sent, verbatim, beside our normalised fields. The
same wire replays `native`; another wire converts the fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from holdfast.domain.ids import CallId

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Native:
    """A provider's own form of a part, and the wire protocol that understands it."""

    wire: str
    block: JsonObject


class Need(StrEnum):
    """What a tool call waits for from outside before, or instead of, being run by us."""

    NOTHING = "nothing"
    APPROVAL = "approval"  # then we run it
    LOGIN = "login"  # then we run it
    RESULT = "result"  # the client runs it
    ANSWER = "answer"  # a person answers it

    @property
    def is_gate(self) -> bool:
        """Whether the call is run by us once the need is met."""
        return self in {Need.APPROVAL, Need.LOGIN}


class Synthetic(StrEnum):
    """Why we wrote a result that no tool produced."""

    INTERRUPTED = "interrupted"
    DENIED = "denied"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CUT_OFF = "cut_off"
    UNKNOWN_OUTCOME = "unknown_outcome"


@dataclass(frozen=True, slots=True)
class Citation:
    """`text[start:end]` of a text part, in code points, rests on the source with this URL."""

    start: int
    end: int
    source_url: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    native: Native | None = None
    citations: tuple[Citation, ...] = ()
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str
    finished_at: datetime | None = None
    native: Native | None = None
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolCall:
    call_id: CallId
    tool: str
    arguments: JsonObject
    needs: Need = Need.NOTHING
    runs_at: Literal["here", "provider"] = "here"
    digest: str | None = None  # of a gated call: what a decision about it is bound to (X4)
    then: Need = Need.NOTHING  # what it waits for once its gate is open
    native: Native | None = None
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to. `output` is for the model; the fields after it say the same to programs.

    `signal`: what ended the command, without `SIG`. `process_id`: the command goes on in the
    workspace under this name. `timed_out`: the server stopped the tool at its deadline.
    `truncated`: there was more output. `summary_lines`: so many lines at the beginning of a text
    output are the tool's own words about the result, and no output of what it ran or read.
    `diff`: what the tool changed in files, as a unified diff; `output` may have only a part of it.
    """

    call_id: CallId
    tool: str
    output: JsonValue
    failed: bool = False
    synthetic: Synthetic | None = None
    runs_at: Literal["here", "client", "provider"] = "here"
    exit_code: int | None = None
    signal: str | None = None
    duration_ms: int | None = None
    process_id: str | None = None
    timed_out: bool = False
    truncated: bool = False
    summary_lines: int = 0
    diff: str = ""
    native: Native | None = None
    kind: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True)
class Source:
    """Where something that the model said comes from."""

    url: str
    title: str = ""
    native: Native | None = None
    kind: Literal["source"] = "source"


@dataclass(frozen=True, slots=True)
class File:
    """An attachment, by reference: bytes never lie in a message."""

    file_id: str
    media_type: str
    name: str = ""
    native: Native | None = None
    kind: Literal["file"] = "file"


@dataclass(frozen=True, slots=True)
class FileReference:
    """Some lines of a file in the workspace, as they were when a person pointed at them."""

    path: str
    first_line: int | None = None
    last_line: int | None = None
    text: str = ""
    native: Native | None = None
    kind: Literal["file_reference"] = "file_reference"


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    text: str = ""
    native: Native | None = None
    kind: Literal["skill"] = "skill"


@dataclass(frozen=True, slots=True)
class Context:
    """Something the server tells the model beside what the user said."""

    name: str
    text: str
    native: Native | None = None
    kind: Literal["context"] = "context"


Part: TypeAlias = (
    Text | Reasoning | ToolCall | ToolResult | Source | File | FileReference | Skill | Context
)
