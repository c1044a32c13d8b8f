"""How the streams log what they survive: errors, and readers that are too slow."""

import asyncio
import logging
from typing import Final

from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.domain.ids import ChatId

WARNING_EVERY_S: Final = 10.0


def log_failure(log: logging.Logger, what: str, error: Exception) -> None:
    """One line for an outage or a refusal; with the traceback for any other error."""
    if isinstance(error, Unavailable):
        log.info("%s: %s", what, error)
    elif isinstance(error, HoldfastError):
        log.warning("%s: %s", what, error)
    else:
        log.error("%s: %r", what, error, exc_info=error)


class LagWarnings:
    """Logs that readers of a chat were too slow, at most every ten seconds per chat (L65)."""

    __slots__ = ("_chat_id", "_log", "_unlogged", "_warned_at")

    def __init__(self, log: logging.Logger, chat_id: ChatId) -> None:
        self._log = log
        self._chat_id = chat_id
        self._unlogged = 0
        self._warned_at: float | None = None

    def count(self) -> None:
        self._unlogged += 1
        now = asyncio.get_running_loop().time()
        if self._warned_at is None or now - self._warned_at >= WARNING_EVERY_S:
            self._log.warning(
                "stream: readers of chat %s were too slow %d times; they resume from the store",
                self._chat_id,
                self._unlogged,
            )
            self._warned_at, self._unlogged = now, 0
