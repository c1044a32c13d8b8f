"""How often one user or address may ask: a bucket of tokens each, in this process."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from holdfast.api.errors import TooManyRequests

HELD_MAX: Final = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    """`per_s` in the long run, `burst` at once. Each replica counts for itself: n of them let
    through n times as much, which bounds what one client does to one process."""

    def __init__(self, per_s: float = 50.0, burst: int = 500) -> None:
        assert per_s > 0
        assert burst >= 1
        self._per_s = per_s
        self._burst = burst
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def take(self, whose: Hashable) -> None:
        """Count a request; raises `TooManyRequests` if it is one too many."""
        self._filled(whose).tokens -= 1

    def check(self, whose: Hashable) -> None:
        """The same without counting, for what may turn out not to count."""
        if whose in self._buckets:
            self._filled(whose)

    def _filled(self, whose: Hashable) -> _Bucket:
        now = asyncio.get_running_loop().time()
        bucket = self._buckets.get(whose)
        if bucket is None:
            bucket = self._buckets[whose] = _Bucket(self._burst, now)
            if len(self._buckets) > HELD_MAX:  # the one that asked longest ago: its bucket is full
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(whose)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._per_s)
        bucket.at = now
        if bucket.tokens < 1:
            raise TooManyRequests((1 - bucket.tokens) / self._per_s)
        return bucket
