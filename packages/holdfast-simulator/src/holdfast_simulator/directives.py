r"""Directives: what a person writes into a prompt to say how the simulator shall answer.

    [[sim: think "let me see" | call get_weather {"city": "Oslo"} | then | say "Rain." | rate=200]]

    directive = "[[sim:" items "]]"        items = item { "|" item }
    item      = "then"                     the next reply of this turn begins
              | word                       thinking, redacted, tools, agent, bound
              | word "text"                say, think, redacted, search, fetch, run, cite,
                                           refuse
              | "call" name [object]       a tool call; without an object the agent fills it in
              | name "=" value             words, count, tools, stop, hidden, scenario, seed, or an
                                           option

Quotes inside a text are written `\"`, a line break `\n`: it is a JSON string. Items after `then`
say what the second reply is (after the tool results), and so on; when they run out, the agent
answers. `count=3` says `1 2 3`, `count=kelp:3` says `kelp:1 kelp:2 kelp:3`: a reader can check
that no word is missing, doubled or of another chat. `hidden=90000` thinks for 90 seconds and shows
nothing of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from holdfast_simulator.jsons import JsonObject, is_obj, loads, obj
from holdfast_simulator.options import OPTION_NAMES

OPENING: Final = "[[sim:"
TEXT_WORDS: Final = frozenset(
    {"say", "think", "redacted", "search", "fetch", "run", "cite", "refuse"}
)
BARE_WORDS: Final = frozenset({"thinking", "redacted", "tools", "agent", "think"})
BOUND: Final = "bound"
"""About the model, not about the reply: its thinking is bound to the conversation before it."""
VALUE_WORDS: Final = frozenset({"words", "count", "tools", "stop", "scenario", "seed", "hidden"})
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]+")
ASSIGNMENT: Final = re.compile(r"([a-z]+)\s*=\s*(.*)", re.DOTALL)
WITH_TEXT: Final = re.compile(r"([a-z]+)\s+(\".*)", re.DOTALL)


class DirectiveWrong(ValueError):
    """The text between the brackets follows no rule of the grammar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to do: a word, with its text, or with a tool's arguments."""

    word: str
    text: str = ""
    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    steps: tuple[tuple[Item, ...], ...]
    options: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def speaks(self) -> bool:
        return any(self.steps)


def find(text: str) -> Directive | None:
    """All directives of a prompt read as one, or None."""
    bodies: list[str] = []
    at = text.find(OPENING)
    while at >= 0:
        start = at + len(OPENING)
        end = _closing(text, start)
        if end < 0:
            raise DirectiveWrong(f"{text[at : at + 40]!r}: the closing ]] is missing")
        bodies.append(text[start:end])
        at = text.find(OPENING, end)
    return parse(" | ".join(bodies)) if bodies else None


def parse(body: str) -> Directive:
    steps: list[list[Item]] = [[]]
    options: dict[str, str] = {}
    for piece in _pieces(body):
        if piece == "then":
            steps.append([])
            continue
        if piece == BOUND:
            continue
        assignment = ASSIGNMENT.fullmatch(piece)
        if assignment and assignment[1] in OPTION_NAMES:
            options[assignment[1]] = assignment[2].strip()
        elif assignment and assignment[1] in VALUE_WORDS:
            steps[-1].append(Item(word=assignment[1], text=assignment[2].strip()))
        else:
            steps[-1].append(_item(piece))
    return Directive(steps=tuple(map(tuple, steps)), options=options)


def _item(piece: str) -> Item:
    if piece in BARE_WORDS:
        return Item(word=piece)
    spoken = WITH_TEXT.fullmatch(piece)
    if spoken and spoken[1] in TEXT_WORDS:
        return Item(word=spoken[1], text=_string(spoken[2]))
    if piece.startswith("call "):
        return _call(piece.removeprefix("call ").strip())
    raise DirectiveWrong(f"{piece!r} is no item of a directive")


def _call(rest: str) -> Item:
    name = TOOL_NAME.match(rest)
    if name is None:
        raise DirectiveWrong(f"call {rest!r}: the name of a tool is missing")
    given = rest[name.end() :].strip()
    if not given:
        return Item(word="call", text=name[0])
    try:
        arguments = loads(given)
    except ValueError as error:
        raise DirectiveWrong(f"call {name[0]}: {given!r} is not JSON") from error
    if not is_obj(arguments):
        raise DirectiveWrong(f"call {name[0]}: the arguments are no object")
    return Item(word="call", text=name[0], arguments=obj(arguments))


def _string(text: str) -> str:
    try:
        value = loads(text.strip().replace("\n", "\\n"))
    except ValueError as error:
        raise DirectiveWrong(f"{text!r} is no quoted text") from error
    if not isinstance(value, str):
        raise DirectiveWrong(f"{text!r} is no quoted text")
    return value


def _closing(text: str, start: int) -> int:
    """Where the directive ends: the first ]] that stands outside quotes."""
    for at, inside in _scan(text, start):
        if not inside and text.startswith("]]", at):
            return at
    return -1


def _pieces(body: str) -> list[str]:
    cuts = [at for at, inside in _scan(body, 0) if not inside and body[at] == "|"]
    edges = [-1, *cuts, len(body)]
    found = (body[a + 1 : b].strip() for a, b in pairwise(edges))
    return [piece for piece in found if piece]


def _scan(text: str, start: int) -> Iterator[tuple[int, bool]]:
    """Every position with whether it lies inside a quoted text."""
    inside = escaped = False
    for at in range(start, len(text)):
        letter = text[at]
        yield at, inside or letter == '"'
        if escaped:
            escaped = False
        elif inside and letter == "\\":
            escaped = True
        elif letter == '"':
            inside = not inside
