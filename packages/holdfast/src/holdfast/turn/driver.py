"""Driving a chat: ask for the next step, do exactly that one thing, commit it, ask again.

    acquire → [ next_step → do → commit ]* → at rest, or let go

Everything that decides is in `domain`; everything that may fail is below. What a crash leaves
behind, the next runner finds in committed rows, and, of words being said, on the bus.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, assert_never

from opentelemetry import trace

from holdfast.admin.current import CurrentSettings, NothingSet
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, ErrorKind, OpenCall, TurnError
from holdfast.domain.commands import CommitStep, Fail, FinishInterrupt, FinishTurn
from holdfast.domain.errors import FenceStale, FormatUnknown, Unavailable
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.next_step import (
    AwaitOutside,
    Compact,
    Finish,
    Generate,
    KeepPartial,
    RunTools,
    Step,
    next_step,
)
from holdfast.domain.parts import Need, Synthetic
from holdfast.domain.synthetic import synthetic_result
from holdfast.ports.bus import Bus
from holdfast.ports.clock import Clock
from holdfast.ports.models import Models
from holdfast.ports.tools import Toolbox, ToolContext, Tools
from holdfast.turn.commits import ChatChanged, Commits
from holdfast.turn.counters import TurnCounters
from holdfast.turn.generate import Generation
from holdfast.turn.history_cache import HistoryCache
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.model_steps import GAVE_UP, ModelSteps, apply
from holdfast.turn.options import TurnOptions
from holdfast.turn.prompt import Prompt
from holdfast.turn.reading import TurnReader
from holdfast.turn.recheck import Interruption
from holdfast.turn.run_tools import ToolRuns, inherited_calls, plan
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.takeover import CUTS_MAX, TakeoverReader
from holdfast.turn.turn import OpenToolbox, Turn, UncommittedReply

log: Final = logging.getLogger(__name__)
tracer: Final = trace.get_tracer(__name__)

OUR_FAULT: Final = TurnError(
    kind=ErrorKind.UNKNOWN,
    sentence="The server made a mistake while it worked on this. You can try again.",
    retryable=True,
)


class Driver:
    """One per process, for all the chats that it drives. `chance` is uniform in [0, 1)."""

    def __init__(
        self,
        ledger: Ledger,
        reading: TurnReader,
        bus: Bus,
        models: Models,
        tools: Tools,
        options: TurnOptions,
        *,
        clock: Clock,
        chance: Callable[[], float],
        settings: CurrentSettings | None = None,
        memory: HistoryCache | None = None,
    ) -> None:
        self.counters = TurnCounters()
        self._reading = reading
        self._tools = tools
        self._options = options
        self._takeover = TakeoverReader(bus, clock, options, self.counters)
        self._memory = HistoryCache(bytes_max=0) if memory is None else memory
        self._commits = Commits(ledger, reading, clock, options, self.counters)
        self._runs = ToolRuns(reading, bus, models, options, self.counters)
        generation = Generation(reading, bus, models, options, self.counters)
        self._rules = StepPolicy(options, settings or NothingSet())
        self._replies = ModelSteps(self._commits, generation, models, clock, chance, self._rules)

    async def drive(self, chat: Chat, nudges: Interrupts) -> Chat:
        """Drive a chat just acquired until none of our runners need drive it; the last snapshot.

        If that still names our worker as its owner, the chat was let go and is to be released.
        Raises `FenceStale` if another worker drives it now, `Unavailable` if the database stayed
        away longer than the driver waits, and `FormatUnknown` if this version cannot read it.
        """
        turn = Turn(chat, nudges)
        turn.prompt = self._memory.recall(chat, nudges.told)
        while turn.is_ours and not turn.let_go:
            await self._drive_turn(turn)
        if turn.prompt is not None and turn.prompt.fits(turn.chat):
            self._memory.keep(chat.chat_id, turn.prompt)
        return turn.chat

    async def _drive_turn(self, turn: Turn) -> None:
        """Until the chat is at rest or let go, or the next message of its queue is promoted."""
        self.counters.turns += 1
        ended: FenceStale | Unavailable | FormatUnknown | None = None
        with tracer.start_as_current_span("turn") as span:
            span.set_attribute("holdfast.chat_id", str(turn.chat.chat_id))
            async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
                turn.tools = OpenToolbox(stack=stack, group=group)
                try:
                    while turn.is_ours and not turn.let_go and not await self._step(turn):
                        pass
                except (FenceStale, Unavailable, FormatUnknown) as error:
                    ended = error  # past the group, which would wrap it
            span.set_attribute("holdfast.status", turn.chat.status.value)
        if ended is not None:
            raise ended

    async def _step(self, turn: Turn) -> bool:
        """One step, done and committed; whether another turn began with it."""
        try:
            await self._look_up(turn)
            if not turn.is_ours:
                return False
            step = next_step(turn.chat)
            if turn.nudges.leaving and isinstance(step, Generate | Compact):
                turn.let_go = True
                return False
            return await self._do(turn, step)
        except ChatChanged:
            return False
        except (FenceStale, Unavailable, FormatUnknown):
            raise
        except Exception:
            log.exception("turn: step of chat %s failed with an internal error", turn.chat.chat_id)
            self.counters.bugs += 1
            return await self._fail_by_our_fault(turn)

    async def _look_up(self, turn: Turn) -> None:
        """Before a step is begun: what was heard since the last one?"""
        if turn.nudges.pending and not turn.nudges.leaving:
            turn.nudges.heed()
            apply(turn, Interruption(await self._commits.load(turn)))

    async def _do(self, turn: Turn, step: Step) -> bool:
        if turn.over_budget and isinstance(step, Generate | Compact | RunTools):
            return await self._replies.fail(turn, GAVE_UP)
        match step:
            case Generate() if turn.left and await self._go_on(turn):
                began = False
            case Generate():
                asking = self._replies.reply
                began = await asking(turn, await self._prompt(turn), await self._introduced(turn))
            case Compact():
                asking = self._replies.compact
                began = await asking(turn, await self._prompt(turn), await self._introduced(turn))
            case RunTools(calls):
                began = await self._run_tools(turn, calls)
            case AwaitOutside():
                began = await self._commits.commit(turn, self._commits.awaiting(step))
            case Finish():
                began = await self._commits.commit(turn, FinishTurn())
            case KeepPartial():
                began = await self._keep_partial(turn)
            case _:
                assert_never(step)
        return began

    async def _run_tools(self, turn: Turn, calls: tuple[OpenCall, ...]) -> bool:
        prompt, toolbox = await self._prompt(turn), await self._toolbox(turn)
        history = turn.chat.history
        planned = plan(turn, prompt, toolbox, calls, self._rules)
        ran = await self._runs.run(turn, toolbox, planned)
        if turn.chat.lost is not None:
            turn.inherited_calls = inherited_calls(turn.chat.open_calls, planned, ran.results)
        if ran.nudged is not None:
            turn.let_go = ran.nudged.leaving
            self.counters.handovers += ran.nudged.leaving
            apply(turn, ran.nudged)
        if not ran.results or turn.chat.history != history:
            return False  # nothing to say, or no call to answer: an edit took the calls away
        step = CommitStep((MessageBody(role=Role.TOOL, parts=ran.results),))
        return await self._commits.commit(turn, step, *self._commits.follow_up(turn, step))

    async def _go_on(self, turn: Turn) -> bool:
        """Keep what the model of a dead worker had said, and go on from there (L153); False if the
        step is to be made anew."""
        prompt = await self._prompt(turn)
        said = await self._takeover.text(turn) if prompt.cuts < CUTS_MAX else None
        turn.left = ()
        if said is None:
            return False
        self.counters.continued += 1
        turn.keeps_words = True
        step = CommitStep((self._replies.partial(turn, said, Ending.CUT),))
        await self._commits.commit(turn, step, *self._commits.follow_up(turn, step))
        return True

    # Interrupts.

    async def _keep_partial(self, turn: Turn) -> bool:
        """Store whatever a reader may have seen, and finish (M4)."""
        self.counters.interrupts += 1
        if turn.chat.open_calls:
            await self._stop_inherited(turn)
            return await self._commits.commit(turn, *self._in_doubt(turn), FinishInterrupt())
        if turn.tools.sections is None:  # our runner did not come so far as to look
            await self._stop_void(turn)
        said = await self._said(turn)
        if said is None or not said.parts:
            return await self._commits.commit(turn, FinishInterrupt())
        partial = self._replies.partial(turn, said, Ending.INTERRUPTED)
        return await self._commits.commit(turn, FinishInterrupt((partial,)))

    async def _stop_inherited(self, turn: Turn) -> None:
        """What a call of a dead worker runs elsewhere may go on, or be started yet by a worker that
        was only frozen: nothing of it does once the interrupt is finished (X2)."""
        await self._end_calls(turn, _inherited(turn))

    async def _stop_void(self, turn: Turn) -> None:
        """What an edit hid from a worker that was dead, or frozen: only this ends it (X2). The
        owner of a chat does so by itself; then this finds it ended."""
        edited = (await self._prompt(turn)).edited
        if edited is None:
            return
        chat_id = turn.chat.chat_id
        calls = await self._commits.patiently(
            turn, lambda: self._reading.void_calls(chat_id, edited)
        )
        await self._end_calls(turn, calls)

    async def _end_calls(self, turn: Turn, calls: tuple[OpenCall, ...]) -> None:
        if not calls:
            return
        try:
            toolbox = await self._toolbox(turn)
        except Exception:
            log.exception("tools: toolbox of chat %s failed to open", turn.chat.chat_id)
            self.counters.tool_bugs += 1
            return
        await self._runs.stop(turn, toolbox, calls)

    def _in_doubt(self, turn: Turn) -> tuple[CommitStep, ...]:
        """Calls that a dead worker may have started: «cancelled» would be a guess (X1)."""
        doubtful = tuple(
            synthetic_result(call, Synthetic.UNKNOWN_OUTCOME) for call in _inherited(turn)
        )
        self.counters.unknown_outcomes += len(doubtful)
        return (CommitStep((MessageBody(role=Role.TOOL, parts=doubtful),)),) if doubtful else ()

    async def _said(self, turn: Turn) -> UncommittedReply | None:
        """From memory if we heard it; from the bus if a worker heard it that is gone."""
        if turn.episode == turn.inherited and turn.chat.attempt > 0:
            return await self._takeover.said(turn, turn.episode)
        if turn.left:  # acquired a moment ago, and nothing was said since
            return await self._takeover.text(turn)
        return turn.said_here()

    # What a turn keeps.

    async def _prompt(self, turn: Turn) -> Prompt:
        if turn.prompt is None or not turn.prompt.fits(turn.chat):
            chat = turn.chat
            turn.prompt = await self._commits.patiently(
                turn,
                lambda: self._reading.prompt(
                    chat,
                    page_messages_max=self._options.page_messages_max,
                    bytes_max=self._replies.prompt_bytes_max(chat),
                ),
            )
        return turn.prompt

    async def _toolbox(self, turn: Turn) -> Toolbox:
        """Opened when first needed, closed with the turn."""
        opened = turn.tools
        if opened.toolbox is None:
            opening = self._tools.open(ToolContext(turn.chat))
            opened.toolbox = await _entered(turn, opening)
            opened.stack.push_async_callback(self._close, opening)
        return opened.toolbox

    async def _introduced(self, turn: Turn) -> Toolbox:
        """The toolbox, and what it says of itself to the model: once, the same for the turn."""
        toolbox, opened = await self._toolbox(turn), turn.tools
        if opened.sections is None:
            opened.sections = ()
            await self._stop_void(turn)
            try:
                opened.sections = tuple(await toolbox.sections())
            except Exception:
                log.exception(
                    "tools: toolbox of chat %s failed to describe itself", turn.chat.chat_id
                )
                self.counters.tool_bugs += 1
        return toolbox

    async def _close(self, opened: AbstractAsyncContextManager[Toolbox]) -> None:
        """What a toolbox stumbles over on its way out is no matter of a turn that is committed."""
        try:
            await opened.__aexit__(None, None, None)
        except Exception:
            log.exception("tools: a toolbox failed to close")
            self.counters.tool_bugs += 1

    async def _fail_by_our_fault(self, turn: Turn) -> bool:
        """A defined status whatever happened (L55). If it was the words themselves that could not
        be stored, without them."""
        try:
            return await self._replies.fail(turn, OUR_FAULT)
        except ChatChanged:
            return False
        except (FenceStale, Unavailable, FormatUnknown):
            raise
        except Exception:
            log.exception("turn: partial reply of chat %s could not be saved", turn.chat.chat_id)
            return await self._commits.commit(turn, Fail(OUR_FAULT))


async def _entered(turn: Turn, opening: AbstractAsyncContextManager[Toolbox]) -> Toolbox:
    """Raises `ChatChanged` if a nudge comes first: an interrupt waits for no source."""
    if turn.interrupting or turn.nudges.leaving:
        return await opening.__aenter__()  # to stop calls, or to hand them over

    async def cut_off() -> None:
        await turn.nudges.wait()
        scope.reschedule(asyncio.get_running_loop().time())

    scope = asyncio.timeout(None)  # a cancel scope: the task that opens a toolbox also closes it
    try:
        async with scope:
            watching = turn.tools.group.create_task(cut_off())
            try:
                return await opening.__aenter__()
            finally:
                watching.cancel()
    except TimeoutError:
        if scope.expired():
            raise ChatChanged from None
        raise


def _inherited(turn: Turn) -> tuple[OpenCall, ...]:
    """Open calls that a worker before us may have started."""
    return tuple(
        call
        for call in turn.chat.open_calls
        if call.epoch < turn.chat.epoch and call.needs is Need.NOTHING
    )
