"""The first read of a feed, for which its readers wait."""

import asyncio

from holdfast.domain.errors import ChatNotFound, FormatUnknown, HoldfastError, Unavailable
from holdfast.domain.ids import ChatId


class Opening:
    __slots__ = ("_chat_id", "_event", "refusal")

    def __init__(self, chat_id: ChatId) -> None:
        self._chat_id = chat_id
        self._event: asyncio.Event | None = asyncio.Event()
        """None once the read has ended: a process has thousands of open feeds, and none of them
        needs the event any more."""
        self.refusal: HoldfastError | None = None

    async def wait(self) -> None:
        """Raises `ChatNotFound`, `FormatUnknown` or `Unavailable` if the chat was refused."""
        if self._event is not None:
            await self._event.wait()
        match self.refusal:
            case None:
                pass
            case ChatNotFound():
                raise ChatNotFound(self._chat_id)
            case FormatUnknown() as refusal:
                raise FormatUnknown(str(refusal))
            case refusal:
                raise Unavailable(str(refusal))

    def end(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            event.set()

    def abandon(self) -> None:
        """The feed closes: if the read has not ended, the readers are refused."""
        if self._event is not None:
            self.refusal = self.refusal or Unavailable("the server stops watching")
            self.end()
