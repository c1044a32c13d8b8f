"""Random turns against the simulator: what it billed, and what we say that it billed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

import aiohttp

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.prices import cost_micros
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.adapters.providers.types import CachePolicy, Call, ProviderTool
from holdfast.domain.messages import Ending, MessageBody
from holdfast.domain.parts import ToolCall, ToolResult
from holdfast.ports.models import ArgumentsDelta, ReasoningDelta, TextDelta, Usage
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.support.model import TOOLS, assistant, results, user
from tests.support.simulated import endpoint_at

AT: Final = datetime(2026, 11, 14, 12, 0, tzinfo=UTC)
MODELS: Final[Mapping[str, Sequence[str]]] = {
    "anthropic": ("claude-sonnet-4-5", "claude-opus-4-8"),
    "responses": ("gpt-5.4", "gpt-5.1"),
    "chat": ("gpt-4o", "gpt-4.1"),
    "gemini": ("gemini-2.5-pro", "gemini-3-pro-preview"),
}
LONG_TOKENS: Final = {
    "claude-sonnet-4-5": 201_000,
    "gpt-5.4": 280_000,
    "gemini-2.5-pro": 210_000,
    "gemini-3-pro-preview": 205_000,
}
"""Beyond the step of the price list for long prompts."""
LONG_BETA: Final = "context-1m-2025-08-07"
CACHES: Final = (
    CachePolicy(None, None),
    CachePolicy("5m", "5m"),
    CachePolicy("1h", "5m"),
    CachePolicy("1h", "1h"),
)
SEARCH: Final = {
    "anthropic": ProviderTool(
        "anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    ),
    "responses": ProviderTool("responses", {"type": "web_search"}),
    "gemini": ProviderTool("gemini", {"googleSearch": {}}),
}
SEARCHES_ALONE: Final = frozenset({"gemini-2.5-pro"})
"""Refuses functions beside tools of the provider."""
CONTINUOUS: Final = {"include_usage": True, "continuous_usage_stats": True}
"""What vLLM offers on the Chat wire: the usage so far with every event."""
DEADLINES: Final = Deadlines(first_part_s=30, silence_s=30, progress_s=30, thinking_s=30, tail_s=2)
CHATS: Final = 32
HISTORY_MAX: Final = 14
LONG_EVERY: Final = 90


class Figures(NamedTuple):
    requests: int
    known: int
    unknown: int
    mismatch_micros: int


@dataclass(frozen=True, kw_only=True)
class Attempt:
    wire: str
    model: str
    price_id: str | None
    interrupted: bool
    counts_along: bool
    """Whether the provider tells the usage so far with every event."""
    usage: Usage | None
    usage_min: Usage
    billed: Usage

    @property
    def mismatch_micros(self) -> int:
        """How far our cost is from the bill; 0 where we say that we do not know."""
        if self.usage is None:
            return 0
        ours = cost_micros(self.usage, self.price_id, AT)
        theirs = cost_micros(self.billed, self.price_id, AT)
        assert ours is not None
        assert theirs is not None
        return abs(ours - theirs)


@dataclass(frozen=True, kw_only=True)
class Bill:
    attempts: Sequence[Attempt]
    billing: Mapping[str, Any]
    """The simulator's own sums, from `GET /sim/billing`."""

    @property
    def figures(self) -> Figures:
        known = sum(attempt.usage is not None for attempt in self.attempts)
        return Figures(
            requests=len(self.attempts),
            known=known,
            unknown=len(self.attempts) - known,
            mismatch_micros=sum(attempt.mismatch_micros for attempt in self.attempts),
        )


@dataclass
class Talk:
    """A chat that grows, so that its prompts share their beginnings."""

    wire: str
    model: str
    system: tuple[str, ...]
    cache: CachePolicy
    history: list[MessageBody] = field(default_factory=list[MessageBody])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one turn asks for."""

    talk: Talk
    prompt: str
    directive: str
    stop_after: int | None = None
    searches: bool = False
    continuous: bool = False


def _words(chance: Random, size: int) -> str:
    syllables = ("sol", "ver", "mon", "ta", "ri", "un", "dek", "lo")
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(97)]
    return " ".join(words * (size // 400 + 1))[:size]


def _talk(chance: Random, number: int) -> Talk:
    wire = tuple(MODELS)[number % len(MODELS)]
    system = tuple(_words(chance, chance.choice((40, 900, 5_000))) for _ in range(2))
    cache = CACHES[number // len(MODELS) % len(CACHES)]
    return Talk(wire, chance.choice(MODELS[wire]), system, cache)


def _plan(chance: Random, talks: list[Talk], number: int) -> Plan:
    if number % LONG_EVERY == LONG_EVERY - 1:
        model = tuple(LONG_TOKENS)[number // LONG_EVERY % len(LONG_TOKENS)]
        wire = next(wire for wire, models in MODELS.items() if model in models)
        talk = Talk(wire, model, ("long " * (LONG_TOKENS[model] * 4 // 5 + 10),), CachePolicy())
        return Plan(talk=talk, prompt=_words(chance, 60), directive="words=12")
    place = chance.randrange(len(talks))
    if len(talks[place].history) > HISTORY_MAX:
        talks[place].history.clear()
    talk = talks[place]
    prompt = _words(chance, chance.choice((10, 80, 300, 2_500)))
    if chance.random() < 0.15:
        after = chance.randint(1, 20)
        return Plan(
            talk=talk,
            prompt=prompt,
            directive=f"words=40 | fault=hang-mid@{after}",
            stop_after=after,
            continuous=talk.wire == "chat" and chance.random() < 0.5,
        )
    says = [f"words={chance.randint(3, 30)}", 'think "Hm, well." | words=9', "words=5 | call clock"]
    if talk.wire in SEARCH and talk.model not in SEARCHES_ALONE:
        says.append('search "the news" | words=5')
    directive = chance.choice(says)
    return Plan(talk=talk, prompt=prompt, directive=directive, searches="search" in directive)


async def _turn(transport: Transport, url: str, plan: Plan) -> tuple[ProviderStream, str | None]:
    talk = plan.talk
    talk.history.append(user(f"{plan.prompt} [[sim: {plan.directive}]]"))
    facts = facts_of(VENDORS[f"simulator-{talk.wire}"], talk.model)
    facts = replace(facts, betas=(*facts.betas, LONG_BETA))
    call = Call(
        model=facts,
        history=tuple(talk.history),
        system=talk.system,
        tools=TOOLS,
        provider_tools=(SEARCH[talk.wire],) if plan.searches else (),
        cache=talk.cache,
        extra={"stream_options": CONTINUOUS} if plan.continuous else {},
    )
    stream = ProviderStream(transport, endpoint_at(url, talk.wire), call, DEADLINES)
    deltas = 0
    async with asyncio.timeout(60), stream:
        async for event in stream:
            deltas += isinstance(event, TextDelta | ReasoningDelta | ArgumentsDelta)
            if deltas == plan.stop_after:
                break
    _remember(talk, stream)
    return stream, facts.price_id


def _remember(talk: Talk, stream: ProviderStream) -> None:
    """What a runner would commit: the reply, or what there is of it, and the results."""
    final = stream.final
    ending = final.ending if final else Ending.INTERRUPTED
    parts = final.parts if final else stream.partial()
    talk.history.append(assistant(*parts, ending=ending))
    calls = [part for part in parts if isinstance(part, ToolCall) and part.runs_at == "here"]
    if calls:
        answers = [ToolResult(call.call_id, call.tool, "noon") for call in calls]
        talk.history.append(results(*answers))


async def run(turns: int = 1_000, seed: int = 3) -> Bill:
    chance = Random(seed)
    talks = [_talk(chance, number) for number in range(CHATS)]
    done: list[tuple[Plan, ProviderStream, str | None]] = []
    async with (
        simulator_process() as url,
        open_transport(lambda: AT) as transport,
        aiohttp.ClientSession(url) as record,
    ):
        for number in range(turns):
            plan = _plan(chance, talks, number)
            stream, price_id = await _turn(transport, url, plan)
            done.append((plan, stream, price_id))
            if plan.stop_after is not None:
                # The bill of an interrupted stream is final once the simulator has noticed.
                await _get(record, f"/sim/requests/{number + 1}?wait=10")
        entries = (await _get(record, "/sim/requests"))["requests"]
        billing = await _get(record, "/sim/billing")
    assert [entry["number"] for entry in entries] == list(range(1, turns + 1))
    pairs = zip(done, entries, strict=True)
    return Bill(attempts=[_attempt(*one, entry) for one, entry in pairs], billing=billing)


def _attempt(plan: Plan, stream: ProviderStream, price_id: str | None, entry: Any) -> Attempt:
    billed: dict[str, int] = entry["usage"]
    return Attempt(
        wire=plan.talk.wire,
        model=plan.talk.model,
        price_id=price_id,
        interrupted=plan.stop_after is not None,
        counts_along=plan.continuous or plan.talk.wire == "gemini",
        usage=stream.usage,
        usage_min=stream.usage_min,
        billed=Usage(
            input=billed["input_tokens"],
            cache_read=billed["cache_read_tokens"],
            cache_write_5m=billed["cache_write_5m_tokens"],
            cache_write_1h=billed["cache_write_1h_tokens"],
            output=billed["output_tokens"],
            searches=billed["searches"],
        ),
    )


async def _get(record: aiohttp.ClientSession, path: str) -> Any:
    async with asyncio.timeout(30), record.get(path) as answer:
        assert answer.status == 200, path
        return await answer.json()


def figures(turns: int = 1_000, seed: int = 3) -> Figures:
    """For benchmarks: the counts of a run, and by how much costs and bills differ in all."""
    return asyncio.run(run(turns, seed)).figures
