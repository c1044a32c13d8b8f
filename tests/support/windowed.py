"""A model with a small context window and honest counts, that works through a long task.

It knows nothing but its prompt. Each step is a call of the tool `work`; the number of the last
step comes from the results in the prompt, or from the summary that stands for them. Asked for a
handover, it writes down what the instruction asks for, and forgets everything else.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson
from typing_extensions import override

from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import Context, Part, ToolCall, ToolResult
from holdfast.ports.models import NO_ROUTE, Ask, Route, TextDelta, Usage
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec, never
from holdfast.tools.toolbox import Function
from tests.support.scripted import End, Failed, Hold, Item, ScriptedStream, call, says

WINDOW_TOKENS: Final = 8_192
CONSTRAINT: Final = re.compile(r"Constraint \d+: [^\n]*")
_DONE: Final = re.compile(r"Done up to step (\d+)")
_HANDOVER: Final = "Write a handover for yourself"


def tokens_of(ask: Ask) -> int:
    """Four bytes are a token, as the simulator counts."""
    pieces = [*ask.system, *(orjson.dumps(spec.schema).decode() for spec in ask.tools)]
    pieces += [_text(part) for body in ask.history for part in body.parts]
    return sum(-(-len(piece.encode()) // 4) for piece in pieces)


def _text(part: Part) -> str:
    match part:
        case ToolCall(arguments=arguments):
            return orjson.dumps(dict(arguments)).decode()
        case ToolResult(output=output):
            return str(output)
        case _:
            return str(getattr(part, "text", ""))


def asks_for_summary(ask: Ask) -> bool:
    return _HANDOVER in _text(ask.history[-1].parts[-1])


@dataclass
class WorkingModel:
    """`step_bytes`: of what the model says with each step. `heard`: what happens beside each call
    of it, for tests that strike there. `hold`: in the middle of the first summary."""

    steps: int
    window: int | None = WINDOW_TOKENS
    step_bytes: int = 60
    summary_bytes: int = 0
    heard: Callable[[Ask], None] = lambda ask: None
    hold: Hold | None = None
    asked: list[Ask] = field(default_factory=list[Ask])
    refused: int = 0
    summaries: int = 0

    def stream(self, ask: Ask) -> ScriptedStream:
        self.asked.append(ask)
        self.heard(ask)
        total = tokens_of(ask)
        if self.window is not None and total > self.window:
            self.refused += 1
            return ScriptedStream([Failed(ErrorKind.CONTEXT_OVERFLOW, retryable=False)])
        if asks_for_summary(ask):
            self.summaries += 1
            first, *rest = self._said(self._summary(ask), total)
            held = [self.hold] if self.hold is not None and self.summaries == 1 else []
            return ScriptedStream([first, *held, *rest])
        done = last_step(ask.history)
        if done >= self.steps:
            return ScriptedStream(self._said(f"All {done} steps are done.", total))
        following = done + 1
        text = f"Step {following}. " + "I go on. " * (self.step_bytes // 9)
        return ScriptedStream(
            [
                TextDelta(0, text),
                *call(1, "work", f"w{following}", orjson.dumps({"step": following}).decode()),
                End(usage=_usage(total, text)),
            ]
        )

    def _said(self, text: str, total: int) -> list[Item]:
        middle = len(text) // 2
        return says(text[:middle], text[middle:], usage=_usage(total, text))

    def _summary(self, ask: Ask) -> str:
        """All constraints that the prompt still has, and how far the work is."""
        asked = "word for word" in _text(ask.history[-1].parts[-1])
        constraints = [*dict.fromkeys(_constraints(ask.history))] if asked else []
        done = f"Done up to step {last_step(ask.history)}."
        return "\n".join([*constraints, done, "x" * self.summary_bytes])

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None

    def context_window(self, model: str | None) -> int | None:
        return self.window

    def route(self, model: str | None) -> Route:
        return NO_ROUTE


class UnknownWindow(WorkingModel):
    """A model whose window is not known to the server. It still refuses what is longer."""

    @override
    def context_window(self, model: str | None) -> int | None:
        return None


@dataclass
class Work:
    """The tool `work`, and the steps that it has done."""

    output_bytes: int = 600
    done: list[int] = field(default_factory=list[int])

    def tool(self) -> Function:
        schema = {"type": "object", "properties": {"step": {"type": "integer"}}}
        spec = ToolSpec(
            name="work",
            description="Do a step.",
            schema=schema,
            effect=Effect.KEYED,
            foreign=False,
            sends_out=never,
        )
        return Function(spec, self._run)

    async def _run(self, run: Run) -> ToolOutput:
        step: Any = run.call.arguments["step"]
        if step not in self.done[-1:]:  # keyed: a repeat joins what was done
            self.done.append(step)
        return ToolOutput(f"Done up to step {step}.\n" + "." * self.output_bytes)


def _usage(total: int, text: str) -> Usage:
    return Usage(input=total, output=-(-len(text) // 4))


def _constraints(history: Sequence[MessageBody]) -> Iterator[str]:
    for body in history:
        for part in body.parts:
            if isinstance(part, Context):
                continue  # what the server carries by itself is not what the model kept
            yield from CONSTRAINT.findall(_text(part))


def last_step(history: Sequence[MessageBody]) -> int:
    """The last step that the prompt knows of."""
    found = [0]
    for body in history:
        for part in body.parts:
            text: Any = _text(part)
            found += [int(number) for number in _DONE.findall(text)]
    return max(found)
