"""A mutant: the sender is answered at once, and the message is committed a while later.

As long as nothing breaks no client can tell: a reader of the chat waits for the commit. If
the database goes away before it, the message goes with it, as an open transaction would.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from typing_extensions import override

from holdfast.bootstrap import Adapters
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId
from holdfast.domain.outcome import Outcome
from holdfast.ports.store import JUST_THE_CHAT, IdempotencyKey, Loaded, LoadQuery, Stamp
from holdfast_lab.chaos.faults.database.hopeful import Hopeful

LOOKS: Final = 30
LOOK_EVERY_S: Final = 0.05
"""Together longer than the attack ever waits for its next crash."""


@dataclass
class _Behind(Hopeful):
    waiting: dict[ChatId, tuple[Outcome, IdempotencyKey | None]] = field(
        default_factory=dict[ChatId, tuple[Outcome, IdempotencyKey | None]]
    )

    @override
    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        if (answered := self.waiting.pop(chat_id, None)) is not None:
            with suppress(Unavailable):  # no caller is left to be told
                await self._commit_late(*answered)
        return await self.inner.load(chat_id, asking)

    async def _commit_late(self, outcome: Outcome, keyed: IdempotencyKey | None) -> None:
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_EVERY_S)
            await self.inner.load(outcome.chat.chat_id)
        await self.inner.commit(outcome, keyed=keyed)

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        if not outcome.appended:  # it waits in the queue of a busy chat, whose version moves on
            return await self.inner.commit(outcome, fence=fence, keyed=keyed)
        self.waiting[outcome.chat.chat_id] = outcome, keyed
        return Stamp(outcome.chat.epoch, datetime.now(UTC))


def answering_first(adapters: Adapters) -> Adapters:
    return replace(adapters, store=_Behind(adapters.store))
