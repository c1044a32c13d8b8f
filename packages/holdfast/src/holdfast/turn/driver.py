"""Driving a chat: ask for the next step, do exactly that one thing, commit it, ask again.

    acquire → [ next_step → perform → commit ]* → at rest, or let go

Everything that decides is in `domain`; the work of each step is a module of `turn.steps`. What a
crash leaves behind, the next runner finds in committed rows, and, of words being said, on the bus.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from opentelemetry import trace

from holdfast.admin.current import CurrentSettings, NothingSet
from holdfast.chats.changes import ChatWriter, Commit
from holdfast.domain.chat import Chat, ErrorKind, Status, TurnError
from holdfast.domain.commands import Fail
from holdfast.domain.errors import FenceStale, FormatUnknown, Unavailable
from holdfast.domain.next_step import next_step
from holdfast.ports.bus import Bus
from holdfast.ports.catalogue import AddedModels
from holdfast.ports.clock import Clock
from holdfast.ports.generation import NoSettings, SettingsGeneration
from holdfast.ports.models import NO_ROUTE, Models
from holdfast.ports.tools import Tools
from holdfast.turn.attempt import Generation
from holdfast.turn.breaker import CircuitBreakers
from holdfast.turn.commits import ChatChanged, Commits
from holdfast.turn.compaction import CompactionPolicy
from holdfast.turn.counters import TurnCounters
from holdfast.turn.history_cache import HistoryCache
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.options import TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.session import TurnServices, TurnSession
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.steps import perform
from holdfast.turn.takeover import TakeoverReader
from holdfast.turn.texts.maker import NotObserved, TurnObserver
from holdfast.turn.tool_runs import ToolRuns
from holdfast.turn.turn import OpenToolbox, Turn, begins_turn

log: Final = logging.getLogger(__name__)
tracer: Final = trace.get_tracer(__name__)

GAVE_UP: Final = TurnError(
    kind=ErrorKind.UNKNOWN,
    sentence="The server gave up on this step after too many attempts. You can try again.",
    retryable=True,
)
OUR_FAULT: Final = TurnError(
    kind=ErrorKind.UNKNOWN,
    sentence="The server made a mistake while it worked on this. You can try again.",
    retryable=True,
)


def _knows(models: Models, model: str) -> bool:
    """Whether it can be asked. A process without any models cannot tell which names are right."""
    return models.route(model) is not NO_ROUTE or models.route(None) is NO_ROUTE


def _loop_time_s() -> float:
    return asyncio.get_running_loop().time()


class Driver:
    """One per process, for all the chats that it drives. `chance` is uniform in [0, 1).

    `time_s`: the clock of the circuit breakers, which never goes back; the loop's unless said.
    """

    def __init__(
        self,
        ledger: ChatWriter,
        reading: TurnReader,
        bus: Bus,
        models: Models,
        tools: Tools,
        options: TurnOptions,
        *,
        clock: Clock,
        chance: Callable[[], float],
        settings: CurrentSettings | None = None,
        generation: SettingsGeneration | None = None,
        added: AddedModels | None = None,
        memory: HistoryCache | None = None,
        time_s: Callable[[], float] | None = None,
        observer: TurnObserver | None = None,
    ) -> None:
        self.counters = TurnCounters()
        self._observer = observer or NotObserved()
        self._memory = HistoryCache(bytes_max=0) if memory is None else memory
        rules = StepPolicy(
            options, settings or NothingSet(), added, lambda model: _knows(models, model)
        )
        self._services = TurnServices(
            reading=reading,
            commits=Commits(ledger, reading, clock, options, self.counters),
            takeover=TakeoverReader(bus, clock, options, self.counters),
            generation=Generation(reading, bus, models, options, self.counters),
            runs=ToolRuns(reading, bus, models, options, self.counters),
            models=models,
            settings=generation or NoSettings(),
            tools=tools,
            rules=rules,
            clock=clock,
            chance=chance,
            counters=self.counters,
            breakers=CircuitBreakers(time_s or _loop_time_s, self.counters),
            compaction=CompactionPolicy(models, rules),
        )

    async def drive(self, chat: Chat, nudges: Interrupts) -> Chat:
        """Drive a chat just acquired until none of our runners need drive it; the last snapshot.

        If that still names our worker as its owner, the chat was let go and is to be released.
        Raises `FenceStale` if another worker drives it now, `Unavailable` if the database stayed
        away longer than the driver waits, and `FormatUnknown` if this version cannot read it.
        """
        self._observer.begun(chat)
        turn = Turn(chat, nudges)
        turn.prompt = self._memory.recall(chat, nudges.told)
        session = TurnSession(self._services, turn)
        while turn.is_ours and not turn.let_go:
            await self._drive_turn(session)
        if turn.prompt is not None and turn.prompt.fits(turn.chat):
            self._memory.keep(chat.chat_id, turn.prompt)
        if turn.finished and turn.chat.status is Status.IDLE:
            self._observer.finished(turn.chat)
        return turn.chat

    async def _drive_turn(self, session: TurnSession) -> None:
        """Until the chat is at rest or let go, or the next message of its queue is promoted."""
        self.counters.turns += 1
        turn = session.turn
        ended: FenceStale | Unavailable | FormatUnknown | None = None
        with tracer.start_as_current_span("turn") as span:
            span.set_attribute("holdfast.chat_id", str(turn.chat.chat_id))
            async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
                turn.tools = OpenToolbox(stack=stack, group=group)
                try:
                    while turn.is_ours and not turn.let_go:
                        commit = await self._step(session)
                        if commit is not None and begins_turn(commit):
                            break
                except (FenceStale, Unavailable, FormatUnknown) as error:
                    ended = error  # past the group, which would wrap it
            span.set_attribute("holdfast.status", turn.chat.status.value)
        if ended is not None:
            raise ended

    async def _step(self, session: TurnSession) -> Commit | None:
        """One step, done and committed."""
        turn = session.turn
        try:
            if turn.nudges.pending and not turn.nudges.leaving:
                await session.reread()
            if not turn.is_ours:
                return None
            await session.catch_up()
            step = next_step(turn.chat)
            if step.is_let_go and turn.nudges.leaving:
                turn.let_go = True
                return None
            if step.begins_attempt and turn.over_budget:
                return await session.fail(GAVE_UP)
            return await perform(session, step)
        except ChatChanged:
            return None
        except (FenceStale, Unavailable, FormatUnknown):
            raise
        except Exception:
            log.exception("turn: step of chat %s failed with an internal error", turn.chat.chat_id)
            self.counters.bugs += 1
            return await self._fail_by_our_fault(session)

    async def _fail_by_our_fault(self, session: TurnSession) -> Commit | None:
        """A defined status whatever happened (L55). If it was the words themselves that could not
        be stored, without them."""
        try:
            return await session.fail(OUR_FAULT)
        except ChatChanged:
            return None
        except (FenceStale, Unavailable, FormatUnknown):
            raise
        except Exception:
            chat_id = session.turn.chat.chat_id
            log.exception("turn: partial reply of chat %s could not be saved", chat_id)
            return await session.commit(Fail(OUR_FAULT))
