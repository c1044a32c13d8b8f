"""Processes that go on after the call that started them: look, write, signal."""

from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from holdfast.ports.tools import Effect, Run, ToolOutput
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.execute import DEADLINE_S, WAIT_S_MAX
from holdfast.tools.workspace.offer import Arguments, NoArguments, offer
from holdfast.tools.workspace.texts import listed, outcome
from holdfast.tools.workspace.watching import Watched
from holdfast_agent.wire import Input, Signal

NAME: Final = "The process, such as `p1`, as execute and process_list name it."
ALL: Final = -1


class ProcessOutput(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    wait_s: float = Field(
        default=0,
        ge=0,
        le=WAIT_S_MAX,
        description="Seconds to wait, 600 at most. 0: tell how it stands now.",
    )
    until: Literal["exit", "output"] = Field(
        default="exit",
        description="What to wait for: `exit`, its end; `output`, its end or its next output.",
    )
    after: int = Field(
        default=ALL,
        ge=ALL,
        description="Only output after this byte: the number in `output up to byte …` of your "
        "last look. -1: all that is kept.",
    )


async def _output(binding: Binding, run: Run, asked: ProcessOutput) -> ToolOutput:
    watched = Watched(binding, asked.process, run.emit)
    if asked.after == ALL:
        seen = await watched.wait(asked.wait_s, until=asked.until)
    else:
        seen = await watched.wait_after(asked.after, asked.wait_s, until=asked.until)
    line = f"{seen.process.id}: {outcome(seen.process)}; output up to byte {seen.end}"
    return replace(seen.reported(line), failed=False)  # the look itself went well


class ProcessInput(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    text: str = Field(
        default="",
        max_length=256 * 1024,
        description="What to write, exactly as it is: end a line with a line break.",
    )
    close: bool = Field(
        default=False,
        description="True: close its standard input afterwards, for good.",
    )


async def _input(binding: Binding, run: Run, asked: ProcessInput) -> ToolOutput:  # noqa: ARG001
    given = Input(text=asked.text, close=asked.close)
    process = await binding.once(
        lambda agent: agent.write_input(binding.chat_id, asked.process, given)
    )
    closed = ", and closed its input" if asked.close else ""
    return ToolOutput(f"{process.id}: wrote {len(asked.text)} characters{closed}")


class ProcessSignal(Arguments):
    process: str = Field(min_length=1, max_length=200, description=NAME)
    signal: Literal["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT"] = Field(
        default="TERM",
        description="TERM asks it to end, INT is Ctrl-C, KILL ends it whether it wants or not.",
    )


async def _signal(binding: Binding, run: Run, asked: ProcessSignal) -> ToolOutput:  # noqa: ARG001
    signal = Signal(name=asked.signal)
    process = await binding.once(lambda agent: agent.signal(binding.chat_id, asked.process, signal))
    return ToolOutput(f"{process.id}: sent {asked.signal}; {outcome(process)}")


async def _list(binding: Binding, run: Run, asked: NoArguments) -> ToolOutput:  # noqa: ARG001
    found = await binding.use(lambda agent: agent.processes(binding.chat_id))
    return ToolOutput(listed(found.processes))


PROCESSES: Final = (
    offer(
        "process_output",
        """How a process of execute stands, and what it wrote: the first and the last 16 KiB. With
        wait_s it waits first; do that instead of asking again and again.""",
        ProcessOutput,
        _output,
        effect=Effect.REPEATABLE,
        reads_only=True,
        deadline_s=DEADLINE_S,
    ),
    offer(
        "process_input",
        """Write to the standard input of a process that execute started with input=true. See what
        it answers with process_output.""",
        ProcessInput,
        _input,
        effect=Effect.ONCE,
    ),
    offer(
        "process_list",
        """The processes of this chat, oldest first, with their commands: all that run, and the last
        200 at least.""",
        NoArguments,
        _list,
        effect=Effect.REPEATABLE,
        reads_only=True,
    ),
    offer(
        "process_signal",
        """Send a signal to a process and to all that it started. Whether it ended, process_output
        with wait_s tells.""",
        ProcessSignal,
        _signal,
        effect=Effect.ONCE,
    ),
)
