"""What a runner is told while it drives: that others changed its chat, and that it must let go.

Rumours, like every hint: a runner that is nudged re-reads the chat before it acts.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import NO_VERSION, Version
from holdfast.turn.history_cache import Addition


class Interrupts:
    """One per driven chat: the worker nudges, the driver looks up from its work."""

    def __init__(self, chat: Chat, told: Addition | None = None) -> None:
        """`told`: what the commit said by which the chat was acquired, if it was by one."""
        self.told = told
        self._known = chat
        self._heard = NO_VERSION
        self._doubted = False
        self._some = asyncio.Event()
        self._leaving = False
        self._replying = False
        self._finishing = False

    @property
    def leaving(self) -> bool:
        """The worker stops: keep what was said, start nothing, return soon."""
        return self._leaving

    def hear(self, version: Version, history_version: Version, status: Status) -> None:
        """Another commit was made. Only what ends the present step matters: an interrupt, or a
        history that is no longer the one it was begun on (an edit). During a backoff the runner
        looks at everything: a person may not want to wait."""
        if version > self._known.version and (
            status is Status.INTERRUPTING
            or history_version > self._known.history_version
            or self._known.backoff is not None
        ):
            self._heard = max(self._heard, version)
            self._some.set()

    def doubt(self) -> None:
        """Something may have been missed."""
        self._doubted = True
        self._some.set()

    def let_go(self, *, after_reply: bool = False) -> None:
        """`after_reply`: a reply that is under way may come to its end first. The caller says
        it again, without, when there is no more time for it."""
        if after_reply and self._replying:
            self._finishing = True
            return
        self._leaving = True
        self._some.set()

    @contextmanager
    def replying(self) -> Generator[None]:
        """While a model is asked."""
        self._replying = True
        try:
            yield
        finally:
            self._replying = False
            if self._finishing:
                self.let_go()

    def heed(self) -> None:
        """The driver is about to re-read the chat: whatever it hears from here on is new."""
        self._heard = NO_VERSION
        self._doubted = False
        self._clear()

    def settle(self, chat: Chat) -> None:
        """The driver knows this much: what was heard up to here is dealt with.

        What was heard of a later version stays: it may have come between our commit and this.
        """
        self._known = chat
        if self._heard <= chat.version and not self._doubted:
            self._clear()

    def _clear(self) -> None:
        if not self._leaving:
            self._some.clear()

    async def wait(self) -> None:
        await self._some.wait()

    @property
    def pending(self) -> bool:
        return self._some.is_set()
