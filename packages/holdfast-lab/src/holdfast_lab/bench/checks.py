"""Judges the events of one chat: every message once and in order, every word of every stream.

Pure: it is fed what came, and says what is wrong with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import orjson

from holdfast_lab.bench.load import Load

SHOWN_CHARS_MAX: Final = 80


class Wrong(Exception):
    """The server broke a promise in a chat; says which one."""


class Doubled(Wrong):
    """Something came twice, or is kept twice."""


class News(Enum):
    """What an event means to the client that sends in the chat."""

    NOTHING = auto()
    READY = auto()
    """The snapshot is told: from here on nothing can be missed."""
    SAID = auto()
    """The message that was sent is told."""
    PART = auto()
    DONE = auto()
    """The turn has ended, and was complete."""


@dataclass(slots=True)
class ChatCheck:
    load: Load
    chat: int
    turn: int = 0
    """The one that was last asked for, from 1."""
    ready: bool = False
    last_seq: int = 0
    place: int = 0
    """Of the next message in its turn."""
    parts: int = 0
    """Live parts of the present attempt."""
    preview: str = ""
    retries: int = 0
    told_whole: int = 0
    """Turns of which nothing was told live: the answer was there before its first part was."""

    def take(self, kind: bytes, envelope: bytes) -> News:
        """Raises `Wrong`."""
        match kind:
            case b"preview.delta":
                return self._delta(orjson.loads(envelope)["data"])
            case b"message.created":
                return self._message(orjson.loads(envelope)["data"])
            case b"chat.state":
                return self._state(orjson.loads(envelope)["data"])
            case b"history.reset":
                if self.ready or self.last_seq:
                    raise Wrong("the history was taken back")
            case b"preview.reset":
                self._forget_preview()
            case _:
                pass  # ping, queue.updated: if it cost a word, the words will tell
        return News.NOTHING

    def _delta(self, data: dict[str, Any]) -> News:
        if data["index"] != self.parts + 1:
            kind = Wrong if data["index"] > self.parts else Doubled
            raise kind(f"live part {data['index']} came where {self.parts + 1} was due")
        self.parts += 1
        for delta in data["deltas"]:
            if delta["type"] == "text":
                self.preview += delta["text"]
        return News.PART

    def _message(self, data: dict[str, Any]) -> News:
        if data["seq"] != self.last_seq + 1:
            kind = Wrong if data["seq"] > self.last_seq else Doubled
            raise kind(f"message {data['seq']} came where {self.last_seq + 1} was due")
        self.last_seq += 1
        if self.place >= self.load.messages_per_turn:
            raise Doubled(f"message {data['seq']} came, and the turn had all of its messages")
        whole = message_text(data, self.load.role(self.place))
        expected = expected_text(self.load, self.chat, self.turn, self.place)
        if expected is not None:
            _same(f"message {data['seq']}", expected, whole)
        if self.place == self.load.messages_per_turn - 1:
            # All of it or nothing: the events promise no less (docs/reference/events.md, 2).
            if self.parts:
                _same("what was told live", whole, self.preview)
            self.told_whole += not self.parts
        self.place += 1
        self._forget_preview()
        return News.SAID if self.place == 1 else News.NOTHING

    def _state(self, state: dict[str, Any]) -> News:
        if state["error"] is not None:
            raise Wrong(f"the turn failed: {state['error']['message']}")
        if state["action_required"] is not None:
            raise Wrong("the turn waits for an approval or an answer")
        self.retries += state["retry"] is not None
        if not self.ready:
            self.ready = True
            return News.READY
        if state["status"] != "idle":
            return News.NOTHING
        if self.place != self.load.messages_per_turn:
            raise Wrong(
                f"turn {self.turn} ended after {self.place} of"
                f" {self.load.messages_per_turn} messages"
            )
        return News.DONE

    def ask(self) -> int:
        """The next turn begins; its number."""
        assert self.turn == 0 or self.place == self.load.messages_per_turn
        self.turn += 1
        self.place = 0
        return self.turn

    def _forget_preview(self) -> None:
        self.parts, self.preview = 0, ""


def expected_text(load: Load, chat: int, turn: int, place: int) -> str | None:
    """What the message at this place says; None if only its role is known."""
    if place == 0:
        return load.prompt(chat, turn)
    return load.answer(chat, turn) if place == load.messages_per_turn - 1 else None


def message_text(data: dict[str, Any], role: str) -> str:
    """Raises `Wrong` if the role is another one, or the message was cut off."""
    if data["role"] != role:
        raise Wrong(f"message {data['seq']} is of the {data['role']}, not of the {role}")
    if data["finish_reason"] != "stop":
        raise Wrong(f"message {data['seq']} ended {data['finish_reason']}")
    return "".join(part["text"] for part in data["parts"] if part["type"] == "text")


def check_history(load: Load, chat: int, messages: Sequence[dict[str, Any]]) -> None:
    """The kept history of a chat whose turns are all done. Raises `Wrong`."""
    due = load.turns * load.messages_per_turn
    if len(messages) != due:
        kind = Doubled if len(messages) > due else Wrong
        raise kind(f"its history has {len(messages)} messages, not {due}")
    for number, data in enumerate(messages):
        turn, place = divmod(number, load.messages_per_turn)
        if data["seq"] != number + 1:
            raise Wrong(f"message {data['seq']} stands where {number + 1} should")
        whole = message_text(data, load.role(place))
        expected = expected_text(load, chat, turn + 1, place)
        if expected is not None:
            _same(f"message {data['seq']} of its history", expected, whole)


def _same(what: str, expected: str, got: str) -> None:
    """Names the first word that differs."""
    if expected == got:
        return
    due, came = expected.split(" "), got.split(" ")
    for number, (one, other) in enumerate(zip(due, came, strict=False), start=1):
        if one != other:
            raise Wrong(f"{what}: word {number} is {_short(other)}, not {_short(one)}")
    raise Wrong(f"{what}: {len(came)} words, not {len(due)}")


def _short(word: str) -> str:
    return repr(word[:SHOWN_CHARS_MAX])
