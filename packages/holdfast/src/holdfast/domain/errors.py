"""The errors of the whole server: few families, each for another reaction.

    HoldfastError
    ├── ChatError               the chat says no; the caller can act on it
    │   ├── ChatNotFound        unknown, or not yours: the answer is the same
    │   ├── CommandRefused      names the chat, its standing, the command and the reason
    │   │   ├── NotLawful       no such cell in TRANSITIONS
    │   │   ├── QueueFull
    │   │   ├── QueuedNotFound
    │   │   ├── NotEditable
    │   │   ├── NotForkable
    │   │   ├── VersionNotFound
    │   │   ├── CallNotOpen
    │   │   ├── ApprovalMismatch
    │   │   ├── CallsUnanswered
    │   │   ├── ReplyOwed
    │   │   ├── NothingToCompact
    │   │   ├── NotYetExpired
    │   │   └── AttemptsSpent
    │   ├── KeyReused           same idempotency key, other request
    │   ├── FenceStale          the writer's right to drive this chat has passed on
    │   ├── ChatBusy            others kept being faster
    │   ├── ContentRefused      text or JSON past a bound
    │   └── OverQuota           the owner has as much as one may have; nothing was written
    │       ├── TooManyChats
    │       └── TooManyBytes
    ├── ChangedMeanwhile        not what the caller had seen: nothing was written
    ├── IdentityError           who asks may not, or is not who they say: see domain/denials.py
    ├── Unavailable             the world says not now; the change may or may not be committed
    │   ├── Contended           one statement was refused; the database is well
    │   │   ├── TooManyStatements   too many of one person's wait; this one was not made
    │   │   └── TooSlow         a read that took longer than it may
    │   └── DatabaseReadOnly    no write is possible now
    └── FormatUnknown           a stored row that this version cannot read
        └── ChatTooNew          its writer said so

What is our own mistake is an `assert`.
"""

from holdfast.domain.ids import ChatId, ClientKey


class HoldfastError(Exception):
    pass


class ChatError(HoldfastError):
    pass


class ChatNotFound(ChatError):
    def __init__(self, chat_id: ChatId) -> None:
        super().__init__(f"chat {chat_id} not found")


class CommandRefused(ChatError):
    """A command that changes nothing, and why."""

    def __init__(self, chat_id: ChatId, standing: str, command: str, reason: str) -> None:
        super().__init__(f"{command} refused for chat {chat_id} ({standing}): {reason}")
        self.chat_id = chat_id
        self.standing = standing
        self.command = command
        self.reason = reason


class NotLawful(CommandRefused):
    pass


class QueueFull(CommandRefused):
    pass


class QueuedNotFound(CommandRefused):
    pass


class NotEditable(CommandRefused):
    pass


class NotForkable(CommandRefused):
    pass


class VersionNotFound(CommandRefused):
    pass


class CallNotOpen(CommandRefused):
    pass


class ApprovalMismatch(CommandRefused):
    """A decision about something other than what waits for one."""


class CallsUnanswered(CommandRefused):
    pass


class ReplyOwed(CommandRefused):
    pass


class NothingToCompact(CommandRefused):
    pass


class NotYetExpired(CommandRefused):
    pass


class AttemptsSpent(CommandRefused):
    pass


class KeyReused(ChatError):
    def __init__(self, key: ClientKey) -> None:
        super().__init__(f"idempotency key {key!r} was used for another request")


class FenceStale(ChatError):
    pass


class ChatBusy(ChatError):
    def __init__(self, chat_id: ChatId, tries: int) -> None:
        super().__init__(f"chat {chat_id} changed {tries} times while a command was decided")


class ContentRefused(ChatError):
    pass


class OverQuota(ChatError):
    """The quota of the one who asks; nothing was written."""


class TooManyChats(OverQuota):
    def __init__(self, chats_max: int) -> None:
        super().__init__(f"one user may have at most {chats_max} chats, archived ones included")


class TooManyBytes(OverQuota):
    def __init__(self, bytes_max: int) -> None:
        super().__init__(
            f"one user may store at most {bytes_max} bytes of messages, those of archived chats"
            " included"
        )


class ChangedMeanwhile(HoldfastError):
    """What the caller wanted to change is no longer what the caller had seen."""

    def __init__(self) -> None:
        super().__init__("changed meanwhile; look again")


class Unavailable(HoldfastError):
    """The store did not answer. Whether a write was committed is unknown: ask again by key."""

    def __init__(self, what: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


class Contended(Unavailable):
    """The database refused one statement: another transaction was in the way, or the rows of that
    chat are the reason. Says nothing about the database itself."""


class TooManyStatements(Contended):
    """The person who asks has enough statements waiting; this one was not made."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} statements of the same user wait already")


class TooSlow(Contended):
    """A list or a search took longer than it may, and was ended. Nothing was changed."""

    def __init__(self, within_s: float) -> None:
        super().__init__(f"not read within {within_s:g} s; ask for less, or filter by less")


class DatabaseReadOnly(Unavailable):
    """The database can be read at best: a standby, or a primary that was made read-only."""


class FormatUnknown(HoldfastError):
    """A row has a word or a format that this version does not know. A newer version has most likely
    written it: the chat waits for a server that can read it."""

    retry_after_s = 30.0


class ChatTooNew(FormatUnknown):
    """The chat names a reader level above the one of this version."""

    def __init__(self, chat_id: ChatId, needed: int, ours: int) -> None:
        super().__init__(f"chat {chat_id} needs reader level {needed}; this version has {ours}")
