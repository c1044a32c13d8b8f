"""What clients of the model test remember of their requests."""

from dataclasses import dataclass

from holdfast.domain import commands as c
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Answer
from holdfast.domain.parts import Text


@dataclass
class Sent:
    """A message that a client sent under a key, and what the client knows of its fate."""

    chat_id: ChatId
    command: c.SendMessage
    key: str
    known: str = "unknown"  # or "accepted", or "refused"
    answer: Answer | None = None

    @property
    def text(self) -> str:
        (part,) = self.command.message.parts
        assert isinstance(part, Text)
        return part.text

    def accepted(self, answer: Answer) -> None:
        """The client is told where the message landed, each time the same."""
        assert answer.seq or answer.queued_id
        assert answer.turn_seq == answer.seq, "a message in history names its own turn"
        assert self.answer in {None, answer}, "M1: a repeat is answered otherwise"
        self.known, self.answer = "accepted", answer

    def check_there(self, times: int) -> None:
        wanted = 1 if self.known == "accepted" else 0
        assert times == wanted, f"M1: {self.text} is there {times} times, not {wanted}"

    def check_found(self, message: Message) -> None:
        """A message with the key of this one is the one that the receipt leads to."""
        assert self.answer is not None, "M1: a key of a message that was never accepted"
        assert self.text in {part.text for part in message.body.parts if isinstance(part, Text)}
        assert message.queued_id == self.answer.queued_id, "a receipt leads to no message"
        if self.answer.queued_id is None:
            assert message.seq == self.answer.seq, "a receipt leads to another message"


@dataclass(frozen=True)
class Asked:
    """A command other than a send that was accepted under a key, and what its client was told."""

    chat_id: ChatId
    command: c.Command
    key: str
    answer: Answer
