"""Access of disabled users, ended on every replica without a hint.

    disable ──▶ `users.stopping_since`, credentials revoked: one statement
                  ├─▶ every replica, each second: forget the user's credentials, end the streams
                  └─▶ every worker, about as often: stop the chats (`worker/reconcile.py`)

`stopping_since` is kept for a minute at least. A request that was under way when the user was
disabled may open a stream or start a turn in that minute: the next look ends it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import UserId
from holdfast.identity.gate import Gate
from holdfast.ports.people import PeopleStore

if TYPE_CHECKING:
    from datetime import datetime

LOOK_EVERY_S: Final = 1.0
_LOG: Final = logging.getLogger(__name__)


class AccessWatch:
    """One per process that serves requests. `end_streams`: ends what a user has open here."""

    def __init__(
        self, store: PeopleStore, gate: Gate, end_streams: Callable[[UserId], None]
    ) -> None:
        self._store = store
        self._gate = gate
        self._end_streams = end_streams
        self._known: Mapping[UserId, datetime] = {}

    async def keep(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except Unavailable as error:
                _LOG.warning("server: disabled users could not be read: %s", error)
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        stopping = await self._store.stopping()
        for user_id, since in stopping.items():
            if self._known.get(user_id) != since:
                self._gate.forget(user_id=user_id)
            self._end_streams(user_id)
        self._known = stopping
