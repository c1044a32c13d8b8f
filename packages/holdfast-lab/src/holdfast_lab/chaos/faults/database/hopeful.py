"""A mutant: who cannot store something says that it is taken, and hopes for the best."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from holdfast.bootstrap import Adapters
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)


@dataclass
class Hopeful:
    inner: Store

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self.inner.load(chat_id, asking)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self.inner.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self.inner.keep_receipt(chat_id, keyed, answer, stamp)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self.inner.create(outcome, keyed)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        try:
            return await self.inner.commit(outcome, fence=fence, keyed=keyed)
        except Unavailable:
            return Stamp(outcome.chat.epoch, datetime.now(UTC))


def hoping(adapters: Adapters) -> Adapters:
    return replace(adapters, store=Hopeful(adapters.store))
