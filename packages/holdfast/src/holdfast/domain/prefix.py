"""The prefix of prompts: what stands before their messages, stored once for all chats."""

from dataclasses import dataclass

from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.rider import Rider


@dataclass(frozen=True, slots=True)
class PromptPrefix(Rider):
    """System prompt and tools, as text under its digest. A message that was made with it names the
    digest (`MessageBody.prefix`), in the same commit that stores the row."""

    digest: str
    content: str


def is_news(body: MessageBody) -> bool:
    """Whether the message tells the model what has changed since its prefix. Readers do not see
    it."""
    return body.role is Role.SYSTEM and body.visibility is Visibility.MODEL
