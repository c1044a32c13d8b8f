"""What may be asked of a chat. Each command may be refused with a typed reason.

Acquiring and releasing a lease are not commands: ownership is orthogonal to what a chat is doing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from holdfast.domain.chat import NOT_LISTED, Backoff, ListedFacts, TurnError
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.compaction import Compaction
from holdfast.domain.ids import CallId, QueuedId, Seq, Version
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import Need, ToolResult

# From people.


@dataclass(frozen=True, slots=True)
class Create:
    """`model`, `effort`, `web`, `plan_mode`: of its turns, until a message asks for others.
    `listed`: how lists show it."""

    messages: tuple[MessageBody, ...] = ()
    tools: tuple[ClientTool, ...] = ()
    model: str | None = None
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool = False
    listed: ListedFacts = NOT_LISTED


@dataclass(frozen=True, slots=True)
class Fork:
    """Begin with what another chat says: up to a message (None: as far as it is whole), as of a
    version (None: now)."""

    at: Seq | None = None
    as_of: Version | None = None


@dataclass(frozen=True, slots=True)
class SendMessage:
    message: MessageBody
    when_busy: Literal["queue", "interrupt"] = "queue"


@dataclass(frozen=True, slots=True)
class EditMessage:
    seq: Seq
    replacement: MessageBody


@dataclass(frozen=True, slots=True)
class Interrupt:
    """`turn_seq`: only if this is the present turn. None: whichever turn runs."""

    turn_seq: Seq | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Run again after a failure, or at once where it waits before its next attempt. `turn_seq`:
    only if this is the present turn."""

    model: str | None = None
    turn_seq: Seq | None = None


@dataclass(frozen=True, slots=True)
class TakeQueued:
    """Take a message out of the queue, to edit it: its taker gets the whole of it back."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True)
class MoveQueued:
    queued_id: QueuedId
    before: QueuedId | None = None  # None: to the end


@dataclass(frozen=True, slots=True)
class PromoteQueued:
    """Say this one now, before the others and before the present turn ends by itself."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True)
class ResumeQueue:
    """Let the messages go on that a stop has paused."""


@dataclass(frozen=True, slots=True)
class ClearQueue:
    """Take every message out of the queue."""


@dataclass(frozen=True, slots=True)
class SubmitResults:
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Decide:
    """`digest`: of what was shown to the person who decides; None is no decision about anything.
    `reason`: what the model is told with a denial."""

    call_id: CallId
    verdict: Literal["approve", "deny"]
    digest: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeclareTools:
    """Offer the model these tools of the client's, and no others, from the next turn on."""

    tools: tuple[ClientTool, ...]


@dataclass(frozen=True, slots=True)
class RequestCompaction:
    """`keep`: what a person asks the summary to keep."""

    keep: str | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    pass


@dataclass(frozen=True, slots=True)
class Unarchive:
    pass


@dataclass(frozen=True, slots=True)
class Restore:
    """Make the history of an older version the present one again."""

    version: Version


# From the worker.


@dataclass(frozen=True, slots=True)
class BeginAttempt:
    """Counted before the model is called, so that budget and episode survive a crash."""


@dataclass(frozen=True, slots=True)
class CommitStep:
    """A model reply, a batch of tool results, or a compaction.

    `place`: where the keyed calls of the reply will run (`Toolbox.place`). `attempt`: the attempt
    that made the messages, if it is not the present one: a successor keeps the words of a lost
    worker, and readers saw them under the number of that worker's attempt. `advice_max`: how often
    the advisor may be asked since a person last spoke; calls of the reply beyond it are refused in
    the same commit. None: without a bound."""

    messages: tuple[MessageBody, ...]
    place: str | None = None
    attempt: int | None = None
    advice_max: int | None = None


@dataclass(frozen=True, slots=True)
class NeedCompaction:
    """The prompt is too long: a summary is the next step, also of a successor."""

    compaction: Compaction


@dataclass(frozen=True, slots=True)
class DropCompaction:
    """The summary failed, and the prompt still fits: the turn goes on without one."""


@dataclass(frozen=True, slots=True)
class RecordRetry:
    backoff: Backoff


@dataclass(frozen=True, slots=True)
class Await:
    kind: Need
    calls: tuple[CallId, ...]
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExpireAwait:
    """No answer came in time. Any worker may ask; the chat has no owner while it waits."""


@dataclass(frozen=True, slots=True)
class FinishTurn:
    pass


@dataclass(frozen=True, slots=True)
class FinishInterrupt:
    """`attempt`: as in `CommitStep`."""

    partial: tuple[MessageBody, ...] = ()
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    error: TurnError


FromPeople: TypeAlias = (
    Create
    | Fork
    | SendMessage
    | EditMessage
    | Interrupt
    | Retry
    | TakeQueued
    | MoveQueued
    | PromoteQueued
    | ResumeQueue
    | ClearQueue
    | SubmitResults
    | Decide
    | DeclareTools
    | RequestCompaction
    | Archive
    | Unarchive
    | Restore
)
FromWorker: TypeAlias = (
    BeginAttempt
    | CommitStep
    | NeedCompaction
    | DropCompaction
    | RecordRetry
    | Await
    | FinishTurn
    | FinishInterrupt
    | Fail
)
Command: TypeAlias = FromPeople | FromWorker | ExpireAwait
