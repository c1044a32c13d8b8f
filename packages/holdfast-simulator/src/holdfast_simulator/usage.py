"""What a request costs: input tokens with the prompt cache played out, and output tokens.

Two cache behaviours, as the providers have them:

* Anthropic: the client marks breakpoints. The longest marked prefix that is still alive is read;
  what lies between it and a later breakpoint is written, for five minutes or an hour.
* OpenAI and Gemini: every prefix is remembered by itself; a hit counts from 1,024 tokens, in steps
  of 128.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, Segment, WireName
from holdfast_simulator.clock import Clock

CACHED_TOKENS_MIN: Final = 1024
CACHED_TOKENS_STEP: Final = 128
FIVE_MINUTES_S: Final = 300
ONE_HOUR_S: Final = 3600
PREFIXES_MAX: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InputUsage:
    total: int
    """Everything that was sent; the three below are parts of it."""
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def fresh(self) -> int:
        return self.total - self.cache_read - self.cache_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One bill. `output_tokens` includes the reasoning tokens."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    searches: int = 0
    fetches: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        mine, theirs = asdict(self), asdict(other)
        return Usage(**{name: mine[name] + theirs[name] for name in mine})


def bill(
    entry: InputUsage, *, output: int, reasoning: int, searches: int, fetches: int = 0
) -> Usage:
    return Usage(
        input_tokens=entry.total,
        cache_read_tokens=entry.cache_read,
        cache_write_5m_tokens=entry.cache_write_5m,
        cache_write_1h_tokens=entry.cache_write_1h,
        # A reply that began is never free: the providers bill at least one token.
        output_tokens=max(1, output),
        reasoning_tokens=reasoning,
        searches=searches,
        fetches=fetches,
    )


def prompt_tokens(segments: Sequence[Segment]) -> int:
    return sum(_size(segment) for segment in segments)


def _size(segment: Segment) -> int:
    return -(-len(segment.data) // tokens.BYTES_PER_TOKEN)


@dataclass(slots=True)
class _Prefix:
    digest: bytes
    tokens: int
    ttl_s: int | None


class PromptCache:
    """The prefixes that were seen, with the moment each of them is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expiry: OrderedDict[bytes, float] = OrderedDict()

    def charge(self, asked: Asked, account: str) -> InputUsage:
        prefixes = _prefixes(asked, account)
        if asked.wire is WireName.ANTHROPIC:
            return self._marked(prefixes)
        return self._automatic(prefixes)

    def clear(self) -> None:
        self._expiry.clear()

    def _marked(self, prefixes: list[_Prefix]) -> InputUsage:
        total = prefixes[-1].tokens if prefixes else 0
        marks = [p for p in prefixes if p.ttl_s is not None and p.tokens >= CACHED_TOKENS_MIN]
        if not marks:
            return InputUsage(total=total)
        # The lookup goes backwards from the last breakpoint, through every earlier boundary.
        last = marks[-1].tokens
        read = 0
        for prefix in reversed(prefixes):
            if prefix.tokens <= last and self._alive(prefix.digest):
                read = prefix.tokens
                break
        written = {FIVE_MINUTES_S: 0, ONE_HOUR_S: 0}
        at = read
        for mark in marks:
            ttl_s = mark.ttl_s or FIVE_MINUTES_S
            if mark.tokens > at:
                written[ttl_s] += mark.tokens - at
                at = mark.tokens
            self._keep(mark.digest, ttl_s)
        return InputUsage(
            total=total,
            cache_read=read,
            cache_write_5m=written[FIVE_MINUTES_S],
            cache_write_1h=written[ONE_HOUR_S],
        )

    def _automatic(self, prefixes: list[_Prefix]) -> InputUsage:
        total = prefixes[-1].tokens if prefixes else 0
        read = 0
        for prefix in reversed(prefixes):
            if self._alive(prefix.digest):
                read = prefix.tokens // CACHED_TOKENS_STEP * CACHED_TOKENS_STEP
                break
        for prefix in prefixes:
            if prefix.tokens >= CACHED_TOKENS_MIN:
                self._keep(prefix.digest, FIVE_MINUTES_S)
        return InputUsage(total=total, cache_read=read)

    def _alive(self, digest: bytes) -> bool:
        return self._expiry.get(digest, 0.0) > self._clock.mono_s()

    def _keep(self, digest: bytes, ttl_s: int) -> None:
        until = self._clock.mono_s() + ttl_s
        self._expiry[digest] = max(until, self._expiry.pop(digest, 0.0))
        while len(self._expiry) > PREFIXES_MAX:
            self._expiry.popitem(last=False)


def _prefixes(asked: Asked, account: str) -> list[_Prefix]:
    chain = hashlib.blake2b(f"{asked.wire}\0{asked.model}\0{account}\0".encode(), digest_size=16)
    found: list[_Prefix] = []
    total = 0
    for segment in asked.segments:
        chain.update(len(segment.data).to_bytes(8, "big"))
        chain.update(segment.data)
        total += _size(segment)
        found.append(_Prefix(chain.copy().digest(), total, segment.ttl_s))
    return found
