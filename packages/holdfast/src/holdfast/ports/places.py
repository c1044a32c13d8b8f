"""Room for a chat that is acquired by the very commit that makes it runnable.

Offered by the worker of the same process, to whoever commits what a person asked for. No truth
passes here: who drives a chat is what the database says, and this only spares the way there.
"""

from typing import Protocol

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome


class Place(Protocol):
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
        """Nobody knows: it may be ours, and nobody drives it."""
        ...


class Places(Protocol):
    def place(self, chat_id: ChatId) -> Place | None:
        """None if it is better to let everybody hear of the chat: no room, or others wait."""
        ...


class NoPlaces:
    """Nobody drives in this process."""

    def place(self, chat_id: ChatId) -> Place | None:  # noqa: ARG002 - a port's
        return None
