"""The proof of a lease, carried by every write of a runner."""

from dataclasses import dataclass

from holdfast.domain.chat import Chat
from holdfast.domain.errors import FenceStale
from holdfast.domain.ids import ChatId, Epoch, Version, VersionStamp, WorkerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Who drives which chat, since which acquisition, on which history.

    `epoch` keeps out a worker that was taken over; `history_version` keeps out a runner of the
    rightful worker that computed its answer before an edit (L06). `history_stamp` keeps out an
    answer to a history that the database has lost (L146).
    """

    chat_id: ChatId
    worker_id: WorkerId
    epoch: Epoch
    history_version: Version
    history_stamp: VersionStamp

    @classmethod
    def of(cls, chat: Chat) -> "Fence":
        assert chat.worker_id is not None, f"chat {chat.chat_id} has no owner to fence"
        return cls(
            chat_id=chat.chat_id,
            worker_id=chat.worker_id,
            epoch=chat.epoch,
            history_version=chat.history_version,
            history_stamp=chat.history_stamp,
        )

    def check(self, chat: Chat) -> None:
        """Refuse a write that was prepared for another chat than this one has become."""
        if (chat.worker_id, chat.epoch) != (self.worker_id, self.epoch):
            raise FenceStale(
                f"chat {chat.chat_id} is driven by {chat.worker_id} since epoch {chat.epoch}, "
                f"not by {self.worker_id} since {self.epoch}"
            )
        if chat.history_version != self.history_version:
            raise FenceStale(
                f"history of chat {chat.chat_id} moved from version {self.history_version} "
                f"to {chat.history_version}"
            )
        if chat.history_stamp != self.history_stamp:
            raise FenceStale(
                f"history of chat {chat.chat_id} at version {self.history_version} was replaced"
            )
