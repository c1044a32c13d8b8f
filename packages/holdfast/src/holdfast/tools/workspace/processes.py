"""Processes that keep running after the call that started them: look, write, signal."""

from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from holdfast.ports.tools import Effect, Run, ToolOutput, looks
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.execute import DEADLINE_S, TIMEOUT_S_MAX
from holdfast.tools.workspace.offer import Arguments, NoArguments, offer
from holdfast.tools.workspace.texts import listed, outcome
from holdfast.tools.workspace.watching import Watched
from holdfast_agent.wire import Input, Signal

NAME: Final = "Process id such as `p1`."
ALL: Final = -1


class ProcessOutput(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    timeout_s: float = Field(
        default=0,
        ge=0,
        le=TIMEOUT_S_MAX,
        description="Seconds to wait, default 0, at most 600.",
    )
    until: Literal["exit", "output"] = Field(
        default="exit",
        description="`exit` (default) or `output` (also return when new output appears).",
    )
    after: int = Field(
        default=ALL,
        ge=ALL,
        description="Return only output after this byte offset, given as `next` in the previous "
        "result.",
    )


async def _output(binding: Binding, run: Run, asked: ProcessOutput) -> ToolOutput:
    watched = Watched(binding, asked.process, run.emit)
    if asked.after == ALL:
        seen = await watched.wait(asked.timeout_s, until=asked.until)
    else:
        seen = await watched.wait_after(asked.after, asked.timeout_s, until=asked.until)
    line = f"{seen.process.id}: {outcome(seen.process)}; next={seen.end}"
    # The look itself did not fail, whatever it shows.
    return replace(seen.reported(line, run.output_bytes_max), failed=False)


class ProcessInput(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    text: str = Field(
        default="", max_length=256 * 1024, description="Exact text; end a line with `\\n`."
    )
    close: bool = Field(default=False, description="Close stdin afterwards.")


async def _input(binding: Binding, run: Run, asked: ProcessInput) -> ToolOutput:  # noqa: ARG001
    given = Input(text=asked.text, close=asked.close)
    process = await binding.once(
        lambda agent: agent.write_input(binding.chat_id, asked.process, given)
    )
    closed = " and closed stdin" if asked.close else ""
    return ToolOutput(f"{process.id}: wrote {len(asked.text)} characters{closed}")


class ProcessSignal(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    signal: Literal["TERM", "INT", "KILL", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT"] = Field(
        default="TERM",
        description="TERM (default), INT (Ctrl-C), KILL forces it to exit.",
    )


async def _signal(binding: Binding, run: Run, asked: ProcessSignal) -> ToolOutput:  # noqa: ARG001
    signal = Signal(name=asked.signal)
    process = await binding.once(lambda agent: agent.signal(binding.chat_id, asked.process, signal))
    return ToolOutput(
        f"{process.id}: sent {asked.signal}. Call process_output to see whether it exited."
    )


async def _list(binding: Binding, run: Run, asked: NoArguments) -> ToolOutput:  # noqa: ARG001
    found = await binding.use(lambda agent: agent.processes(binding.chat_id))
    return ToolOutput(listed(found.processes))


PROCESSES: Final = (
    offer(
        "process_output",
        """Get the state and output of a process started by execute. To wait, set timeout_s; do not
        poll.""",
        ProcessOutput,
        _output,
        effect=Effect.REPEATABLE,
        reads_only=True,
        deadline_s=DEADLINE_S,
        in_plan_mode=looks,
    ),
    offer(
        "process_input",
        """Write to stdin of a process started with stdin=true. Read its answer with
        process_output.""",
        ProcessInput,
        _input,
        effect=Effect.ONCE,
        foreign=False,
        runs=True,
    ),
    offer(
        "process_list",
        """List the processes of this chat with id, state and command: all running ones and the last
        200.""",
        NoArguments,
        _list,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
    offer(
        "process_signal",
        """Send a signal to a process and its children.""",
        ProcessSignal,
        _signal,
        effect=Effect.ONCE,
        foreign=False,
    ),
)
