"""Believable sentences, always the same for the same seed."""

from typing import Final

from holdfast_simulator.chance import Chance

OPENERS: Final = (
    "Here is how I would go about it.",
    "Let me take this one step at a time.",
    "Short answer first, then the reasons.",
    "Good question; the details matter here.",
    "There are two things to look at.",
)
SUBJECTS: Final = (
    "the first step",
    "the usual approach",
    "what you describe",
    "the data that we have",
    "a careful reading",
    "the simplest version",
    "the second option",
    "everything after that",
)
VERBS: Final = (
    "depends on",
    "leads straight to",
    "works well with",
    "can be traced back to",
    "leaves room for",
    "says little about",
    "is easier to check than",
)
OBJECTS: Final = (
    "the order in which things happen",
    "a small and well-named part of the system",
    "what was measured rather than assumed",
    "the limits that were agreed on",
    "the numbers from the last run",
    "a plain list of open questions",
    "the café round the corner — strangely enough",
)
CLOSERS: Final = (
    "Tell me if you want any part of this in more depth.",
    "I would start there and look again tomorrow.",
    "That is all that can be said from here.",
    "If something changed meanwhile, say so and I will adjust.",
)


def sentences(chance: Chance, words: int) -> str:
    """Prose of about so many words."""
    said = [chance.pick(OPENERS)]
    length = len(said[0].split())
    while length < words:
        body = f"{chance.pick(SUBJECTS)} {chance.pick(VERBS)} {chance.pick(OBJECTS)}."
        sentence = body[0].upper() + body[1:]
        said.append(sentence)
        length += len(sentence.split())
    said.append(chance.pick(CLOSERS))
    return " ".join(said)


def counted(asked: str) -> str:
    """`3`: three numbered words; `kelp:3`: three that also say whose they are."""
    name, colon, number = asked.rpartition(":")
    return " ".join(f"{name}{colon}{each}" for each in range(1, int(number) + 1))


def thoughts(chance: Chance, topic: str) -> str:
    asked = " ".join(topic.split())[:80] or "an open question"
    return (
        f"The user asks about “{asked}”. I should check whether a tool helps, "
        f"then answer plainly. {chance.pick(SUBJECTS).capitalize()} {chance.pick(VERBS)} "
        f"{chance.pick(OBJECTS)}."
    )
