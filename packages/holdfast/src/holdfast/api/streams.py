"""How many streams one person keeps open at this process: a further one ends the oldest.

The oldest, and not the newest: a page that was reloaded, or a laptop that was opened elsewhere, is
what the person looks at. A reader that is ended is told why and when to come again, much later than
after a lost connection: else streams that are too many would end one another for ever.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from holdfast.domain.ids import ChatId, UserId
from holdfast.stream.events import Closed, CloseReason

RETRY_AFTER_S: Final = 60
LAST_WORDS_S: Final = 2.0
"""A reader that takes nothing is left without them."""

Followed: TypeAlias = ChatId | Literal["list"]


REPLACED: Final = Closed(CloseReason.TOO_MANY_STREAMS, RETRY_AFTER_S, RETRY_AFTER_S * 1000)
"""The last event of a stream that was ended for another one."""
REVOKED: Final = Closed(CloseReason.REVOKED)
"""The last event of a stream of a user who was disabled."""


@dataclass(slots=True)
class PlaceCounters:
    open: int = 0
    ended: int = 0


@dataclass(slots=True, eq=False)
class StreamPlace:
    user_id: UserId
    followed: Followed
    ended: bool = False
    """By this replica; its reader is to be told why."""
    last: Closed = REPLACED
    """What the reader is told then."""
    on_end: Callable[[], None] | None = None

    def end(self, last: Closed = REPLACED) -> None:
        self.ended, self.last = True, last
        if self.on_end is not None:
            self.on_end()


@dataclass(slots=True)
class StreamPlaces:
    """0: no bound."""

    user_max: int = 0
    chat_max: int = 0
    counters: PlaceCounters = field(default_factory=PlaceCounters)
    _of_user: dict[UserId, dict[StreamPlace, None]] = field(
        default_factory=dict[UserId, dict[StreamPlace, None]]
    )
    """The oldest first."""

    def enter(self, user_id: UserId, followed: Followed) -> StreamPlace:
        """Ends the oldest if there are too many. Give the place to `leave`."""
        same = [each for each in self._open(user_id) if each.followed == followed]
        if 0 < self.chat_max <= len(same):
            self._end(same[0])
        open_now = self._open(user_id)
        if 0 < self.user_max <= len(open_now):
            self._end(next(iter(open_now)))
        place = StreamPlace(user_id, followed)
        self._of_user.setdefault(user_id, {})[place] = None
        self.counters.open += 1
        return place

    def leave(self, place: StreamPlace) -> None:
        """Twice is once: a place that was ended has been left."""
        places = self._of_user.get(place.user_id, {})
        if place not in places:
            return
        del places[place]
        self.counters.open -= 1
        if not places:
            del self._of_user[place.user_id]

    def end_all_of(self, user_id: UserId) -> None:
        """The user was disabled."""
        for place in [*self._open(user_id)]:
            self.leave(place)
            place.end(REVOKED)

    def _open(self, user_id: UserId) -> dict[StreamPlace, None]:
        return self._of_user.get(user_id, {})

    def _end(self, place: StreamPlace) -> None:
        self.leave(place)
        self.counters.ended += 1
        place.end()
