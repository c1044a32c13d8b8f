"""Commits of a crowd: a few at a time, and those that wait meanwhile go together.

On a calm server there is a lane for every commit, and each is a statement and a transaction of its
own, at once. When all lanes are taken, the next commit waits for the first that is free; by then
others wait, too, and all of them go as one: one transaction, one way there and back, one flush of
the log. No commit ever waits for company.

What goes together shares its fate only where that fate is unknown. If the database says no to one,
nothing of all was done, and each goes again alone and hears its own answer.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from holdfast.domain.errors import Unavailable

LANES: Final = 3
TOGETHER_MAX: Final = 16
"""More would make the first wait for all the others."""
WEIGHT_MAX: Final = 64 * 1024
"""Bytes that go together. The driver sends as much without a pause: were it to pause in mid-way,
the rows of those that went first would stay locked for as long as this process thinks."""
STUCK_S: Final = 0.25
"""No lane has come free for so long: those that hold them wait for something that concerns only
them (a row that another transaction has locked), and no longer count."""

Way = TypeVar("Way")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class GroupCommitCounters:
    """`waiting`: now. `together`: what went with others; `apart`: of these, once more alone."""

    waiting: int = 0
    together: int = 0
    apart: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Question, Answer]):
    question: Question
    subject: Hashable
    weight: int
    until: float
    answer: "asyncio.Future[Answer]"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPolicy(Generic[Question]):
    """What may go together: of one kind, one of each subject, of so much weight.

    `undone`: an error by which nothing of what went together was done.
    """

    kind: Callable[[Question], Hashable]
    subject: Callable[[Question], Hashable]
    weight: Callable[[Question], int]
    undone: Callable[[Exception], bool]


class GroupCommit(Generic[Way, Question, Answer]):
    def __init__(
        self,
        enter: Callable[[], AbstractAsyncContextManager[Way]],
        one: Callable[[Way, Question], Awaitable[Answer]],
        many: Callable[[Way, Sequence[Question]], Awaitable[Sequence[Answer]]],
        manners: BatchPolicy[Question],
        *,
        wait_s: float,
    ) -> None:
        """`wait_s`: for a lane. A commit that waits for longer is told that nothing was done."""
        self._enter = enter
        self._one = one
        self._many = many
        self._manners = manners
        self._wait_s = wait_s
        self.counters = GroupCommitCounters()
        self._taken: set[object] = set()
        self._waiting: dict[Hashable, deque[_Waiting[Question, Answer]]] = {}
        self._opener: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        if self._waiting or len(self._taken) >= LANES:
            return await self._wait(question)
        lane = self._take()
        try:
            async with self._enter() as way:
                return await self._one(way, question)
        finally:
            self._give_back(lane)

    async def _wait(self, question: Question) -> Answer:
        loop, manners = asyncio.get_running_loop(), self._manners
        answer: asyncio.Future[Answer] = loop.create_future()
        waiting = _Waiting(
            question,
            manners.subject(question),
            manners.weight(question),
            loop.time() + self._wait_s,
            answer,
        )
        self._waiting.setdefault(manners.kind(question), deque()).append(waiting)
        if self._opener is None:
            self._opener = loop.call_later(STUCK_S, self._open)
        self.counters.waiting += 1
        try:
            return await answer
        finally:
            self.counters.waiting -= 1
            del answer, waiting  # else an error would know itself by this frame

    # The lanes.

    def _take(self) -> object:
        lane = object()
        self._taken.add(lane)
        return lane

    def _give_back(self, lane: object) -> None:
        self._taken.discard(lane)  # unless it was stuck, and no longer counted
        if self._opener is not None:
            self._opener.cancel()
            self._opener = None
        if not self._waiting:
            return
        if len(self._taken) < LANES:
            self._start()
        self._opener = asyncio.get_running_loop().call_later(STUCK_S, self._open)

    def _open(self) -> None:
        """No lane came back for a while: others go on, as far as the pool has connections."""
        self._opener = None
        self._taken.clear()
        for _ in range(min(LANES, sum(map(len, self._waiting.values())))):
            self._start()
        if self._waiting:
            self._opener = asyncio.get_running_loop().call_later(STUCK_S, self._open)

    def _start(self) -> None:
        # A task of its own: a caller may leave without taking the others' answers along.
        task = asyncio.get_running_loop().create_task(self._go(self._take()), name="commits")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    # What goes in one.

    async def _go(self, lane: object) -> None:
        batch: list[_Waiting[Question, Answer]] = []
        apart: list[_Waiting[Question, Answer]] = []
        entered = False
        try:
            try:
                async with self._enter() as way:
                    entered = True
                    # Only now: callers that left meanwhile are left out, and others have come.
                    batch = self._next()
                    await self._tell(way, batch)
            except Exception as error:  # noqa: BLE001 - it is for the callers that wait
                # Out here: the way must see it, too, for it may lead to the wrong server.
                if entered and len(batch) > 1 and self._manners.undone(error):
                    self.counters.apart += len(batch)
                    apart = batch
                else:
                    _fail(batch if entered else self._next(), error)
            # Without the connection, of which each now needs one. All at once: one of them may
            # have to wait for something, and the others need not.
            async with asyncio.TaskGroup() as tasks:
                for each in apart:
                    tasks.create_task(self._alone(each))
        finally:
            _fail(batch, Unavailable("the database was not waited for"))  # told to end
            self._give_back(lane)

    def _next(self) -> list[_Waiting[Question, Answer]]:
        """Those who wait longest, of the kind whose turn it is."""
        kind = next(iter(self._waiting), None)
        queue = self._waiting.pop(kind, None)
        if queue is None:
            return []
        now = asyncio.get_running_loop().time()
        batch: dict[Hashable, _Waiting[Question, Answer]] = {}
        later: list[_Waiting[Question, Answer]] = []
        weight = 0
        while queue and len(batch) < TOGETHER_MAX:
            each = queue[0]
            if each.answer.done():
                pass  # it left before its turn
            elif each.until < now:
                _fail([each], Unavailable("too much is waiting for the database"))
            elif batch and weight + each.weight > WEIGHT_MAX:
                break
            elif each.subject in batch:
                later.append(each)
            else:
                batch[each.subject] = each
                weight += each.weight
            queue.popleft()
        queue.extendleft(reversed(later))
        if queue:
            self._waiting[kind] = queue  # at the end: the other kinds come first
        return [*batch.values()]

    async def _tell(self, way: Way, batch: list[_Waiting[Question, Answer]]) -> None:
        if len(batch) == 1:
            answers: Sequence[Answer] = [await self._one(way, batch[0].question)]
        elif batch:
            self.counters.together += len(batch)
            answers = await self._many(way, [each.question for each in batch])
        else:
            return
        for each, answer in zip(batch, answers, strict=True):
            if not each.answer.done():
                each.answer.set_result(answer)

    async def _alone(self, each: _Waiting[Question, Answer]) -> None:
        try:
            async with self._enter() as way:
                if not each.answer.done():  # else its caller left, and would not know the outcome
                    answer = await self._one(way, each.question)
                    if not each.answer.done():
                        each.answer.set_result(answer)
        except Exception as error:  # noqa: BLE001 - it is for the caller that waits
            _fail([each], error)
        finally:
            del each  # else an error would know itself by this frame


def _fail(waiting: list[_Waiting[Question, Answer]], error: Exception) -> None:
    """Tell them, unless they know. None of them is kept: the error would know itself by frames."""
    while waiting:
        answer = waiting.pop().answer
        if not answer.done():
            answer.set_exception(error)
        del answer
