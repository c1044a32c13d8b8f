"""The built-in agent: what the simulator answers without a script.

It looks at the tools that are offered, calls the ones that the prompt is about, reads their results
and answers in prose. Deterministic: its only chance is the seed of the request.
"""

import re
from typing import Final

from holdfast_simulator import prose
from holdfast_simulator.arguments import fill
from holdfast_simulator.asked import Asked, Choice, Offer
from holdfast_simulator.chance import Chance
from holdfast_simulator.jsons import dumps
from holdfast_simulator.reply import (
    CallPart,
    Part,
    Reply,
    SearchPart,
    Source,
    TextPart,
    ThinkingPart,
    reply_of,
)

STEPS_MAX: Final = 3
"""Rounds of tool calls in one turn before the agent answers whatever it knows."""
CALLS_MAX: Final = 2
QUOTE_CHARS_MAX: Final = 160
WORD: Final = re.compile(r"[a-z]{3,}")
PLAIN_WORDS: Final = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "from",
        "this",
        "that",
        "what",
        "how",
        "please",
        "can",
        "you",
        "get",
        "use",
        "tool",
        "call",
        "about",
        "into",
    ]
)


def answer(asked: Asked, chance: Chance) -> Reply:
    thinking = [ThinkingPart(text=prose.thoughts(chance, asked.last_text))] if asked.thinks else []
    if asked.results:
        return reply_of(*thinking, _summary(asked, chance))
    calls = wanted_calls(asked)
    if calls:
        lead = TextPart(text=f"Let me look that up with {_names(calls)}.")
        return reply_of(*thinking, lead, *calls)
    if asked.searches and _wants_search(asked.last_text):
        return reply_of(*thinking, *search_parts(asked.last_text))
    return reply_of(*thinking, TextPart(text=prose.sentences(chance, 40)))


def wanted_calls(asked: Asked) -> tuple[CallPart, ...]:
    """The calls that the prompt asks for, or that the client insists on."""
    if not asked.offers or asked.choice is Choice.NONE:
        return ()
    if asked.choice_name is not None:
        forced = [offer for offer in asked.offers if offer.name == asked.choice_name]
        return tuple(call(offer, asked.last_text) for offer in forced)
    if asked.step >= STEPS_MAX:
        return ()
    ranked = sorted(asked.offers, key=lambda offer: -_score(offer, asked.last_text))
    best = _score(ranked[0], asked.last_text)
    if asked.choice is Choice.REQUIRED:
        return (call(ranked[0], asked.last_text),)
    chosen = [offer for offer in ranked if best > 0 and _score(offer, asked.last_text) == best]
    return tuple(call(offer, asked.last_text) for offer in chosen[:CALLS_MAX])


def first_calls(asked: Asked, number: int) -> tuple[CallPart, ...]:
    """Calls of the first tools that are offered, whatever the prompt says."""
    offers = asked.offers[:number]
    return tuple(call(offer, asked.last_text) for offer in offers)


def call(offer: Offer, prompt: str) -> CallPart:
    return CallPart(name=offer.name, arguments=dumps(fill(offer.schema, prompt)).decode())


def search_parts(query: str) -> tuple[Part, ...]:
    """A search with two results, and text that cites them."""
    asked = " ".join(query.split())[:60] or "news"
    sources = (
        Source(
            url="https://example.com/field-notes",
            title="Field notes",
            quote=f"Observations on {asked}, gathered over several weeks.",
            page_age="3 days ago",
        ),
        Source(
            url="https://example.org/almanac",
            title="The almanac, “été” edition",
            quote=f"The almanac lists {asked} under open matters.",
        ),
    )
    return (
        SearchPart(query=asked, sources=sources),
        TextPart(text="I searched the web. "),
        TextPart(text=f"Notes on {asked} were gathered over several weeks", sources=sources[:1]),
        TextPart(text=", and the almanac still lists it as open."),
    )


def _summary(asked: Asked, chance: Chance) -> TextPart:
    quotes = [" ".join(said.text.split())[:QUOTE_CHARS_MAX] for said in asked.results]
    told = "; ".join(quote or "nothing" for quote in quotes)
    noun = "The tool" if len(quotes) == 1 else "The tools"
    return TextPart(text=f"{noun} answered: {told}. {prose.sentences(chance, 18)}")


def _score(offer: Offer, prompt: str) -> int:
    if re.search(rf"\b{re.escape(offer.name)}\b", prompt):
        return 100
    said = _words(prompt)
    named = len(said & _words(offer.name.replace("_", " ").replace("-", " ")))
    return 3 * named + (len(said & _words(offer.description)) if named else 0)


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower())) - PLAIN_WORDS


def _wants_search(prompt: str) -> bool:
    return not _words(prompt).isdisjoint({"search", "web", "news", "latest", "today", "current"})


def _names(calls: tuple[CallPart, ...]) -> str:
    return " and ".join(f"`{one.name}`" for one in calls)
