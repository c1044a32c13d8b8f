"""Where among the owners an acquire begins to look: elsewhere each time, so all get their turn."""

from collections import deque
from typing import Final
from uuid import UUID

from holdfast.domain.ids import UserId
from holdfast.worker.lease_context import Chance, chance_uuid

OWNERS_REMEMBERED_MAX: Final = 256
_ANYWHERE: Final = 0.25


class FairStart:
    """An acquire looks at a few owners from its start on, and at the first few of all.

    Owners made within one year share the first bits of their identifiers (they sort by time), so
    a start chosen evenly among all identifiers would nearly always fall before or after all of
    them, and the ring would begin at the same owner for ever. So most starts are owners that were
    met lately: the owner that follows is looked at next.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._met: deque[UserId] = deque(maxlen=OWNERS_REMEMBERED_MAX)

    def start(self) -> UUID:
        if not self._met or self._chance() < _ANYWHERE:
            return chance_uuid(self._chance)
        return self._met[int(self._chance() * len(self._met))]

    def met(self, owner_id: UserId) -> None:
        self._met.append(owner_id)
