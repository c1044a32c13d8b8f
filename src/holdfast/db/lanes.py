"""Commits of a crowd: a few at a time, and those that wait meanwhile go together.

On a calm server there is a lane for everybody, and each commit is a statement and a transaction of
its own, at once. When all lanes are taken, whoever comes next waits for the first that is free; by
then others wait, too, and all of them go as one: one transaction, one way there and back, one
flush of the log. Nobody ever waits for company.

What goes together shares its fate only where that fate is unknown. If the database says no to one,
nothing of all was done, and each goes again alone and hears its own answer.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from holdfast.domain.errors import Unavailable

LANES: Final = 3
TOGETHER_MAX: Final = 16
"""More would make the first wait for all the others."""
STUCK_S: Final = 0.25
"""No lane has come free for so long: those that hold them wait for something that concerns only
them (a row that somebody has locked), so another is opened."""
WAIT_S: Final = 10.0
"""For a lane. Whoever waits for longer is told that nothing was done."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class LaneCounters:
    """`waiting`: now. `together`: what went with others; `apart`: of these, once more alone."""

    waiting: int = 0
    together: int = 0
    apart: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Question, Answer]):
    question: Question
    subject: Hashable
    until: float
    answer: "asyncio.Future[Answer]"


class Lanes(Generic[Question, Answer]):
    """`kind`: only questions of one kind go together. `subject`: and only one of each subject.

    `undone`: errors by which nothing of what went together was done.
    """

    def __init__(
        self,
        one: Callable[[Question], Awaitable[Answer]],
        many: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]],
        *,
        kind: Callable[[Question], Hashable],
        subject: Callable[[Question], Hashable],
        undone: tuple[type[Exception], ...],
    ) -> None:
        self._one = one
        self._many = many
        self._kind = kind
        self._subject = subject
        self._undone = undone
        self.counters = LaneCounters()
        self._taken = 0
        self._waiting: dict[Hashable, deque[_Waiting[Question, Answer]]] = {}
        self._opener: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        if self._taken < LANES and not self._waiting:
            self._taken += 1
            try:
                return await self._one(question)
            finally:
                self._is_free()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        waiting = _Waiting(question, self._subject(question), loop.time() + WAIT_S, answer)
        self._waiting.setdefault(self._kind(question), deque()).append(waiting)
        if self._opener is None:
            self._opener = loop.call_later(STUCK_S, self._open)
        self.counters.waiting += 1
        try:
            return await answer
        finally:
            self.counters.waiting -= 1
            del answer, waiting  # else an error would know itself by this frame

    def _is_free(self) -> None:
        self._taken -= 1
        if self._opener is not None:
            self._opener.cancel()
            self._opener = None
        while self._waiting and self._taken < LANES:
            self._start()
        if self._waiting:
            self._opener = asyncio.get_running_loop().call_later(STUCK_S, self._open)

    def _open(self) -> None:
        """Nobody came back for a while: one lane more than there are, for those who wait."""
        self._opener = None
        self._start()
        if self._waiting:
            self._opener = asyncio.get_running_loop().call_later(STUCK_S, self._open)

    def _start(self) -> None:
        """Those who wait longest of the kind whose turn it is."""
        batch = self._next()
        if not batch:
            return
        self._taken += 1
        # A task of its own: whoever waits may leave without taking the others' answers along.
        task = asyncio.get_running_loop().create_task(self._go(batch), name="commits")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _next(self) -> list[_Waiting[Question, Answer]]:
        kind = next(iter(self._waiting))
        queue = self._waiting.pop(kind)
        now = asyncio.get_running_loop().time()
        batch: dict[Hashable, _Waiting[Question, Answer]] = {}
        later: list[_Waiting[Question, Answer]] = []
        while queue and len(batch) < TOGETHER_MAX:
            each = queue.popleft()
            if each.answer.done():
                continue  # it left before its turn
            if each.until < now:
                each.answer.set_exception(Unavailable("too much is waiting for the database"))
            elif each.subject in batch:
                later.append(each)
            else:
                batch[each.subject] = each
        queue.extendleft(reversed(later))
        if queue:
            self._waiting[kind] = queue  # at the end: the other kinds come first
        return [*batch.values()]

    async def _go(self, batch: list[_Waiting[Question, Answer]]) -> None:
        try:
            if len(batch) == 1:
                await self._alone(batch[0])
            else:
                await self._together(batch)
        finally:
            for each in batch:  # if this task itself was told to end
                if not each.answer.done():
                    each.answer.set_exception(Unavailable("the database was not waited for"))
            batch.clear()  # else an error would know itself by this frame
            self._is_free()

    async def _together(self, batch: list[_Waiting[Question, Answer]]) -> None:
        self.counters.together += len(batch)
        try:
            answers = await self._many([each.question for each in batch])
        except self._undone:
            self.counters.apart += len(batch)
            # All at once: one of them may have to wait for something, and the others need not.
            async with asyncio.TaskGroup() as tasks:
                for each in batch:
                    tasks.create_task(self._alone(each))
        except Exception as error:  # noqa: BLE001 - nobody knows: everybody hears so
            for each in batch:
                if not each.answer.done():
                    each.answer.set_exception(error)
        else:
            for each, answer in zip(batch, answers, strict=True):
                if not each.answer.done():
                    each.answer.set_result(answer)

    async def _alone(self, each: _Waiting[Question, Answer]) -> None:
        try:
            answer = await self._one(each.question)
        except Exception as error:  # noqa: BLE001 - it is for whoever waits
            if not each.answer.done():
                each.answer.set_exception(error)
        else:
            if not each.answer.done():
                each.answer.set_result(answer)
