"""A store whose answers get lost, on purpose and on order."""

from typing import Literal

from hypothesis import strategies as st

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

Fault = Literal["none", "not executed", "executed, answer lost"]
FAULTS: st.SearchStrategy[Fault] = st.sampled_from(
    ["none", "none", "none", "not executed", "executed, answer lost"]
)


class FaultyStore:
    """Passes everything on; the next write suffers the fault that was ordered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.next_fault: Fault = "none"

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self._store.load(chat_id, asking)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._store.create(outcome, keyed)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._store.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        fault, self.next_fault = self.next_fault, "none"
        if fault == "not executed":
            raise Unavailable("the statement never arrived")
        kept = await self._store.keep_receipt(chat_id, keyed, answer, stamp)
        if fault == "executed, answer lost":
            raise Unavailable("the answer never arrived")
        return kept

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        fault, self.next_fault = self.next_fault, "none"
        if fault == "not executed":
            raise Unavailable("the statement never arrived")
        stamp = await self._store.commit(outcome, fence=fence, keyed=keyed)
        if fault == "executed, answer lost":
            raise Unavailable("the answer never arrived")
        return stamp
