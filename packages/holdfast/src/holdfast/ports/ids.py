"""New identifiers; passed in, so that they repeat in a simulation."""

from typing import Protocol

from holdfast.domain.ids import ChatId


class Ids(Protocol):
    def new_chat_id(self) -> ChatId: ...
