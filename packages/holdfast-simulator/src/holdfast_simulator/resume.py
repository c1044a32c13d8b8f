"""Replies that broke off: the client asks to go on, and gets the rest, as from a model that obeys.

A client cannot ask inside a message of the model's own (no prefill), so it asks as the user. Such a
message is nothing that a person said: around it the pieces of a reply are one reply.
"""

from dataclasses import replace
from itertools import takewhile
from typing import Final

from holdfast_simulator.asked import Asked, Said, Speaker
from holdfast_simulator.reply import Part, RedactedPart, Reply, TextPart, ThinkingPart

GO_ON: Final = (
    "Your last message was cut off before its end. Go on exactly where it stopped, ",
    "Continue from where you stopped.",
)
"""How clients begin to ask for the rest."""


def folded(asked: Asked) -> tuple[Asked, str]:
    """The request as it was before its last reply broke off, and what that reply had said."""
    prompt: list[Said] = []
    joins = False
    for said in asked.prompt:
        last = prompt[-1] if prompt else None
        replied = last is not None and last.speaker is Speaker.ASSISTANT
        if replied and said.speaker is Speaker.USER and said.text.startswith(GO_ON):
            joins = True
        elif joins and replied and said.speaker is Speaker.ASSISTANT:
            assert last is not None
            text, calls = last.text + said.text, last.calls + said.calls
            prompt[-1] = replace(last, text=text, calls=calls)
            joins = False
        else:
            prompt.append(said)
            joins = False
    begun = prompt.pop().text if joins else ""
    return replace(asked, prompt=tuple(prompt)), begun


def rest_of(reply: Reply, begun: str) -> Reply:
    """What a reply has left to say. Of one that does not begin like that: all but the words that
    both begin with, since a model that obeys repeats nothing."""
    left: list[Part] = []
    for part in reply.parts:
        if not begun:
            left.append(part)
        elif isinstance(part, TextPart) and begun.startswith(part.text):
            begun = begun[len(part.text) :]
        elif isinstance(part, TextPart) and part.text.startswith(begun):
            left.append(replace(part, text=part.text[len(begun) :]))
            begun = ""
        elif not isinstance(part, ThinkingPart | RedactedPart):
            return _without(reply, begun)
    return _without(reply, begun) if begun else replace(reply, parts=tuple(left))


def _without(reply: Reply, begun: str) -> Reply:
    """A reply whose words are chosen anew, without those that were said already."""
    parts = list(reply.parts)
    for at, part in enumerate(parts):
        if isinstance(part, TextPart):
            pairs = zip(part.text, begun, strict=False)
            shared = "".join(
                letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)
            )
            rest = part.text[len(shared.rpartition(" ")[0]) :].lstrip()
            parts[at] = replace(part, text=rest) if shared.strip() and rest else part
            break
    return replace(reply, parts=tuple(parts))
