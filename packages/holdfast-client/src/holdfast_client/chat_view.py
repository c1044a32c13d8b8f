"""What a person sees of a chat, typed: `chat.view`."""

from functools import cached_property
from typing import Final

from holdfast_client import models
from holdfast_client.events import ChatStateData
from holdfast_client.view import EMPTY, Data, Preview, WireView


class ChatView:
    """`cursor`: where the stream continues. `version`: the last commit that was told completely.
    `older`: there are messages before this seq, which `chat.messages.list` reads. `preview`: what
    is being said now. `raw`: the same as JSON."""

    def __init__(self, raw: WireView = EMPTY, before: "ChatView | None" = None) -> None:
        self.raw: Final = raw
        self._known = {} if before is None else before._parsed or before._known
        self._parsed: dict[int, tuple[Data, models.Message]] = {}

    @cached_property
    def messages(self) -> list[models.Message]:
        """A message that an earlier view has parsed is not parsed again."""
        for each in self.raw.messages:
            known = self._known.get(each["seq"])
            if known is None or known[0] is not each:
                known = each, models.Message.model_validate(each)
            self._parsed[each["seq"]] = known
        return [message for _, message in self._parsed.values()]

    @cached_property
    def state(self) -> ChatStateData | None:
        raw = self.raw.state
        return None if raw is None else ChatStateData.model_validate(raw)

    @cached_property
    def queue(self) -> list[models.QueuedMessage]:
        return [models.QueuedMessage.model_validate(each) for each in self.raw.queue]

    @property
    def is_queue_paused(self) -> bool:
        return self.raw.queue_paused

    @property
    def status(self) -> str | None:
        return self.raw.status

    @property
    def error(self) -> models.TurnError | None:
        return None if self.state is None else self.state.error

    @property
    def action_required(self) -> models.ActionRequired | None:
        return None if self.state is None else self.state.action_required

    @property
    def preview(self) -> Preview | None:
        return self.raw.preview

    @property
    def older(self) -> int | None:
        return self.raw.older

    @property
    def cursor(self) -> str | None:
        return self.raw.cursor

    @property
    def version(self) -> int:
        return self.raw.version
