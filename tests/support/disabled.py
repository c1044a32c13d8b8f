"""The part of the fake store that names chats of disabled users."""

from collections.abc import Sequence

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import ChatId, UserId
from holdfast.ports.clock import Clock
from holdfast.ports.leases import StoppingChat
from tests.support.fake_rows import Record


class StopsDisabled:
    """`disabled`: the users whose chats are to be stopped."""

    disabled: set[UserId]
    _records: dict[ChatId, Record]
    _clock: Clock

    async def stopping_chats(self, *, limit: int) -> Sequence[StoppingChat]:
        chats, now = [record.chat for record in self._records.values()], self._clock.now()
        stopping = [each for each in chats if each.owner_id in self.disabled and _goes_on(each)]
        return [StoppingChat(each.chat_id, each.org_id, now) for each in stopping][:limit]


def _goes_on(chat: Chat) -> bool:
    if chat.status is Status.INTERRUPTING:
        return bool(chat.queue) and not chat.queue_paused
    return chat.status in (Status.RUNNING, Status.AWAITING)
