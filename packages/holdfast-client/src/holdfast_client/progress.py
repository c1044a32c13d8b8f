"""How far one turn has come, and what it has said so far. Pure.

The rules are those of docs/reference/events.md, "When a turn is over".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from holdfast_client.models import Message, Receipt
from holdfast_client.view import Data, WireView

Stage: TypeAlias = Literal["behind", "queued", "missing", "running", "awaiting", "over"]
BETWEEN: Final = "\n\n"
"""Between the texts of two messages of a turn."""
_RESTING: Final = frozenset({"idle", "failed"})


@dataclass(slots=True)
class TurnProgress:
    """`seq`: of the user message, which names the turn; None while the message is queued, until
    `find` has found it. `version`: what is older says nothing about the turn."""

    version: int
    seq: int | None
    queued_id: int | None

    @classmethod
    def from_receipt(cls, receipt: Receipt) -> "TurnProgress":
        return cls(receipt.version, receipt.turn_seq or receipt.message_seq, receipt.queued_id)

    def find(self, messages: Iterable[Data]) -> None:
        if self.seq is None:
            own = (each for each in messages if each["queued_id"] == self.queued_id)
            self.seq = next((each["seq"] for each in own), None)

    def stage(self, view: WireView) -> Stage:
        """Of a view after an event with `final`. `missing`: the message is neither in the view nor
        in the queue."""
        if view.version < self.version or view.state is None:
            return "behind"
        self.find(view.messages)
        if self.seq is None:
            queued = any(each["queued_id"] == self.queued_id for each in view.queue)
            return "queued" if queued else "missing"
        if view.state["turn_seq"] != self.seq or view.state["status"] in _RESTING:
            known = any(each["seq"] == self.seq for each in view.messages)
            return "over" if known else "missing"
        return "awaiting" if view.state["status"] == "awaiting" else "running"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Text of a turn as it comes. `reset`: forget the text so far, an attempt at it was given up;
    `text` is then all of it that still holds."""

    text: str
    reset: bool = False


class TurnText:
    """What a reader was given of the text of a turn, and what comes next.

    Text that is taken back may come again, word for word. So a reset is told only when other words
    come, or at the end.
    """

    def __init__(self) -> None:
        self._given = ""
        self._messages: tuple[Data, ...] | None = None
        self._committed = ""

    def next(self, view: WireView, turn_seq: int | None) -> Chunk | None:
        if turn_seq is None:
            return None
        text = self._text(view, turn_seq)
        return None if self._given.startswith(text) else self._chunk(text)

    def last(self, messages: Iterable[Message]) -> Chunk | None:
        """What is left to give once the turn is over."""
        said = (each.text for each in messages if each.role == "assistant")
        text = BETWEEN.join(each for each in said if each)
        return None if self._given == text else self._chunk(text)

    def _chunk(self, text: str) -> Chunk:
        given, self._given = self._given, text
        if text.startswith(given):
            return Chunk(text[len(given) :])
        return Chunk(text, reset=True)

    def _text(self, view: WireView, turn_seq: int) -> str:
        if view.messages is not self._messages:
            self._messages = view.messages
            own = (each for each in view.messages if each["turn_seq"] == turn_seq)
            said = (_text_of(each["parts"]) for each in own if each["role"] == "assistant")
            self._committed = BETWEEN.join(each for each in said if each)
        if view.preview is None or view.state is None or view.state["turn_seq"] != turn_seq:
            return self._committed
        parts = view.preview.parts
        live = _text_of(parts[index] for index in sorted(parts))
        return BETWEEN.join(each for each in (self._committed, live) if each)


def _text_of(parts: Iterable[Data]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")
