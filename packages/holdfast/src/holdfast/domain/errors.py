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
    │   │   ├── CompactionSpent summaries did not make the prompt short enough
    │   │   ├── TurnChanged     the turn that it names is not the present one
    │   │   ├── NotYetExpired
    │   │   └── AttemptsSpent
    │   ├── KeyReused           same idempotency key, other request
    │   ├── FenceStale          the writer's right to drive this chat has passed on
    │   ├── ChatBusy            others kept being faster
    │   ├── ContentRefused      text or JSON past a bound
    │   ├── AnswerNotValid      not what the questions of `ask_user` ask for
    │   └── OverQuota           the owner has as much as one may have; nothing was written
    │       ├── TooManyChats
    │       └── TooManyBytes
    ├── ChangedMeanwhile        not what the caller had seen: nothing was written
    ├── IdentityError           a user may not, or is not who they say: see domain/denials.py
    ├── WorkspaceUnusable       not now: see ports/workspaces.py
    ├── EdgeError               a request that no verb sees: see api/errors.py
    ├── Unavailable             the world says not now; the change may or may not be committed
    │   ├── Contended           one statement was refused; the database is well
    │   │   ├── TooManyStatements   too many of one person's wait; this one was not made
    │   │   └── TooSlow         a read that took longer than it may
    │   └── DatabaseReadOnly    no write is possible now
    └── FormatUnknown           a stored row that this version cannot read
        └── ChatTooNew          its writer said so

A class names its `code`, and `api.problems` has a row for each code. What is our own mistake is an
`assert`.
"""

import re
from collections.abc import Mapping
from typing import ClassVar, Final

from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.public_ids import CHAT_ID

NO_WRITES: Final = "The database cannot be written at the moment. Try again later."
_NOTHING: Final[Mapping[str, object]] = {}
_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def as_sentence(reason: str) -> str:
    """A reason, as people read it: with a capital letter and a full stop."""
    return reason[:1].upper() + reason[1:] + ("" if reason.endswith((".", "!", "?")) else ".")


class HoldfastError(Exception):
    """What an API client is told of an error; `api.problems` makes a document of it."""

    code: ClassVar[str] = "internal"
    """Stable: programs branch on it. A class without a code of its own has its family's."""
    is_public: ClassVar[bool] = True
    """Whether the text is for clients. If not, it may name a host or a statement."""
    retry_after_s: float | None = None
    """When a client may try again, if that helps."""
    extra: Mapping[str, object] = _NOTHING
    """For programs, beside the code."""

    @property
    def sentence(self) -> str | None:
        """For people, beside the title of the code."""
        return str(self) if self.is_public else None


class ChatError(HoldfastError):
    pass


class ChatNotFound(ChatError):
    code = "chat_not_found"

    def __init__(self, chat_id: ChatId) -> None:
        super().__init__(f"Chat {CHAT_ID.encode(chat_id)} was not found.")


class CommandRefused(ChatError):
    """A command that changes nothing, and why."""

    code = "command_refused"

    def __init__(self, chat_id: ChatId, standing: str, command: str, reason: str) -> None:
        super().__init__(f"{command} refused for chat {chat_id} ({standing}): {reason}")
        self.chat_id = chat_id
        self.standing = standing
        self.command = command
        self.reason = reason
        self.extra = {
            "command": _WORD_START.sub("_", command).lower(),
            "chat_status": standing,
        }

    @property
    def sentence(self) -> str:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return as_sentence(self.reason)


class NotLawful(CommandRefused):
    code = "chat_state_conflict"


class QueueFull(CommandRefused):
    code = "queue_full"


class QueuedNotFound(CommandRefused):
    code = "queued_message_not_found"


class NotEditable(CommandRefused):
    code = "not_editable"


class NotForkable(CommandRefused):
    code = "not_forkable"


class VersionNotFound(CommandRefused):
    code = "version_not_found"


class CallNotOpen(CommandRefused):
    code = "call_not_open"


class ApprovalMismatch(CommandRefused):
    """A decision about something other than what waits for one."""

    code = "approval_mismatch"


class CallsUnanswered(CommandRefused):
    pass


class ReplyOwed(CommandRefused):
    pass


class NothingToCompact(CommandRefused):
    code = "nothing_to_compact"


class CompactionSpent(CommandRefused):
    pass


class TurnChanged(CommandRefused):
    code = "turn_changed"


class NotYetExpired(CommandRefused):
    pass


class AttemptsSpent(CommandRefused):
    pass


class MessageNotFound(ChatError):
    code = "message_not_found"

    def __init__(self, chat_id: ChatId, seq: int) -> None:
        super().__init__(f"Message {seq} is not in the history of chat {CHAT_ID.encode(chat_id)}.")


class KeyReused(ChatError):
    code = "idempotency_key_reused"

    def __init__(self, key: ClientKey) -> None:
        super().__init__(
            f"The idempotency key {key!r} was used for another request. Use a new key."
        )


class FenceStale(ChatError):
    pass


class ChatBusy(ChatError):
    code = "write_contention"
    retry_after_s = 1.0

    def __init__(self, chat_id: ChatId, tries: int) -> None:
        super().__init__(f"chat {chat_id} changed {tries} times while a command was decided")

    @property
    def sentence(self) -> str:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return "The chat is being changed by other requests. Try again."


class ContentRefused(ChatError):
    code = "content_too_large"

    @property
    def sentence(self) -> str:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return as_sentence(str(self))


class AnswerNotValid(ChatError):
    code = "answer_not_valid"

    @property
    def sentence(self) -> str:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return as_sentence(str(self))


class OverQuota(ChatError):
    """The quota of the one who asks; nothing was written."""


class TooManyChats(OverQuota):
    code = "too_many_chats"

    def __init__(self, chats_max: int) -> None:
        super().__init__(f"One user may have at most {chats_max} chats, archived ones included.")


class TooManyBytes(OverQuota):
    code = "too_many_bytes"

    def __init__(self, bytes_max: int) -> None:
        super().__init__(
            f"One user may store at most {bytes_max} bytes of messages, those of archived chats"
            " included."
        )


class ChangedMeanwhile(HoldfastError):
    """What the caller wanted to change is no longer what the caller had seen."""

    code = "precondition_failed"

    def __init__(self) -> None:
        super().__init__("The resource has changed. Read it again.")


class SecretsOff(HoldfastError):
    """There is no master key to seal a secret with. Nothing was stored."""

    code = "secrets_off"

    def __init__(self) -> None:
        super().__init__(
            "This server has no master key, so that it cannot store a secret. Set"
            " HOLDFAST_MASTER_KEY_FILE or HOLDFAST_MASTER_KEY_COMMAND on every server."
        )


class SecretUnreadable(HoldfastError):
    """A stored secret cannot be opened: another master key, a lost data key, a moved ciphertext."""

    code = "secret_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The stored secret cannot be read with the master key of this server. Enter it again,"
            " or set the master key that it was stored with."
        )


class NameTaken(HoldfastError):
    """Another provider or model has the name."""

    code = "name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"The name {name!r} is taken. Choose another one.")


class Unavailable(HoldfastError):
    """The store did not answer. Whether a write was committed is unknown: ask again by key."""

    code = "unavailable"
    is_public = False

    def __init__(self, what: str, *, retry_after_s: float | None = 1.0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


class Contended(Unavailable):
    """The database refused one statement: another transaction was in the way, or the rows of that
    chat are the reason. Says nothing about the database itself."""


class TooManyStatements(Contended):
    """The person who asks has enough statements waiting; this one was not made."""

    code = "too_many_statements"
    is_public = True

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} requests of this user are waiting for the database.")


class TooSlow(Contended):
    """A list or a search took longer than it may, and was ended. Nothing was changed."""

    code = "list_too_slow"
    is_public = True

    def __init__(self, within_s: float) -> None:
        super().__init__(
            f"The list was not read within {within_s:g} s. Ask for less, or filter by less."
        )


class DatabaseReadOnly(Unavailable):
    """The database can be read at best: a standby, or a primary that was made read-only."""

    @property
    def sentence(self) -> str:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return NO_WRITES


class FormatUnknown(HoldfastError):
    """A row has a word or a format that this version does not know. A newer version has most likely
    written it: the chat waits for a server that can read it."""

    code = "upgrading"
    is_public = False
    retry_after_s = 30.0


class ChatTooNew(FormatUnknown):
    """The chat names a reader level above the one of this version."""

    def __init__(self, chat_id: ChatId, needed: int, ours: int) -> None:
        super().__init__(f"chat {chat_id} needs reader level {needed}; this version has {ours}")
