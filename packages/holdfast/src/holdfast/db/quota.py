"""How many bytes one owner has stored, as far as this process knows.

The sum is over all chats of the owner, so it is not asked for with every message: a sum is kept for
some seconds, and what this process stores meanwhile is added to it. What other processes store
meanwhile is not seen. The quota bounds what a database must hold, and is no account.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import UserId

COUNTED_FOR_S: Final = 10.0
OWNERS_MAX: Final = 10_000
"""Owners whose sums are kept; beyond it the one that was counted first is counted anew."""


@dataclass(slots=True)
class _Sum:
    bytes: int
    until_s: float


class BytesQuota:
    """At most `bytes_max` bytes of one owner. 0: no bound, and nothing is counted."""

    def __init__(self, count: Callable[[UserId], Awaitable[int]], bytes_max: int) -> None:
        self.bytes_max: Final = bytes_max
        self._count = count
        self._sums: OrderedDict[UserId, _Sum] = OrderedDict()

    async def has_room(self, owner_id: UserId, more: int) -> bool:
        if not self.bytes_max:
            return True
        known = self._sums.get(owner_id)
        if known is None or known.until_s <= _now_s():
            try:
                known = await self._counted(owner_id)
            except Unavailable:
                return True  # no account: the commit itself says whether the database answers
        return known.bytes + more <= self.bytes_max

    def add(self, owner_id: UserId, more: int) -> None:
        """This process has stored so many bytes."""
        if (known := self._sums.get(owner_id)) is not None:
            known.bytes += more

    async def _counted(self, owner_id: UserId) -> _Sum:
        known = _Sum(await self._count(owner_id), _now_s() + COUNTED_FOR_S)
        self._sums[owner_id] = known
        self._sums.move_to_end(owner_id)
        if len(self._sums) > OWNERS_MAX:
            self._sums.popitem(last=False)
        return known


def _now_s() -> float:
    return asyncio.get_running_loop().time()
