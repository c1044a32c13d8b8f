"""Histories of chats that were driven here lately, so that the next turn need not read them again.

Never trusted by itself: a history is used only if the chat, as it was acquired, names its version
and its stamp. The version alone comes again after a failover that lost commits (L146).
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, Version, VersionStamp
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome
from holdfast.turn.prompt import Prompt

MEMORY_BYTES: Final = 16 * 2**20
"""About what all of them may weigh in a process."""


@dataclass(frozen=True, slots=True)
class Addition:
    """What was said on top of a history, known to the worker that acquired with that commit."""

    after: Version
    after_stamp: VersionStamp
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, outcome: Outcome, messages: tuple[Message, ...]) -> "Addition | None":
        """None if more happened to the history than that something was added at its end."""
        if outcome.hidden_from is not None or outcome.restored is not None:
            return None
        before = outcome.before
        return cls(before.history_version, before.history_stamp, messages)


class HistoryCache:
    """Who has been silent longest is forgotten first."""

    def __init__(self, bytes_max: int = MEMORY_BYTES) -> None:
        self._bytes_max = bytes_max
        self._prompts: OrderedDict[ChatId, tuple[Prompt, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._prompts)

    @property
    def bytes(self) -> int:
        return self._bytes

    def recall(self, chat: Chat, told: Addition | None) -> Prompt | None:
        """The history of this chat as it now is, if it is known. Given away: a prompt grows with
        the turn, and belongs to one runner."""
        prompt = self._forget(chat.chat_id)
        if told is not None:
            if not told.after:
                prompt = Prompt((), told.after, told.after_stamp)  # nothing was ever said in it
            if prompt is None or not prompt.is_of(told.after, told.after_stamp):
                return None
            prompt.extend(told.messages, chat.history_version, chat.history_stamp)
        return prompt if prompt is not None and prompt.fits(chat) else None

    def keep(self, chat_id: ChatId, prompt: Prompt) -> None:
        self._forget(chat_id)
        if not self._bytes_max or (weight := prompt.weigh()) > self._bytes_max // 8:
            return  # one long talk must not push out all others
        self._prompts[chat_id] = prompt, weight
        self._bytes += weight
        while self._bytes > self._bytes_max:
            self._forget(next(iter(self._prompts)))

    def _forget(self, chat_id: ChatId) -> Prompt | None:
        prompt, weight = self._prompts.pop(chat_id, (None, 0))
        self._bytes -= weight
        return prompt
