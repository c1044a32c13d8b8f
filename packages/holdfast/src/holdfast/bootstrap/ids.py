"""Identifiers as production has them: the database's time and the system's chance."""

import secrets
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from holdfast.domain.ids import RANDOM_BITS, ChatId, uuid7
from holdfast.domain.workspaces import WorkspaceId
from holdfast.ports.clock import Clock


class SystemIds:
    """Version 7: what is made together lies together, whichever replica made it.

    74 random bits: that two are alike within one millisecond is as likely as nothing.
    """

    def __init__(self, clock: Clock, bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._bits = bits

    def new_chat_id(self) -> ChatId:
        return ChatId(self._new())

    def new_workspace_id(self) -> WorkspaceId:
        return WorkspaceId(self._new())

    def new_row_id(self) -> UUID:
        """Of a provider or a model."""
        return self._new()

    def _new(self) -> UUID:
        return uuid7(_unix_ms(self._clock.now()), self._bits(RANDOM_BITS))


def _unix_ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
