"""Room for a chat that is acquired by the very commit that makes it runnable.

Offered by the worker of the same process to the code that commits a user's command. The database
decides which worker drives a chat; this only saves the round trip of an acquire.
"""

from typing import Protocol

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome


class WorkerSlot(Protocol):
    """Kept free for one chat while its commit is under way; ends in one of the three."""

    @property
    def worker_id(self) -> WorkerId: ...

    def fill(self, outcome: Outcome, messages: tuple[Message, ...]) -> None:
        """It is committed, and ours: drive it."""
        ...

    def leave(self) -> None:
        """Nothing was committed."""
        ...

    def doubt(self, chat: Chat) -> None:
        """The outcome is unknown: the chat may be ours without a runner."""
        ...


class WorkerSlots(Protocol):
    def place(self, chat_id: ChatId) -> WorkerSlot | None:
        """None if all workers should hear of the chat: no room here, or other chats wait."""
        ...


class NoWorkerSlots:
    """For a process without a worker."""

    def place(self, chat_id: ChatId) -> WorkerSlot | None:  # noqa: ARG002 - a port's
        return None
