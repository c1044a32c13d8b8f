"""The calls of one step, run in order; their results, in call order, for one commit.

`turn.call_plan` says which calls are run at all, and `turn.call_order` which of them together.

The tasks belong to the turn, not to the step: a run that does not heed its cancellation within five
seconds (X2) holds up the end of the turn's runner, but not the interrupt.

Cancelling a run is not stopping its call. A worker that lets go, or has lost its lease, only stops
waiting: what a keyed call runs elsewhere is its successor's to join. An interrupt, an edit that
takes the call away, and a deadline end it there, too.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from typing import Final

from opentelemetry import trace

from holdfast.chats.outputs import bytes_max, fitted, storable
from holdfast.domain.chat import OpenCall
from holdfast.domain.ids import CallId
from holdfast.domain.parts import JsonValue, Synthetic, ToolCall, ToolResult
from holdfast.domain.synthetic import synthetic_result
from holdfast.ports.bus import Bus
from holdfast.ports.models import Models
from holdfast.ports.tools import (
    AskedPrompt,
    Effect,
    Emit,
    ModelUse,
    Run,
    Toolbox,
    ToolOutput,
)
from holdfast.turn.call_order import count_startable
from holdfast.turn.call_plan import Plan, PlannedCall, failed_result
from holdfast.turn.counters import TurnCounters
from holdfast.turn.live import LiveReply
from holdfast.turn.options import ToolOptions, TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.recheck import Interruption, attend
from holdfast.turn.shown_output import with_shown
from holdfast.turn.turn import Turn

log: Final = logging.getLogger(__name__)
tracer: Final = trace.get_tracer(__name__)

LATE: Final = "The tool was stopped: it did not finish within {seconds:g} seconds."
RAISED: Final = "The tool failed because of a fault in the server ({kind})."
NOT_STARTED: Final = "Not started: the server restarted before this ran. It had no effect."
UNSTOPPED: Final = (
    "Outcome unknown: this call was stopped, but the server could not make sure that what it runs "
    "has ended. It may still be running."
)


@dataclass(slots=True)
class Batch:
    """The state of a step's runs."""

    waiting: deque[PlannedCall]
    running: dict["asyncio.Task[ToolResult]", tuple[PlannedCall, float]] = field(
        default_factory=dict["asyncio.Task[ToolResult]", tuple[PlannedCall, float]]
    )
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    emitted: dict[CallId, list[str]] = field(default_factory=dict[CallId, list[str]])
    """What each call wrote, as readers are shown it."""
    prompt: AskedPrompt | None = None
    uses: list[ModelUse] = field(default_factory=list[ModelUse])

    def shown(self, call_id: CallId) -> str:
        return "".join(self.emitted.get(call_id, ()))

    def startable(self, parallel_max: int) -> int:
        running = [planned.spec for planned, _ in self.running.values()]
        return count_startable(running, [each.spec for each in self.waiting], parallel_max)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """`nudged`: why not all calls have a result. `uses`: what the calls asked of models."""

    results: tuple[ToolResult, ...]
    nudged: Interruption | None = None
    uses: tuple[ModelUse, ...] = ()


class ToolRuns:
    def __init__(
        self,
        reading: TurnReader,
        bus: Bus,
        models: Models,
        options: TurnOptions,
        counters: TurnCounters,
    ) -> None:
        self._reading = reading
        self._bus = bus
        self._models = models
        self._turn_options = options
        self._options: ToolOptions = options.tools
        self._counters = counters

    async def run(
        self, turn: Turn, toolbox: Toolbox, planned: Plan, prompt: AskedPrompt | None = None
    ) -> ToolRun:
        """Run what is planned until all is answered or a nudge ends it. `prompt`: for the tools
        that read it."""
        unknown = sum(a.synthetic is Synthetic.UNKNOWN_OUTCOME for a in planned.answers)
        self._counters.unknown_outcomes += unknown
        batch = Batch(deque(planned.runs), results=list(planned.answers), prompt=prompt)
        if not planned.runs:
            return ToolRun(tuple(batch.results))
        live = LiveReply(self._bus, turn.chat, self._turn_options.live, self._counters)
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(
                    attend(turn, self._reading, pause_s=self._turn_options.pause_s)
                )
                sending = group.create_task(live.run())
                nudged = await self._until_done(turn, toolbox, batch, live, watching)
                await self._end(turn, toolbox, batch, nudged)
                watching.cancel()
                sending.cancel()
        finally:
            for task in batch.running:
                task.cancel()
            live.close()
        return ToolRun(tuple(batch.results), nudged, tuple(batch.uses))

    async def _until_done(
        self,
        turn: Turn,
        toolbox: Toolbox,
        batch: Batch,
        live: LiveReply,
        watching: "asyncio.Task[Interruption]",
    ) -> Interruption | None:
        loop = asyncio.get_running_loop()
        while batch.waiting or batch.running:
            if turn.nudges.leaving:
                return Interruption(leaving=True)
            if watching.done():
                return watching.result()
            for _ in range(batch.startable(self._options.parallel_max)):
                planned = batch.waiting.popleft()
                task = turn.tools.group.create_task(
                    self._guarded(turn, toolbox, planned, batch, live)
                )
                batch.running[task] = planned, loop.time() + planned.spec.deadline_s
            until_s = min(ends_s for _, ends_s in batch.running.values()) - loop.time()
            await asyncio.wait(
                {watching, *batch.running},
                timeout=max(0.0, until_s),
                return_when=asyncio.FIRST_COMPLETED,
            )
            self._collect(batch)
            await self._expire(turn, toolbox, batch, loop.time())
        return None

    def _collect(self, batch: Batch) -> None:
        for task in [task for task in batch.running if task.done()]:
            del batch.running[task]
            if not task.cancelled():
                self._counters.tool_failures += task.result().failed
                batch.results.append(task.result())

    async def _expire(self, turn: Turn, toolbox: Toolbox, batch: Batch, now_s: float) -> None:
        late = [task for task, (_, ends_s) in batch.running.items() if ends_s <= now_s]
        if not late:
            return
        planned = [batch.running.pop(task)[0] for task in late]
        unsure = await self._stop(turn, toolbox, late, planned)
        for each in planned:
            self._counters.tool_deadlines += 1
            self._counters.tool_failures += 1
            result = self._unsure(each) if each in unsure else _late(each)
            batch.results.append(self._with_shown(turn, batch, result))

    async def _end(
        self, turn: Turn, toolbox: Toolbox, batch: Batch, nudged: Interruption | None
    ) -> None:
        """After a nudge: stop what runs, and keep what finished all the same (L03)."""
        if nudged is None:
            return
        if nudged.leaving:
            await self._let_go(batch)
        self._collect(batch)
        tasks, planned = list(batch.running), [each for each, _ in batch.running.values()]
        if nudged.leaving or nudged.chat is None or not turn.holds(nudged.chat):
            await self._cancel(tasks)
            self._collect(batch)
            return
        unsure = await self._stop(turn, toolbox, tasks, planned)
        self._collect(batch)
        answered = {result.call_id for result in batch.results}
        # A call that wrote nothing is closed by the end of the interrupt.
        stopped = [
            self._unsure(each)
            if each in unsure
            else synthetic_result(each.asked, Synthetic.INTERRUPTED)
            for each in planned
            if each.call.call_id not in answered
            and (each in unsure or batch.shown(each.call.call_id))
        ]
        batch.results += [self._with_shown(turn, batch, result) for result in stopped]

    async def _let_go(self, batch: Batch) -> None:
        """A worker that lets go lets what must not happen twice finish, for a while; the rest is
        cancelled at once, and the next worker runs it again, or joins it."""
        once = {
            task
            for task, (planned, _) in batch.running.items()
            if planned.spec.effect is Effect.ONCE
        }
        await self._cancel([task for task in batch.running if task not in once])
        if once:
            await asyncio.wait(once, timeout=self._options.handover_s)
        self._not_started(batch)

    def _not_started(self, batch: Batch) -> None:
        """For our successor a call of ours is one that may have been started. These were not.

        Neither are the calls after them: they may build on what was not done. A call that a worker
        before us may have started stays open."""
        after_once = dropwhile(lambda each: each.spec.effect is not Effect.ONCE, batch.waiting)
        batch.results += [
            failed_result(planned.call, NOT_STARTED) for planned in after_once if not planned.again
        ]

    async def _stop(
        self,
        turn: Turn,
        toolbox: Toolbox,
        tasks: "Sequence[asyncio.Task[ToolResult]]",
        planned: Sequence[PlannedCall],
    ) -> list[PlannedCall]:
        """Cancel the runs and end their calls, side by side: nothing of a stopped call lives on
        (X2). Those of which that is not certain are returned.

        A run that is cancelled while it asks another machine to start something may be heard there
        after the stop: to refuse it then is the other side's part of `Toolbox.stop`.
        """
        stopping = turn.tools.group.create_task(
            self.stop(turn, toolbox, [each.asked for each in planned])
        )
        await self._cancel(tasks)
        unsure = await stopping
        return [each for each in planned if each.asked in unsure]

    async def stop(self, turn: Turn, toolbox: Toolbox, calls: Sequence[OpenCall]) -> list[OpenCall]:
        """End what these calls run, also of other workers; those that may go on are returned."""
        tasks = {
            turn.tools.group.create_task(self._is_stopped(toolbox, call)): call for call in calls
        }
        if tasks:
            await asyncio.wait(tasks)
        return [call for task, call in tasks.items() if not task.result()]

    async def _is_stopped(self, toolbox: Toolbox, call: OpenCall) -> bool:
        try:
            async with asyncio.timeout(self._options.stop_s):
                await toolbox.stop(call)
        except Exception:
            self._counters.tools_stuck += 1
            log.exception(
                "tools: call %s of %s could not be stopped and may still run",
                call.call_id,
                call.tool,
            )
            return False
        return True

    async def _cancel(self, tasks: "Sequence[asyncio.Task[ToolResult]]") -> None:
        """Cancel, and wait until they are gone from this process."""
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        _, stuck = await asyncio.wait(tasks, timeout=self._options.stop_s)
        if stuck:
            self._counters.tools_stuck += len(stuck)
            log.error("tools: %d tool runs did not end after their cancellation", len(stuck))

    async def _guarded(
        self, turn: Turn, toolbox: Toolbox, planned: PlannedCall, batch: Batch, live: LiveReply
    ) -> ToolResult:
        """One run. Whatever a tool does, it is a result and no dead turn."""
        self._counters.tool_runs += 1
        call = planned.call
        run = Run(
            chat=turn.chat,
            call=call,
            key=planned.asked.key,
            emit=self._emit(call.call_id, batch, live),
            again=planned.again,
            place=planned.asked.place,
            output_bytes_max=self.output_bytes_max(turn),
            prompt=batch.prompt if planned.spec.reads_prompt else None,
        )
        with tracer.start_as_current_span("tool") as span:
            span.set_attribute("holdfast.tool", call.tool)
            span.set_attribute("holdfast.call_id", call.call_id)
            try:
                output = await toolbox.run(run)
                if output.use is not None:
                    batch.uses.append(output.use)
                return self._result(turn, call, output)
            except asyncio.CancelledError:
                current = asyncio.current_task()
                if current is not None and current.cancelling():
                    raise
                return self._raised(call, "cancelled")  # by itself: it was not asked to
            except Exception as bug:  # foreign code: logged, counted, answered
                log.exception("tools: %s raised an exception", call.tool)
                return self._raised(call, type(bug).__name__)

    def _raised(self, call: ToolCall, kind: str) -> ToolResult:
        self._counters.tool_bugs += 1
        return failed_result(call, RAISED.format(kind=kind))

    def _emit(self, call_id: CallId, batch: Batch, live: LiveReply) -> Emit:
        left = self._options.emitted_bytes_max
        emitted = batch.emitted.setdefault(call_id, [])

        def emit(text: str) -> None:
            nonlocal left
            if left > 0:
                live.emit(call_id, text[:left])
                emitted.append(text[:left])
                left -= len(text)

        return emit

    def _result(self, turn: Turn, call: ToolCall, output: ToolOutput) -> ToolResult:
        value, was_cut = fitted(storable(output.value), self.output_bytes_max(turn))
        self._counters.cut_outputs += was_cut
        if output.unknown:
            self._counters.unknown_outcomes += 1
            return _unknown(call, value)
        return ToolResult(
            call.call_id,
            call.tool,
            value,
            failed=bool(output.failed),
            exit_code=output.exit_code,
            signal=output.signal,
            duration_ms=output.duration_ms,
            process_id=output.process_id,
            truncated=output.truncated or was_cut,
            summary_lines=output.summary_lines,
            diff=str(storable(output.diff)),
        )

    def _with_shown(self, turn: Turn, batch: Batch, result: ToolResult) -> ToolResult:
        return with_shown(result, batch.shown(result.call_id), self.output_bytes_max(turn))

    def output_bytes_max(self, turn: Turn) -> int:
        return bytes_max(
            self._models.context_window(turn.asked_model),
            self._options.output_share,
            self._options.output_bytes_max,
        )

    def _unsure(self, planned: PlannedCall) -> ToolResult:
        self._counters.unknown_outcomes += 1
        return _unknown(planned.call, UNSTOPPED)


def _late(planned: PlannedCall) -> ToolResult:
    words = LATE.format(seconds=planned.spec.deadline_s)
    return replace(failed_result(planned.call, words), timed_out=True)


def _unknown(call: ToolCall, value: JsonValue) -> ToolResult:
    return ToolResult(
        call.call_id, call.tool, value, failed=True, synthetic=Synthetic.UNKNOWN_OUTCOME
    )
