"""The facts of a chat: everything a decision may look at, and never the whole history."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from holdfast.domain.client_tools import ClientTool
from holdfast.domain.compaction import Compaction
from holdfast.domain.ids import (
    NO_EPOCH,
    NO_QUEUED_ID,
    NO_SEQ,
    NO_STAMP,
    NO_VERSION,
    CallId,
    ChatId,
    Epoch,
    OrgId,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
    WorkerId,
)
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import JsonObject, Need

QUEUE_LENGTH_MAX: Final = 50
AWAITED_BYTES_MAX: Final = 64 * 1024
"""Of the arguments of all calls of a reply that wait for an answer from outside, together: what the
facts hold of them. Past that, a reader finds them in the message."""
QUEUE_BYTES_MAX: Final = 2 * 2**20
"""Of all messages that wait in a chat, together."""
ATTEMPTS_MAX: Final = 10
"""Attempts at one step before the turn fails; counted in the database, so a crash counts too."""


class Status(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    INTERRUPTING = "interrupting"
    AWAITING = "awaiting"
    FAILED = "failed"


class Standing(StrEnum):
    """Where a command finds a chat: its status, or a fact that goes before it."""

    ABSENT = "absent"
    IDLE = "idle"
    RUNNING = "running"
    INTERRUPTING = "interrupting"
    AWAITING = "awaiting"
    FAILED = "failed"
    ARCHIVED = "archived"


class ErrorKind(StrEnum):
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    STREAM_CLOSED = "stream_closed"
    AUTH = "auth"
    CONFIG = "config"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    USAGE_LIMIT = "usage_limit"
    STEP_LIMIT = "step_limit"  # a pause and no failure: a retry lets the turn go on
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnError:
    """Why a turn failed: a sentence for people, and what a program may branch on."""

    kind: ErrorKind
    sentence: str
    provider: str | None = None
    status_code: int | None = None
    retryable: bool = False
    detail: str | None = None  # the provider's words, redacted; for admins only, never in events
    request_id: str | None = None  # the provider's name for the request; for admins only


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A wait between two attempts, as every reader is shown it."""

    error: TurnError
    delay_ms: int
    until: datetime
    model: str | None = None  # the fallback that the next attempt asks; None: the chat's own model


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A tool call in history that has no result yet.

    `epoch` is the acquisition under which it may have been started: a runner of a later epoch that
    finds it must assume that it was. `digest`: what a decision about a gated call names, and what
    the call must still be when it is run (X4). `then`: what it needs once its gate is open.
    `place`: where it would be run when it was asked for (`Toolbox.place`): what was started there
    is known there only (L145). `arguments`: of a call that waits for an answer from outside; None
    of other calls, and of a call whose arguments are long (`AWAITED_BYTES_MAX`).
    """

    call_id: CallId
    tool: str
    seq: Seq
    epoch: Epoch
    needs: Need = Need.NOTHING
    digest: str | None = None
    then: Need = Need.NOTHING
    place: str | None = None
    arguments: JsonObject | None = None

    @property
    def key(self) -> str:
        """Names the call in its chat for ever, for its runner. The id alone would not: after
        a compaction or an edit a model may use one again, but no message gets a number twice."""
        return f"{self.seq}.{self.call_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaiting:
    kind: Need
    calls: tuple[CallId, ...]
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """What the facts hold of a message that waits. `head`: its beginning (domain/heads.py), or all
    of it unless `cut`. `bytes`: the size of the whole."""

    queued_id: QueuedId
    position: int
    urgent: bool
    head: MessageBody
    bytes: int
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWorkers:
    """Workers that were lost since the last message, by the database's clock.

    `since`: when the lease of the first of them ended. `until`: when the chat was acquired from the
    last one.
    """

    workers: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """What commits change of a chat. Each fact has a default: `Draft.set` takes any of them."""

    status: Status = Status.IDLE
    archived: bool = False

    version: Version = NO_VERSION
    history_version: Version = NO_VERSION
    queue_version: Version = NO_VERSION
    stamp: VersionStamp = NO_STAMP  # of the commit that made `version`; acquiring keeps it
    history_stamp: VersionStamp = NO_STAMP  # of the commit that made `history_version`

    last_seq: Seq = NO_SEQ
    turn_seq: Seq | None = None  # of the last user message: it names the present or the last turn
    last_queued_id: QueuedId = NO_QUEUED_ID
    owes_reply: bool = False  # the history ends in something that a model should answer
    compactable: bool = False  # something was said since the last boundary
    compaction_requested: bool = False
    compaction: Compaction | None = None  # the newest decision, until a reply shows that it helped
    prompt_tokens: int | None = None  # of the next prompt, as far as it is known
    steps: int = 0  # replies of the model since a person last spoke
    advised: int = 0  # calls of the advisor since then, without those that failed
    open_calls: tuple[OpenCall, ...] = ()
    queue: tuple[QueuedMessage, ...] = ()
    queue_paused: bool = False  # by a stop: none of the queue begins until a person says so

    worker_id: WorkerId | None = None
    epoch: Epoch = NO_EPOCH
    attempt: int = 0  # at the present history_version; part of an episode's identity
    attempts_forgiven: int = 0  # of those, made before a person asked to try again
    lost: LostWorkers | None = None  # set by acquiring; forgotten with a message, and at rest

    model: str | None = None  # of the present turn
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool = False  # tools that change something are refused (domain/plan_mode.py)
    error: TurnError | None = None
    backoff: Backoff | None = None
    awaiting: Awaiting | None = None
    tools: tuple[ClientTool, ...] = ()  # that its client runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat(ChatState):
    """A snapshot of a chat's facts at one version."""

    chat_id: ChatId
    org_id: OrgId
    owner_id: UserId

    @property
    def history(self) -> tuple[Version, VersionStamp]:
        """Names the history: another one has another name, also after lost commits."""
        return self.history_version, self.history_stamp

    @property
    def standing(self) -> Standing:
        if self.version == NO_VERSION:
            return Standing.ABSENT
        return Standing.ARCHIVED if self.archived else Standing(self.status.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFacts:
    """What only lists show of a chat. No version counts it (L73)."""

    title: str | None = None
    labels: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


NOT_LISTED: Final = ListedFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an edit must know of the message it names."""

    seq: Seq
    role: Role
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a restore must know of the history as of an older version.

    Edits hide suffixes, so what that history shares with the present one is a prefix of both: up to
    `shared_seq`. `copied` of its messages lie beyond, of `copied_bytes`, and `hidden` of the
    present ones. `tail` is its last reply and what follows it. `turn_seq` is its last user message,
    and `turn_copied` the place of that message among the copied ones; 0: it is shared.
    """

    version: Version
    shared_seq: Seq
    copied: int
    copied_bytes: int = 0
    hidden: int
    turn_seq: Seq | None = None
    turn_copied: int = 0
    tail: tuple[MessageBody, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a fork must know of the history that it takes: as of a version, up to a message, and of
    it what people may see.

    `last_seq` is its last message, `messages` their number and `bytes` their size. `tail` is its
    last reply, at `reply_seq`, and what follows it; `before_reply` are those before, of
    `bytes_before_reply`. `turn_seq` is its last user message, by the numbers of the fork.
    """

    chat: Chat
    version: Version
    last_seq: Seq
    messages: int
    reply_seq: Seq
    before_reply: int
    bytes: int = 0
    bytes_before_reply: int = 0
    turn_seq: Seq | None = None
    tail: tuple[MessageBody, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A chat, and what the command at hand needs to know beside it."""

    chat: Chat
    target: Target | None = None
    past: Past | None = None
    origin: Origin | None = None
