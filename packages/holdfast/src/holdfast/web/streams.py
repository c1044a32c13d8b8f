"""How many streams one person keeps open at this process: a further one ends the oldest.

The oldest, and not the newest: a page that was reloaded, or a laptop that was opened elsewhere, is
what the person looks at. A reader that is ended is told why and when to come again, much later than
after a lost connection: else streams that are too many would end one another for ever.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from holdfast.chats.telling import encode_data
from holdfast.domain.ids import ChatId, UserId

RETRY_AFTER_S: Final = 60
REASON: Final = "too_many_streams"
LAST_WORDS_S: Final = 2.0
"""A reader that takes nothing is left without them."""

Followed: TypeAlias = ChatId | Literal["list"]


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event of a stream that was ended for another one."""

    retry_after_s: int = RETRY_AFTER_S

    @property
    def data(self) -> bytes:
        return encode_data({"reason": REASON, "retry_after_s": self.retry_after_s})

    def sse(self) -> bytes:
        retry = self.retry_after_s * 1000
        return b"retry: %d\nevent: ended\ndata: %b\n\n" % (retry, self.data)

    def json(self) -> bytes:
        return b'{"event":"ended","data":%b}' % self.data


@dataclass(slots=True)
class PlaceCounters:
    open: int = 0
    ended: int = 0


@dataclass(slots=True, eq=False)
class StreamPlace:
    user_id: UserId
    followed: Followed
    ended: bool = False
    """For another one; its reader is to be told."""
    on_end: Callable[[], None] | None = None

    def end(self) -> None:
        self.ended = True
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

    def _open(self, user_id: UserId) -> dict[StreamPlace, None]:
        return self._of_user.get(user_id, {})

    def _end(self, place: StreamPlace) -> None:
        self.leave(place)
        self.counters.ended += 1
        place.end()
