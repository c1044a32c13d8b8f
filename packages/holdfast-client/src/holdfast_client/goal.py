"""When a stream that is followed until something has come to its end.

A chat may look settled on a replica that is behind: one that has not yet heard of the message just
sent. So what the stream tells counts only from the version on that the chat had when it was
asked, and only where a commit is told completely (`final`). A commit may have nothing to tell: then
a ping has its version.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from holdfast_client.events import ChatState, Event
from holdfast_client.models import ChatInfo
from holdfast_client.view import WireView

Goals: TypeAlias = Literal["settled", "idle", "needs_action"]

STATUSES: Final[Mapping[str, frozenset[str]]] = {
    "settled": frozenset({"idle", "failed", "awaiting"}),
    "idle": frozenset({"idle", "failed"}),  # a failed chat becomes idle by no waiting
    "needs_action": frozenset({"awaiting", "failed"}),
}


class Goal:
    """`view`: what the reader has seen already, up to where the stream goes on."""

    def __init__(self, goal: Goals, info: ChatInfo, view: WireView) -> None:
        self._statuses = STATUSES[goal]
        self._version = info.version
        self._status = info.status
        self._seen = view.version

    @property
    def status(self) -> str:
        return self._status

    @property
    def is_reached(self) -> bool:
        return self._seen >= self._version and self._status in self._statuses

    def see(self, event: Event) -> None:
        if isinstance(event, ChatState):
            self._status = event.data.status
        if event.version is not None:
            self._seen = event.version if event.final else 0
