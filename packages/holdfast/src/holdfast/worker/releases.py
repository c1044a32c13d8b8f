"""Gives chats back, many in one statement, and tells the workers that they wait."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from holdfast.chats.hints import hint_of_release
from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId
from holdfast.worker.lease_context import LeaseContext, jittered, log_failure

_LOG: Final = logging.getLogger(__name__)


Known: TypeAlias = Callable[[ChatId], bool]


class Releases:
    def __init__(self, tenure: LeaseContext) -> None:
        self._tenure = tenure
        self._waiting: dict[ChatId, Chat] = {}
        self._undriven: set[ChatId] = set()
        """Those of them that no runner was started for: they cost no attempt."""
        self._some = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, chat_id: ChatId) -> bool:
        return chat_id in self._waiting

    @property
    def waiting(self) -> dict[ChatId, Chat]:
        return dict(self._waiting)

    def put(self, chat: Chat, *, undriven: bool = False) -> None:
        """Harmless if the chat is no longer ours: then nothing is released."""
        self._waiting[chat.chat_id] = chat
        if undriven:
            self._undriven.add(chat.chat_id)
        else:
            self._undriven.discard(chat.chat_id)
        self._none.clear()
        self._some.set()

    async def done(self) -> None:
        """Until nothing waits to be released."""
        await self._none.wait()

    async def run(self, is_driven: Known, is_coming: Known) -> None:
        """Until cancelled; what fails is tried again, for as long as the lease lasts."""
        options, chance = self._tenure.options, self._tenure.chance
        while True:
            await self._some.wait()
            await asyncio.sleep(options.release_batch_s)
            try:
                await self._release(is_driven, is_coming)
            except Exception as error:  # noqa: BLE001 - tried again
                log_failure(_LOG, "worker: releasing failed", error)
                await asyncio.sleep(jittered(options.retry_s, chance))

    async def _release(self, is_driven: Known, is_coming: Known) -> None:
        """What a commit under way may give us waits for its end: the commit may fail, and then it
        is to be released as it was."""
        tenure = self._tenure
        async with tenure.giving_back():
            # Finished, acquired again and driven anew before its old runner was done: keep it.
            batch = {
                i: chat
                for i, chat in self._waiting.items()
                if not is_driven(i) and not is_coming(i)
            }
            released: Sequence[ChatId] = ()
            if batch:
                async with asyncio.timeout(tenure.options.statement_timeout_s):
                    released = await tenure.leases.release(
                        tenure.worker_id,
                        list(batch),
                        undriven=[i for i in batch if i in self._undriven],
                    )
            self._waiting = {
                i: chat for i, chat in self._waiting.items() if i not in batch and not is_driven(i)
            }
            self._undriven &= self._waiting.keys()
        if not self._waiting:
            self._some.clear()
            self._none.set()
        tenure.roused.set()  # there is room
        await self.tell(released, batch)

    async def tell(self, released: Collection[ChatId], known: dict[ChatId, Chat]) -> None:
        self._tenure.counters.released += len(released)
        hints = [hint_of_release(known[i]) for i in released if i in known]
        await self._tenure.bus.publish(hints)
