"""How a runner commits a step: once, whatever the database says or does not say about it.

A write that the database did not answer may be there or not. The chat is read again, and its facts
tell: then the step is taken as done, or committed again as it is. Neither the model nor a tool is
asked a second time for it (M1, X1).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from holdfast.chats.changes import ChangeRequest, ChatWriter, Commit
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    Fail,
    FinishInterrupt,
    FinishTurn,
    FromWorker,
    NeedCompaction,
    RecordRetry,
)
from holdfast.domain.compaction import Compaction
from holdfast.domain.decide import decide_all
from holdfast.domain.driving import RUNNABLE
from holdfast.domain.errors import (
    ChatBusy,
    ChatNotFound,
    CommandRefused,
    FenceStale,
    HoldfastError,
    Unavailable,
)
from holdfast.domain.fence import Fence
from holdfast.domain.next_step import Generate, next_step, riding_command
from holdfast.domain.parts import Need
from holdfast.domain.prefix import PromptPrefix
from holdfast.ports.clock import Clock
from holdfast.turn.counters import TurnCounters
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.lost import add_takeover
from holdfast.turn.options import TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.turn import Turn

log: Final = logging.getLogger(__name__)
R = TypeVar("R")

RELEASING: Final = (Await, Fail, FinishTurn, FinishInterrupt)


class ChatChanged(Exception):
    """The chat is ours still, but no longer the one this step was for: ask for the next step."""


class Commits:
    def __init__(
        self,
        ledger: ChatWriter,
        reading: TurnReader,
        clock: Clock,
        options: TurnOptions,
        counters: TurnCounters,
    ) -> None:
        self._ledger = ledger
        self._reading = reading
        self._clock = clock
        self._options = options
        self._counters = counters

    async def commit(self, turn: Turn, *commands: FromWorker) -> Commit | None:
        """Commit a bundle under the fence. None: it is committed, but its answer was lost.

        Raises `FenceStale` if another worker drives the chat, `ChatChanged` if the history did.
        """
        began = turn.chat
        commands = add_takeover(turn, commands, lease_s=self._options.lease_s)
        pauses = self._pauses(turn)
        while True:
            chat = turn.chat
            try:
                now = self._clock.now()
                riders = self._riders(turn, commands, now)
                by = Fence.of(chat)
                request = ChangeRequest(commands, by=by, riders=riders, snapshot=chat)
                commit = await self._ledger.transact(chat.chat_id, request)
            except ChatNotFound as gone:
                raise FenceStale(f"chat {chat.chat_id} is gone") from gone
            except FenceStale:
                await self._reread(turn)
                raise ChatChanged from None
            except CommandRefused as refusal:
                commands = await self._without_ending(turn, commands, refusal)
            except (Unavailable, ChatBusy) as unanswered:
                said = "turn: a commit of chat %s was not answered: %s"
                log.warning(said, chat.chat_id, unanswered, extra={"seldom": said})
                self._counters.uncertain_commits += 1
                pauses.check(unanswered)
                await asyncio.sleep(pauses.next_s())
                if await self._landed(turn, began, commands):
                    return None
            else:
                self._counters.steps += any(isinstance(each, CommitStep) for each in commands)
                for rider in riders:
                    assert turn.sent is not None, "a prefix is stored with what it was sent for"
                    self._reading.stored_prefix(rider.digest, turn.sent.prefix, now)
                turn.committed(commit)
                turn.finished = any(isinstance(each, FinishTurn) for each in commands)
                return commit

    def _riders(
        self, turn: Turn, commands: Sequence[FromWorker], now: datetime
    ) -> tuple[PromptPrefix, ...]:
        """The prefix that a message of these commands names, unless it is stored already."""
        row = None if turn.sent is None else turn.sent.row
        if row is None or self._reading.has_stored_prefix(row.digest, now):
            return ()
        said = (
            body
            for command in commands
            if isinstance(command, CommitStep | FinishInterrupt)
            for body in (command.messages if isinstance(command, CommitStep) else command.partial)
        )
        return (row,) if any(body.prefix == row.digest for body in said) else ()

    async def _reread(self, turn: Turn) -> None:
        """After a refusal by the fence: the history moved, or another worker drives."""
        loaded = await self.load(turn)
        if not turn.holds(loaded):
            raise FenceStale(f"chat {loaded.chat_id} is at epoch {loaded.epoch}")
        self._counters.overtaken += 1
        turn.take(loaded)

    async def _without_ending(
        self, turn: Turn, commands: tuple[FromWorker, ...], refusal: CommandRefused
    ) -> tuple[FromWorker, ...]:
        """An interrupt came between the last look and the commit (L04): the step itself is kept,
        and what would have gone on from it is left out."""
        before = turn.chat
        loaded = await self.load(turn)
        if not turn.holds(loaded):
            raise FenceStale(f"chat {loaded.chat_id} is at epoch {loaded.epoch}")
        turn.take(loaded)
        if loaded.history != before.history:
            raise ChatChanged
        steps = tuple(command for command in commands if isinstance(command, CommitStep))
        if loaded.status is not Status.INTERRUPTING or len(steps) == len(commands):
            raise refusal  # never lawful: our own mistake
        if not steps:
            raise ChatChanged
        return steps

    async def _landed(self, turn: Turn, began: Chat, commands: Sequence[FromWorker]) -> bool:
        """Whether a bundle whose answer was lost is committed. Raises `ChatChanged`."""
        loaded = await self.load(turn)
        if not turn.holds(loaded):
            rests = loaded.epoch == turn.chat.epoch and loaded.status not in RUNNABLE
            if rests and any(isinstance(command, RELEASING) for command in commands):
                turn.take(loaded)
                return True
            raise FenceStale(f"chat {loaded.chat_id} is at epoch {loaded.epoch}")
        turn.take(loaded)
        if loaded.history != began.history:
            raise ChatChanged  # by this very bundle, or by an edit: what follows is the same
        for command in commands:
            match command:
                case BeginAttempt() if loaded.attempt > began.attempt:
                    return True
                case RecordRetry(backoff) if loaded.backoff == backoff:
                    return True
                case _:
                    pass
        return False

    # What may ride along.

    def follow_up(
        self, turn: Turn, step: CommitStep, due: Callable[[Chat], Compaction | None]
    ) -> tuple[FromWorker, ...]:
        """What will be next after this step, as far as it can be committed in the same statement.

        `decide` says what the chat will be, and `next_step` what follows; if another commit comes
        meanwhile, the ledger decides again and the domain refuses what no longer fits.
        `due`: the compaction that is to be made before the model is asked again.
        """
        after = decide_all(Facts(chat=turn.chat), (step,), self._clock.now()).chat
        following = next_step(after)
        if following.begins_attempt:
            decided = due(after) if isinstance(following, Generate) else None
            compacts = () if decided is None else (NeedCompaction(decided),)
            # A worker that is about to let go begins nothing: acquiring will.
            return compacts if turn.nudges.leaving else (*compacts, BeginAttempt())
        command = riding_command(following, self.deadline_of)
        return () if command is None else (command,)

    def deadline_of(self, kind: Need) -> datetime | None:
        """When a chat that needs this stops waiting for it."""
        for_s = self._options.await_s.get(kind)
        return None if for_s is None else self._clock.now() + timedelta(seconds=for_s)

    # Reading.

    async def load(self, turn: Turn) -> Chat:
        chat = await self.patiently(turn, lambda: self._reading.chat(turn.chat.chat_id))
        if chat is None:
            raise FenceStale(f"chat {turn.chat.chat_id} is gone")
        return chat

    async def patiently(self, turn: Turn, read: Callable[[], Awaitable[R]]) -> R:
        """Ask a database that may be away, with growing pauses, for a bounded time.

        The worker ends us when its lease does; one that lets go does not wait so long.
        """
        pauses = self._pauses(turn)
        while True:
            try:
                return await read()
            except Unavailable as unanswered:
                pauses.check(unanswered)
            await asyncio.sleep(pauses.next_s())

    def _pauses(self, turn: Turn) -> "Pauses":
        return Pauses(self._options, turn.nudges)


class Pauses:
    """Growing pauses between questions to a database that is away, until patience ends."""

    def __init__(self, options: TurnOptions, nudges: Interrupts) -> None:
        self._options = options
        self._nudges = nudges
        self._pause_s = options.pause_s
        self._began_s = asyncio.get_running_loop().time()

    def check(self, error: HoldfastError) -> None:
        """Raise the error if there was enough of waiting."""
        options = self._options
        patience_s = options.tools.stop_s if self._nudges.leaving else options.patience_s
        if asyncio.get_running_loop().time() - self._began_s >= patience_s:
            raise error

    def next_s(self) -> float:
        pause_s = self._pause_s
        self._pause_s = min(2 * pause_s, self._options.pause_s_max)
        return pause_s
