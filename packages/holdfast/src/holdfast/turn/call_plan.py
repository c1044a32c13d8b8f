"""Which open calls are run, and which are answered without a run.

It is decided from committed rows, the toolbox and the rules alone:

- a call of our own epoch is run: no worker can have started it before us;
- a call of an older epoch may have been started by a dead worker: a repeatable one is run again, a
  keyed one joins what runs already, and any other is answered with «outcome unknown» (X1, L116);
- an exclusive call beside others, or a call of a tool that is not offered, is answered with an
  error; in the first case the others are skipped (L111);
- a call that is not what was approved, or that a rule has come to deny, is answered with that (X4).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from holdfast.domain.chat import OpenCall
from holdfast.domain.messages import CallFate, InheritedCall
from holdfast.domain.parts import Synthetic, ToolCall, ToolResult
from holdfast.domain.synthetic import synthetic_result
from holdfast.ports.tools import Effect, Toolbox, ToolSpec
from holdfast.turn.call_policy import refusal_to_run
from holdfast.turn.prompt import Prompt
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.turn import Turn

UNKNOWN_TOOL: Final = (
    "There is no tool called {tool!r}. Nothing was run. Available tools, nearest name first: "
    "{names}."
)
NO_TOOLS: Final = "There is no tool called {tool!r}, and this chat has no tools. Nothing was run."
NOT_ALONE: Final = (
    "Nothing was run: {tool} must be called alone, and this reply called {number} tools at once. "
    "Call it again as the only tool of a reply, before the others."
)
SKIPPED: Final = (
    "Skipped, nothing was run: {tools} was called in the same reply, and must be called alone. "
    "Call this tool again in a later reply, if it is still needed."
)
LOST: Final = "Nothing was run: the call itself could not be found."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is answered without a run, and what is run."""

    answers: tuple[ToolResult, ...]
    runs: tuple["PlannedCall", ...]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    call: ToolCall
    spec: ToolSpec
    asked: OpenCall
    again: bool


def plan(
    turn: Turn, prompt: Prompt, toolbox: Toolbox, calls: Sequence[OpenCall], rules: StepPolicy
) -> Plan:
    """Decide about each open call. Looks only at committed rows, the toolbox and the rules."""
    answers: list[ToolResult] = []
    runs: list[PlannedCall] = []
    for open_call in calls:
        beside = prompt.asked_beside(open_call)
        call = next((call for call in beside if call.call_id == open_call.call_id), None)
        spec = toolbox.specs.get(open_call.tool)
        exclusive = [
            c.tool for c in beside if c.tool in toolbox.specs and toolbox.specs[c.tool].exclusive
        ]
        older = open_call.epoch < turn.chat.epoch
        if call is None:
            answers.append(failed_result(open_call, LOST))
        elif exclusive and len(beside) > 1:
            answers.append(failed_result(open_call, _not_alone(open_call, exclusive, len(beside))))
        elif older and (spec is None or spec.effect is Effect.ONCE):
            answers.append(synthetic_result(open_call, Synthetic.UNKNOWN_OUTCOME))
        elif spec is None:
            answers.append(failed_result(open_call, unknown_tool(open_call.tool, toolbox.specs)))
        elif refusal := refusal_to_run(open_call, call, spec, rules, turn.chat):
            # «Not run» would be a guess about a call that a worker may have started.
            doubtful = synthetic_result(open_call, Synthetic.UNKNOWN_OUTCOME)
            answers.append(doubtful if older else refusal)
        else:
            runs.append(PlannedCall(call, spec, open_call, again=older))
    return Plan(tuple(answers), tuple(runs))


def _not_alone(call: OpenCall, exclusive: Collection[str], number: int) -> str:
    """One sentence for the tool that must be called alone, another for each call beside it."""
    if call.tool in exclusive:
        return NOT_ALONE.format(tool=call.tool, number=number)
    return SKIPPED.format(tools=", ".join(sorted(set(exclusive))))


def unknown_tool(tool: str, known: Collection[str]) -> str:
    """The refusal of a call of a tool that is not offered, with the names of those that are."""
    name = tool[:200]
    if not known:
        return NO_TOOLS.format(tool=name)
    near = get_close_matches(name, known, n=len(known), cutoff=0.4)
    others = sorted(set(known).difference(near))
    return UNKNOWN_TOOL.format(tool=name, names=", ".join([*near, *others]))


def inherited_calls(
    open_calls: Sequence[OpenCall], planned: Plan, results: Sequence[ToolResult]
) -> tuple[InheritedCall, ...]:
    """What became of each call that lost workers left open. `results`: of the calls that came to
    their end."""
    runs = {run.call.call_id: run for run in planned.runs}
    unknown = {r.call_id for r in results if r.synthetic is Synthetic.UNKNOWN_OUTCOME}
    return tuple(
        InheritedCall(
            call.call_id,
            call.tool,
            _fate(runs.get(call.call_id), is_unknown=call.call_id in unknown),
        )
        for call in open_calls
    )


def _fate(run: PlannedCall | None, *, is_unknown: bool) -> CallFate:
    if is_unknown:
        return CallFate.UNKNOWN
    if run is None or not run.again:
        return CallFate.NOT_STARTED
    return CallFate.JOINED if run.spec.effect is Effect.KEYED else CallFate.REPEATED


def failed_result(call: OpenCall | ToolCall, words: str) -> ToolResult:
    return ToolResult(call.call_id, call.tool, words, failed=True)
