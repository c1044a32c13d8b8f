"""A clock that is set by hand, identifiers that repeat, hints that are kept, room without end."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holdfast.admin.registry import Setting
from holdfast.domain.chat import Chat
from holdfast.domain.ids import RANDOM_BITS, ChatId, WorkerId, uuid7
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome
from holdfast.ports.bus import Hint
from holdfast.ports.org_settings import Current, Fixed
from tests.support.builders import NOW


class HandClock:
    def __init__(self, now: datetime = NOW) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


class SeededIds:
    """Version 7 identifiers from a seed: the same run gives the same ones."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._ms = 1_700_000_000_000

    def new_chat_id(self) -> ChatId:
        self._ms += 1
        return ChatId(uuid7(self._ms, self._random.getrandbits(RANDOM_BITS)))

    def new_worker_id(self) -> WorkerId:
        return WorkerId(self.new_chat_id())


class KeptHints:
    def __init__(self) -> None:
        self.published: list[Hint] = []

    async def publish(self, hints: Sequence[Hint]) -> None:
        self.published.extend(hints)


@dataclass
class AlwaysRoom:
    """Slots that are never short, and what became of each."""

    worker_id: WorkerId
    open: bool = True
    filled: list[tuple[Outcome, tuple[Message, ...]]] = field(
        default_factory=list[tuple[Outcome, tuple[Message, ...]]]
    )
    left: int = 0
    doubted: list[Chat] = field(default_factory=list[Chat])

    def reserve(self, chat_id: ChatId) -> "AlwaysRoom | None":
        assert chat_id is not None
        return self if self.open else None

    def fill(self, outcome: Outcome, messages: tuple[Message, ...]) -> None:
        self.filled.append((outcome, messages))

    def leave(self) -> None:
        self.left += 1

    def doubt(self, chat: Chat) -> None:
        self.doubted.append(chat)


class FixedSettings:
    """What the admins of every organisation have set, by name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def current(self, setting: Setting[Any]) -> Current[Any]:
        return Fixed(self._values.get(setting.name, setting.default))
