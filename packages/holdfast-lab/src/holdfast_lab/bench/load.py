"""What is asked of the server, and what must come back: every word is numbered."""

from dataclasses import dataclass
from typing import Final

TOOL: Final = "clock"
"""A tool that every server has, and that changes nothing."""
TOKEN_BYTES: Final = 4
"""As the simulator counts."""
PADDING: Final = "lorem ipsum dolor sit amet "


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """`chats` × `turns`, all watched. In a storm all chats send at once, and again after all have
    been answered."""

    chats: int
    turns: int
    words: int = 10
    tools: int = 0
    """Tool calls of each turn, one after another: each is a step of its own."""
    payload_bytes: int = 0
    """Of padding in each message that is sent."""
    rate: float = 0.0
    """Words per second of each answer; 0 is as fast as the model can."""
    think_s: float = 0.0
    """Silence of the model before the first word of an answer."""
    storm: bool = False
    silent: int = 0
    """Further chats that are watched and silent."""
    spread_s: float = 0.0
    """Over which the first messages go out; 0: all at once."""

    @property
    def watched(self) -> int:
        return self.chats + self.silent

    @property
    def all_turns(self) -> int:
        return self.chats * self.turns

    @property
    def messages_per_turn(self) -> int:
        return 2 + 2 * self.tools

    def prompt(self, chat: int, turn: int) -> str:
        calls = f"call {TOOL} {{}} | then | " * self.tools
        padding = (PADDING * (self.payload_bytes // len(PADDING) + 1))[: self.payload_bytes]
        said = f"count={_whose(chat, turn)}:{self.words}"
        pace = f"rate={self._tokens_per_s(chat, turn):g} | latency={self.think_s * 1000:g}"
        return f"{padding}[[sim: {calls}{said} | {pace}]]"

    def _tokens_per_s(self, chat: int, turn: int) -> float:
        """The simulator goes by tokens, and our words are more than one each."""
        if not self.rate:
            return 0.0
        lengths = [len(word) for word in self.answer(chat, turn).split()]
        spaced = [lengths[0], *(length + 1 for length in lengths[1:])]
        tokens = sum(-(-length // TOKEN_BYTES) for length in spaced)
        return round(self.rate * tokens / len(lengths), 2)

    def answer(self, chat: int, turn: int) -> str:
        whose = _whose(chat, turn)
        return " ".join(f"{whose}:{number}" for number in range(1, self.words + 1))

    def role(self, place: int) -> str:
        """Of the message at this place of a turn, counted from 0."""
        if place == 0:
            return "user"
        return "tool" if place % 2 == 0 else "assistant"


def _whose(chat: int, turn: int) -> str:
    return f"c{chat}t{turn}"
