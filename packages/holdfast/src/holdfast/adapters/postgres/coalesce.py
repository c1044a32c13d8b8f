"""Questions that are asked in the same instant, put to the database as one statement.

A crowd's requests arrive together, and so do the chats of one acquire: each alone would pay for
the way to the database and back. The first question waits for one round of the loop, and goes with
all that came meanwhile. Alone, as on a calm server nearly every question is, it goes as ever.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from holdfast.domain.errors import Unavailable

TOGETHER_MAX: Final = 32
"""More would make the first wait for the answers of all the others."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Coalescer(Generic[Question, Answer]):
    def __init__(
        self,
        one: Callable[[Question], Awaitable[Answer]],
        many: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]],
    ) -> None:
        self._one = one
        self._many = many
        self._coming: dict[asyncio.Future[Answer], Question] | None = None

    async def ask(self, question: Question) -> Answer:
        if self._coming is None or len(self._coming) >= TOGETHER_MAX - 1:
            return await self._lead(question)
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._coming[waiter] = question
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.cancelled() and not _is_cancelled():
                return await self._one(question)  # who asked for us left, or was refused
            raise
        finally:
            del waiter  # else an error would know itself by this frame

    async def _lead(self, question: Question) -> Answer:
        coming = self._coming = dict[asyncio.Future[Answer], Question]()
        try:
            await asyncio.sleep(0)
            if self._coming is coming:
                self._coming = None
            waiters = {waiter: each for waiter, each in coming.items() if not waiter.done()}
            if not waiters:
                return await self._one(question)
            return await self._ask_for_all(question, waiters)
        except Exception as error:  # for all of them
            for waiter in coming:
                if not waiter.done():
                    waiter.set_exception(error)
            raise
        finally:
            if self._coming is coming:
                self._coming = None
            for waiter in coming:
                waiter.cancel()  # of those that are done it takes no notice

    async def _ask_for_all(
        self, question: Question, waiters: dict[asyncio.Future[Answer], Question]
    ) -> Answer:
        try:
            answers = await self._many([question, *waiters.values()])
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 - such as one row that cannot be read
            # Each asks alone, so that only the caller of that row is refused.
            for waiter in waiters:
                waiter.cancel()
            return await self._one(question)
        for waiter, answer in zip(waiters, answers[1:], strict=True):
            if not waiter.done():
                waiter.set_result(answer)
        return answers[0]


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
