"""A ledger that tells before it commits: the mutant that processes and simulation share."""

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.chats.ledger import Ledger
from holdfast.chats.telling import hint_of
from holdfast.domain.decide import decide_all
from holdfast.domain.fence import Fence
from holdfast.domain.messages import Message


def hasty_try(pause_s: float) -> Callable[..., Any]:
    """In the place of `Ledger._try`; the pause is for what was told to leave the process."""
    try_ = Ledger._try  # pyright: ignore[reportPrivateUsage]

    async def hasty(self: Any, loaded: Any, commands: Any, by: Any, *rest: Any, **more: Any) -> Any:
        outcome = decide_all(loaded.facts, commands, self._clock.now())
        messages = [
            Message(
                seq=each.seq,
                body=each.body,
                revision=outcome.chat.version,
                epoch=outcome.chat.epoch,
                created_at=self._clock.now(),
            )
            for each in outcome.appended
        ]
        by_owner = isinstance(by, Fence)
        await self._hints.publish((hint_of(outcome, messages, by_owner=by_owner),))
        if pause_s:
            await asyncio.sleep(pause_s)
        return await try_(self, loaded, commands, by, *rest, **more)

    return hasty
