"""What will change: the whole of a decision, ready to be committed in one statement."""

from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.domain.chat import NOT_LISTED, Chat, ListedFacts, Past, QueuedMessage, Status
from holdfast.domain.ids import NO_VERSION, ChatId, QueuedId, Seq, Version, VersionStamp, WorkerId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.rider import Rider
from holdfast.domain.titles import first_words


class Fate(StrEnum):
    """How a queued message left the queue; its row stays."""

    PROMOTED = "promoted"
    TAKEN = "taken"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Appended:
    """`promoted`: the store copies the parts from this message of the queue, and `body` has none:
    a decision does not know them. `turn_seq`, `attempt`: as in `Message`."""

    seq: Seq
    body: MessageBody
    promoted: QueuedId | None = None
    turn_seq: Seq | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A message that enters the queue: what the facts hold of it, and the whole."""

    entry: QueuedMessage
    body: MessageBody


@dataclass(frozen=True, slots=True)
class QueueRemoval:
    """A message that leaves the queue, and where in history it went if it was promoted."""

    queued_id: QueuedId
    fate: Fate
    seq: Seq | None = None


@dataclass(frozen=True, slots=True)
class QueueMove:
    queued_id: QueuedId
    position: int
    urgent: bool


@dataclass(frozen=True, slots=True)
class ForkedHistory:
    """A history that a fork begins with: what people may see of a chat's, as of a version, up to a
    message; and its size."""

    chat_id: ChatId
    version: Version
    upto: Seq
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the caller of a command is told; kept with its key, and given again to a repeat.

    `turn_seq`: the turn that the command began, stopped, or let go on; None: no turn, or that of a
    queued message, which has no name yet."""

    version: Version
    turn_seq: Seq | None = None
    seq: Seq | None = None
    queued_id: QueuedId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`chat` is what the facts will be. `changed` is false if there is nothing to commit. `riders`:
    rows of other tables that the same commit writes. `listed`: of a new chat."""

    before: Chat
    chat: Chat
    answer: Answer
    changed: bool
    appended: tuple[Appended, ...] = ()
    hidden_from: Seq | None = None
    restored: Past | None = None
    forked: ForkedHistory | None = None
    queued: tuple[Enqueued, ...] = ()
    left: tuple[QueueRemoval, ...] = ()
    moved: tuple[QueueMove, ...] = ()
    releases: bool = False
    riders: tuple[Rider, ...] = ()
    listed: ListedFacts = NOT_LISTED

    @property
    def promoted(self) -> Appended | None:
        """The message that this commit moves from the queue into history."""
        return next((each for each in self.appended if each.promoted is not None), None)

    @property
    def first_words(self) -> str | None:
        """What the chat is called until there is a better title; None: not its first message. Of an
        edit, if the store finds that it hides the first message."""
        if self.before.turn_seq is not None and self.hidden_from is None:
            return None
        said = (each.body for each in self.appended if each.body.role is Role.USER)
        first = next(said, None)
        return None if first is None else first_words(first)

    @property
    def taker(self) -> WorkerId | None:
        """Who acquires the chat with this commit (see driving.taken_by)."""
        return self.chat.worker_id if self.before.worker_id is None else None

    def stamped(self, stamp: VersionStamp) -> "Outcome":
        """The same, as a commit of its own: no other commit has this stamp."""
        chat = self.chat
        new_history = chat.history_version == chat.version
        history_stamp = stamp if new_history else chat.history_stamp
        return replace(self, chat=replace(chat, stamp=stamp, history_stamp=history_stamp))

    @property
    def lists(self) -> bool:
        """Whether lists show the chat otherwise than before. What is said in the middle of a turn
        can wait for its end."""
        if self.before.version == NO_VERSION or self.hidden_from is not None:
            return True
        return _listed(self.before) != _listed(self.chat)


def _listed(chat: Chat) -> tuple[object, ...]:
    at_rest = chat.status not in {Status.RUNNING, Status.INTERRUPTING}
    return chat.status, chat.archived, len(chat.queue), chat.last_seq if at_rest else None
