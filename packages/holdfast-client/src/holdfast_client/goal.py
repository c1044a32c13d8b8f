"""When a stream that is followed until something has come to its end.

A chat may look settled on a replica that is behind: one that has not yet heard of the message just
sent. So what the stream tells counts only from the version on that the chat had when it was
asked, and only where a commit is told completely: an error follows its status.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from holdfast_client.events import Event, PingEvent, StatusEvent
from holdfast_client.models import ChatInfo

Goals: TypeAlias = Literal["settled", "idle", "needs_action"]

STATUSES: Final[Mapping[str, frozenset[str]]] = {
    "settled": frozenset({"idle", "failed", "awaiting"}),
    "idle": frozenset({"idle", "failed"}),  # a failed chat becomes idle by no waiting
    "needs_action": frozenset({"awaiting", "failed"}),
}
# The one thing that we read out of a cursor: the version, and whether it is within a commit.
_CURSOR: Final = re.compile(r"(\d+)\.\d+\.\d+(\.\d+)?", re.ASCII)


class Goal:
    def __init__(self, goal: Goals, info: ChatInfo, after: str | None) -> None:
        self._statuses = STATUSES[goal]
        self._version = info.version
        self._status = info.status
        self._seen, self._whole = _place(after)
        self._silent_at: int | None = None
        self._sure = False

    @property
    def status(self) -> str:
        return self._status

    @property
    def is_reached(self) -> bool:
        told = self._whole and self._seen >= self._version
        return self._status in self._statuses and (told or self._sure)

    def see(self, event: Event) -> None:
        if isinstance(event, StatusEvent):
            self._status = event.data.status
        if event.id is not None:
            self._seen, self._whole = _place(event.id)
        if not isinstance(event, PingEvent):
            self._silent_at = None

    def look(self, info: ChatInfo) -> None:
        """For a stream that is silent: twice the same without a word between, and that is it.

        Not every commit has something to tell, so the stream alone may never get to its version.
        """
        if info.status in self._statuses and info.version == self._silent_at:
            self._status = info.status
            self._sure = True
        self._silent_at = info.version


def _place(cursor: str | None) -> tuple[int, bool]:
    """Which version a cursor leads to, and whether all of it; nothing for what we cannot read."""
    found = None if cursor is None else _CURSOR.fullmatch(cursor)
    return (0, False) if found is None else (int(found[1]), found[2] is None)
