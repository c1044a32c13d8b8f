"""A mutant: whoever sends is answered at once, and what was sent is stored a moment later.

As long as nothing breaks nobody can tell: who asks for the chat meanwhile waits for that moment.
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
from holdfast.ports.store import JUST_THE_CHAT, Asking, Keyed, Loaded, Stamp
from holdfast.prove.limits.hopeful import Hopeful

MOMENT_S: Final = 0.3


@dataclass
class _Behind(Hopeful):
    waiting: dict[ChatId, tuple[Outcome, Keyed | None]] = field(
        default_factory=dict[ChatId, tuple[Outcome, Keyed | None]]
    )

    @override
    async def load(self, chat_id: ChatId, asking: Asking = JUST_THE_CHAT) -> Loaded | None:
        if (answered := self.waiting.pop(chat_id, None)) is not None:
            await asyncio.sleep(MOMENT_S)
            outcome, keyed = answered
            with suppress(Unavailable):  # nobody is left to be told
                await self.inner.commit(outcome, keyed=keyed)
        return await self.inner.load(chat_id, asking)

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: Keyed | None = None
    ) -> Stamp | None:
        assert fence is None, "only people send"
        self.waiting[outcome.chat.chat_id] = outcome, keyed
        return Stamp(outcome.chat.epoch, datetime.now(UTC))


def answering_first(adapters: Adapters) -> Adapters:
    return replace(adapters, store=_Behind(adapters.store))
