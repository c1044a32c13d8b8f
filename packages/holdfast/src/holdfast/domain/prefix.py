"""The prefix of prompts: what stands before their messages, stored once for all chats."""

import hashlib
from dataclasses import dataclass
from typing import Final, Self

from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.rider import Rider

DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class PromptPrefix(Rider):
    """System prompt and tools, as text under its digest. A message that was made with it names the
    digest (`MessageBody.prefix`), in the same commit that stores the row."""

    digest: str
    content: str

    @classmethod
    def of(cls, content: str) -> Self:
        return cls(_digest(content), content)

    @property
    def is_whole(self) -> bool:
        """Whether the digest is that of the content."""
        return self.digest == _digest(self.content)


def is_news(body: MessageBody) -> bool:
    """Whether the message tells the model what has changed since its prefix. Readers do not see
    it."""
    return body.role is Role.SYSTEM and body.visibility is Visibility.MODEL


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=DIGEST_BYTES).hexdigest()
