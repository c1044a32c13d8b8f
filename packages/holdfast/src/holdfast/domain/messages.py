"""Messages: what is said (`MessageBody`), and one committed entry of history (`Message`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias, get_args

from holdfast.domain.ids import (
    NO_STAMP,
    CallId,
    ClientKey,
    Epoch,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
)
from holdfast.domain.parts import Part, ToolCall

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model may think, in rising order. A model that does not know one takes the next lower
one that it knows."""
EFFORTS: Final[tuple[str, ...]] = get_args(Effort)


TIER: Final = "tier_"
"""The names of usage counts that say which service tier answered begin with it."""


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    BOUNDARY = "boundary"  # a compaction's summary: what comes before it is no longer in the prompt


class Ending(StrEnum):
    """How a message came to its end."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"  # a person asked the turn to end
    CUT = "cut"  # the provider broke off
    LENGTH = "length"  # a limit of tokens was reached
    PAUSED = "paused"  # the provider asks to be called again with the same history

    @property
    def is_cut(self) -> bool:
        """Whether the model had more to say."""
        return self in {Ending.CUT, Ending.LENGTH}


class FinishReason(StrEnum):
    """How a message came to its end, in the words of the API."""

    STOP = "stop"
    INTERRUPTED = "interrupted"
    LENGTH = "length"
    PROVIDER_ERROR = "provider_error"
    PAUSED = "paused"


class Visibility(StrEnum):
    BOTH = "both"
    USER = "user"
    MODEL = "model"


class CallFate(StrEnum):
    """What the successor of a lost worker did about a call that it found open."""

    JOINED = "joined"  # keyed: it joined what ran already, or ran it for the first time
    REPEATED = "repeated"  # repeatable: it ran the call, which may have been the second run
    UNKNOWN = "unknown"  # the call may have taken effect, and was not run again
    NOT_STARTED = "not_started"  # the lost worker had not started it


@dataclass(frozen=True, slots=True)
class InheritedCall:
    """A call that was open when a worker was lost."""

    call_id: CallId
    tool: str
    fate: CallFate


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """What the successor of a lost worker found out, told with the first message that it commits.

    `attempt`: the attempt at this step that made the message. `after_s`: from the last sign of the
    first lost worker until the chat was acquired; None: not known. `kept`: the message is what the
    model of the lost worker had said.
    """

    attempt: int
    lost_workers: int = 1
    after_s: int | None = None
    kept: bool = False
    calls: tuple[InheritedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageBody:
    """What is said, before and after it is committed."""

    role: Role
    parts: tuple[Part, ...]
    ending: Ending = Ending.COMPLETE
    visibility: Visibility = Visibility.BOTH
    model: str | None = None
    effort: str | None = None
    web: bool | None = None  # whether the provider may search the web; None: as before
    plan_mode: bool | None = None  # whether its turn only plans; None: as before
    author_id: UserId | None = None
    usage: Mapping[str, int] | None = None
    cost_micros: int | None = None  # None: unpriced; 0: free
    takeover: Takeover | None = None  # a worker was lost before this was said
    client_key: ClientKey | None = None  # of the request that sent it
    prefix: str | None = None  # `PromptPrefix.digest`, of the first reply that was made with it

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that have to be answered here, in order."""
        return tuple(
            part for part in self.parts if isinstance(part, ToolCall) and part.runs_at == "here"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One committed entry of history; only `removed_revision` ever changes.

    `turn_seq`: the user message that began its turn, which is the last one up to here; a user
    message names itself. None: no user message comes before. `queued_id`: where it waited before it
    was promoted. `attempt`: the attempt at its step that made it, by the number that live parts
    carry; None: no attempt of a worker did.
    """

    seq: Seq
    body: MessageBody
    revision: Version
    epoch: Epoch
    created_at: datetime
    turn_seq: Seq | None = None
    queued_id: QueuedId | None = None
    attempt: int | None = None
    removed_revision: Version | None = None
    copied_from: Seq | None = None  # a restored message names its original, which keeps the cost
    stamp: VersionStamp = NO_STAMP  # of the history that its commit made
