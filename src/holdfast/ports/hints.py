"""Hints: «chat X reached version N». Lossy, versioned, never the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, Version


@dataclass(frozen=True, slots=True)
class Hint:
    chat_id: ChatId
    version: Version
    status: Status


class Hints(Protocol):
    async def publish(self, hints: Sequence[Hint]) -> None:
        """Tell whoever listens. Never raises and never waits long: what it tells is committed."""
        ...
