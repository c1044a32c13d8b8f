"""What the fake store knows of chats that no live worker drives: see `Leases.acquire`."""

from collections.abc import Sequence

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import ChatId


def is_asked_for(chat: Chat, only: Sequence[ChatId] | None) -> bool:
    return only is None or (chat.worker_id is not None and chat.chat_id in only)


def is_suspect(chat: Chat, takeovers: int, alone_from: int | None) -> bool:
    """`takeovers`: so far, in a row."""
    dead = chat.worker_id is not None and chat.status is Status.RUNNING
    return alone_from is not None and dead and takeovers + 1 >= alone_from
