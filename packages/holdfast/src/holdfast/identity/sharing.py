"""One fetch for all callers that want the same thing at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.domain.errors import HoldfastError, Unavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOptions:
    wait_s: float = 5.0
    """How long one caller waits, and so how long a fetch takes at most."""
    waiters_max: int = 50
    """Callers that wait at once; each holds a place among the requests of its process."""
    failure_s: float = 5.0
    """How long a failure is the answer to every caller, without another fetch."""


class SharedFetch(Generic[T]):
    """The first caller fetches, and the callers that come meanwhile take its result or its failure.
    A server that hangs then costs one fetch and `waiters_max` places, however many ask.

    If the first caller is cancelled, the next one fetches (L130).
    """

    def __init__(self, fetch: Callable[[], Awaitable[T]], options: ShareOptions) -> None:
        self._fetch = fetch
        self._options = options
        self._one_at_a_time = asyncio.Lock()
        self._waiters = 0
        self._newest: tuple[int, T] | None = None
        self._failure: tuple[HoldfastError, float] | None = None

    async def get(self) -> T:
        """Raises what the fetch raised, or `Unavailable`."""
        self._raise_failure()
        if self._waiters >= self._options.waiters_max:
            raise Unavailable("too many requests wait for the identity provider")
        number = self._number
        self._waiters += 1
        try:
            async with asyncio.timeout(self._options.wait_s), self._one_at_a_time:
                if self._newest is not None and self._newest[0] > number:
                    return self._newest[1]
                self._raise_failure()
                return await self._fetched()
        except TimeoutError:
            late = Unavailable("the identity provider did not answer in time")
            self._remember(late)
            raise late from None
        finally:
            self._waiters -= 1

    @property
    def _number(self) -> int:
        """Of the newest fetch that succeeded. A higher one is newer than what the caller found."""
        return 0 if self._newest is None else self._newest[0]

    async def _fetched(self) -> T:
        try:
            value = await self._fetch()
        except HoldfastError as failure:
            self._remember(failure)
            raise
        self._newest = self._number + 1, value
        return value

    def _remember(self, failure: HoldfastError) -> None:
        now = asyncio.get_running_loop().time()
        self._failure = failure, now + self._options.failure_s

    def _raise_failure(self) -> None:
        if self._failure is None:
            return
        failure, until = self._failure
        if asyncio.get_running_loop().time() < until:
            raise failure.with_traceback(None)
        self._failure = None
