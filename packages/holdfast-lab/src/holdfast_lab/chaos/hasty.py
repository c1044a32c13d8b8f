"""A ledger that tells before it commits: the mutant that processes and simulation share."""

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.hints import hint_of
from holdfast.chats.ledger import Ledger
from holdfast.domain.fence import Fence
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome


def hasty_commit(pause_s: float) -> Callable[..., Any]:
    """In the place of `Ledger.commit`; in the pause the hint leaves the process."""
    commit = Ledger.commit

    async def hasty(self: Any, outcome: Outcome, request: ChangeRequest) -> Any:
        messages = [
            Message(
                seq=each.seq,
                body=each.body,
                revision=outcome.chat.version,
                epoch=outcome.chat.epoch,
                created_at=self._clock.now(),
                stamp=outcome.chat.history_stamp,
            )
            for each in outcome.appended
        ]
        by_owner = isinstance(request.by, Fence)
        await self._hints.publish((hint_of(outcome, messages, by_owner=by_owner),))
        if pause_s:
            await asyncio.sleep(pause_s)
        return await commit(self, outcome, request)

    return hasty
