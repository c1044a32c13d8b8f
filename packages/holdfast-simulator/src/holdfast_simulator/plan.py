"""Choose what to say and how.

What is said: script before header before directive before agent. How (rate, chunking, fault):
header before directive before script before the defaults. The guide takes the agent's place in
`holdfast dev`.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast_simulator import about_chats, advice, agent, directives, guide, obedient, prose
from holdfast_simulator.asked import Asked
from holdfast_simulator.chance import Chance
from holdfast_simulator.directives import Directive, Item
from holdfast_simulator.jsons import dumps
from holdfast_simulator.options import OPTION_NAMES, Options, changed
from holdfast_simulator.reply import (
    CallPart,
    FetchPart,
    Part,
    RedactedPart,
    RefusalPart,
    Reply,
    RunPart,
    SearchPart,
    Stop,
    TextPart,
    ThinkingPart,
    reply_of,
)
from holdfast_simulator.resume import folded, rest_of
from holdfast_simulator.scenarios import scenario
from holdfast_simulator.script import Script

HEADER: Final = "x-sim"
STRUCK_MAX: Final = 10_000
"""Prompts for which strikes are counted; beyond that the count begins anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    reply: Reply
    options: Options
    source: str
    """Who decided: `script`, `header`, `directive`, `scenario:NAME`, `agent`, `guide` or
    `about a chat`, `advisor` or `obedient`."""
    chance: Chance
    seed: bytes
    """Stands for this request: the same request, the same seed."""


class Planner:
    def __init__(
        self,
        *,
        seed: int,
        defaults: Options,
        script: Script | None,
        guides: bool = False,
        obeys: bool = False,
    ) -> None:
        self._obeys = obeys
        self._unscripted = guide.answer if guides else agent.answer
        self._unscripted_name = "guide" if guides else "agent"
        self._seed = seed
        self._defaults = defaults
        self._script = script
        self._struck: Counter[str] = Counter()

    def forget(self) -> None:
        self._struck.clear()

    def plan(self, asked: Asked, headers: Mapping[str, str]) -> Plan:
        """ValueError if a directive or a header cannot be read."""
        if (text := about_chats.answer(asked)) is not None:
            seed = self._seed_of(asked, ())
            return Plan(
                reply=text,
                options=self._defaults,
                source="about a chat",
                chance=Chance(seed),
                seed=seed,
            )
        asked, begun = folded(asked)
        question = advice.question_of(asked)
        asked = question or asked
        scripted = self._script.take(asked) if self._script and question is None else None
        written = directives.find(asked.last_text)
        header = _from_headers(headers)
        options = self._defaults
        for directive in (scripted, written, header):
            if directive is not None:
                options = changed(options, directive.options)
        options = self._counted(asked, options)
        source, steps = _speaker(scripted=scripted, header=header, written=written)
        # A script step is one reply; only its own `then` makes it several.
        at = 0 if source == "script" and len(steps) == 1 else asked.step
        step = steps[at] if at < len(steps) else ()
        if question is not None:
            source = "advisor"
        elif self._obeys and not step:
            source, step = "obedient", obedient.orders(asked)
        seed = self._seed_of(asked, step)
        chance = Chance(seed)
        if not step and question is None:
            source = self._unscripted_name
        reply = compose(step, asked, chance) if step else self._unprompted(question, asked, chance)
        if begun:
            reply = rest_of(reply, begun)
        return Plan(reply=reply, options=options, source=source, chance=chance, seed=seed)

    def _unprompted(self, question: Asked | None, asked: Asked, chance: Chance) -> Reply:
        return self._unscripted(asked, chance) if question is None else advice.answer()

    def _counted(self, asked: Asked, options: Options) -> Options:
        """The options without their fault once it has struck as often as it was told to."""
        if options.fault is None or not options.times:
            return options
        key = hashlib.blake2b(
            f"{options.fault}\0{asked.wire}\0{asked.replies}\0{asked.last_text}".encode(
                errors="surrogatepass"
            )
        ).hexdigest()
        if len(self._struck) >= STRUCK_MAX:
            self._struck.clear()
        self._struck[key] += 1
        return replace(options, fault=None) if self._struck[key] > options.times else options

    def _seed_of(self, asked: Asked, step: tuple[Item, ...]) -> bytes:
        given = next((item.text for item in step if item.word == "seed"), "")
        # Tool-call ids must differ between the steps of a chat, so the whole body is the seed.
        body = given.encode() or dumps(asked.body)
        whole = f"{self._seed}\0{asked.wire}\0{asked.step}\0".encode() + body
        return hashlib.blake2b(whole, digest_size=32).digest()


def _from_headers(headers: Mapping[str, str]) -> Directive | None:
    """`x-sim: items` and `x-sim-NAME: value`, read as one directive."""
    directive = directives.parse(headers.get(HEADER, ""))
    options = dict(directive.options)
    steps = directive.steps
    for name, value in headers.items():
        option = name.lower().removeprefix(HEADER + "-")
        if option in OPTION_NAMES and name.lower() != option:
            options[option] = value
        elif name.lower() == f"{HEADER}-scenario":
            steps = ((Item(word="scenario", text=value.strip()),),)
    return Directive(steps=steps, options=options) if options or any(steps) else None


def _speaker(
    *, scripted: Directive | None, header: Directive | None, written: Directive | None
) -> tuple[str, tuple[tuple[Item, ...], ...]]:
    for source, directive in (("script", scripted), ("header", header), ("directive", written)):
        if directive is None or not directive.speaks:
            continue
        named = [item.text for step in directive.steps for item in step if item.word == "scenario"]
        if named:
            return f"scenario:{named[0]}", scenario(named[0]).steps
        return source, directive.steps
    return "agent", ()


def compose(step: tuple[Item, ...], asked: Asked, chance: Chance) -> Reply:
    """The reply that these items describe."""
    parts: list[Part] = []
    stop: Stop | None = None
    for item in step:
        if item.word == "stop":
            stop = Stop(item.text)
        elif item.word == "agent":
            parts.extend(agent.answer(asked, chance).parts)
        elif item.word != "seed":
            parts.extend(_parts(item, parts, asked, chance))
    reply = reply_of(*parts)
    if stop is None and any(isinstance(part, RefusalPart) for part in parts):
        stop = Stop.REFUSAL
    return reply if stop is None else replace(reply, stop=stop)


def _parts(item: Item, before: list[Part], asked: Asked, chance: Chance) -> tuple[Part, ...]:
    match item.word:
        case (
            "say"
            | "cite"
            | "think"
            | "thinking"
            | "hidden"
            | "redacted"
            | "refuse"
            | "fetch"
            | "run"
        ):
            return (_spoken(item, before, asked, chance),)
        case "search":
            return agent.search_parts(item.text)
        case "words":
            return (TextPart(text=prose.sentences(chance, int(item.text))),)
        case "count":
            return (TextPart(text=prose.counted(item.text)),)
        case "tools":
            number = int(item.text) if item.text else len(asked.offers)
            return agent.first_calls(asked, number)
        case "call":
            return (_call(item, asked),)
        case _:
            raise ValueError(f"{item.word!r} is nothing to say")


def _spoken(item: Item, before: list[Part], asked: Asked, chance: Chance) -> Part:
    match item.word:
        case "cite":
            searches = [part for part in before if isinstance(part, SearchPart)]
            found = [source for part in searches for source in part.sources]
            return TextPart(text=item.text, sources=tuple(found[:1]))
        case "think" | "thinking":
            return ThinkingPart(text=item.text or prose.thoughts(chance, asked.last_text))
        case "hidden":
            thought = prose.thoughts(chance, asked.last_text)
            return ThinkingPart(text=thought, hidden_s=float(item.text) / 1000)
        case "redacted" | "refuse" | "fetch" | "run":
            return _made_here(item)
        case _:
            return TextPart(text=item.text)


def _made_here(item: Item) -> Part:
    """What only the provider can say or do."""
    match item.word:
        case "redacted":
            return RedactedPart(text=item.text or "kept back by the provider")
        case "refuse":
            return RefusalPart(text=item.text)
        case "fetch":
            return FetchPart(url=item.text, text=f"The page at {item.text} says little.")
        case _:
            return RunPart(code=item.text, output=f"ran {len(item.text)} characters\n")


def _call(item: Item, asked: Asked) -> CallPart:
    if item.arguments is not None:
        return CallPart(name=item.text, arguments=dumps(item.arguments).decode())
    for offer in asked.offers:
        if offer.name == item.text:
            return agent.call(offer, asked.last_text)
    return CallPart(name=item.text, arguments="{}")
