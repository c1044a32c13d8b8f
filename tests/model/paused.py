"""What waited when a chat was stopped: it begins only if a person says so."""

from typing import TYPE_CHECKING

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Status

if TYPE_CHECKING:
    from holdfast.domain.ids import ChatId, QueuedId


class PausedMessages:
    def __init__(self) -> None:
        self._paused: dict[ChatId, set[QueuedId]] = {}

    def expect(self, before: Chat, command: c.Command) -> None:
        """A person's command was accepted."""
        paused = self._paused.setdefault(before.chat_id, set())
        match command:
            case c.Interrupt() if before.status not in {Status.IDLE, Status.FAILED}:
                paused.update(queued.queued_id for queued in before.queue)
            case c.PromoteQueued(queued_id):
                paused.discard(queued_id)
            case c.ResumeQueue():
                paused.clear()
            case _:
                pass

    def check(self, before: Chat, after: Chat) -> None:
        """A worker's command was committed."""
        left = {queued.queued_id for queued in after.queue}
        gone = {queued.queued_id for queued in before.queue} - left
        begun = gone & self._paused.get(before.chat_id, set())
        assert not begun, f"S10: paused by a stop, and begun by a worker: {begun}"
