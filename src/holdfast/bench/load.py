"""What is asked of the server, and what must come back: every word is numbered."""

from dataclasses import dataclass
from typing import Final

TOOL: Final = "clock"
"""A tool that every server has, and that changes nothing."""
PADDING: Final = "lorem ipsum dolor sit amet "


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """`chats` × `turns`, all watched. In a storm nobody speaks again before all have been
    answered, and then everybody does at once."""

    chats: int
    turns: int
    words: int = 10
    tools: int = 0
    """Tool calls of each turn, one after another: each is a step of its own."""
    payload_bytes: int = 0
    """Of padding in each message that is sent."""
    rate: float = 0.0
    """Words per second of each answer; 0 is as fast as the model can."""
    storm: bool = False

    @property
    def all_turns(self) -> int:
        return self.chats * self.turns

    @property
    def messages_per_turn(self) -> int:
        return 2 + 2 * self.tools

    def prompt(self, chat: int, turn: int) -> str:
        calls = f"call {TOOL} {{}} | then | " * self.tools
        padding = (PADDING * (self.payload_bytes // len(PADDING) + 1))[: self.payload_bytes]
        return (
            f"{padding}[[sim: {calls}count={_whose(chat, turn)}:{self.words} | rate={self.rate:g}]]"
        )

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
