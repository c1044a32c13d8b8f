"""`execute`: a command in the workspace, started once however many servers ask for it.

The agent knows a process by the key of its call. A server that takes over asks for the same key and
joins what runs, or gets the result of what has ended meanwhile. If the agent died, or the workspace
was made anew with an empty journal, the outcome is unknown, and the model is told so (X1, L145).
"""

from dataclasses import dataclass
from typing import Final

from pydantic import Field

from holdfast.adapters.workspaces.client import AgentClient, AgentRefused
from holdfast.domain.errors import Unavailable
from holdfast.ports.tools import Effect, Run, ToolOutput
from holdfast.ports.workspaces import WorkspaceUnusable
from holdfast.tools.workspace.binding import Binding, agent_key
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.shell import without_ampersand
from holdfast.tools.workspace.texts import outcome
from holdfast.tools.workspace.watching import Seen, Watched
from holdfast_agent.wire import FaultCode, Process, Start, State

WAIT_S: Final = 60.0
WAIT_S_MAX: Final = 600.0
DEADLINE_S: Final = WAIT_S_MAX + 60.0
GLANCE_S: Final = 0.3
"""What is started in the background and fails at once is better told than found out later."""

STILL: Final = (
    "still running after {seconds:g} s as process {id}. It goes on: wait for it with "
    "process_output, or end it with process_signal. Output so far:"
)
BACKGROUND: Final = "started in the background as process {id}"
LOST: Final = (
    "Outcome unknown: the workspace's agent restarted while this command ran, and took it along. "
    "It may have taken effect wholly, in part, or not at all. Look at what is there before you run "
    "it again."
)
MADE_ANEW: Final = (
    "Outcome unknown: the workspace was made anew since this command was asked for. It may have "
    "run in the old one, and may have taken effect outside of it. Look before you run it again."
)
NO_DATABASE: Final = "The server could not reach its database."
CUT_OFF: Final = (
    "Outcome unknown: {why} The command may have been started, and may have taken effect. Once the "
    "workspace can be reached, look with process_list before you run it again."
)


class Execute(Arguments):
    command: str = Field(
        min_length=1,
        max_length=256 * 1024,
        description="What to run, one line or several, by `sh -c`. The command has no terminal and "
        "cannot ask questions: pass flags such as `-y`. Ending in `&` is the same as "
        "background=true. Longer than 120 KiB: write a file and run that.",
    )
    cwd: str = Field(
        default="",
        max_length=4096,
        description="The folder to run it in, relative to the workspace's. Empty: the workspace.",
    )
    wait_s: float = Field(
        default=WAIT_S,
        ge=0,
        le=WAIT_S_MAX,
        description="Seconds to wait for its end, 600 at most. What takes longer goes on as a "
        "process such as `p1`: wait for it with process_output.",
    )
    background: bool = Field(
        default=False,
        description="True: do not wait. For servers and whatever runs long; it ends with the "
        "workspace, or by process_signal.",
    )
    input: bool = Field(
        default=False,
        description="True: keep its standard input open for process_input. False: it is empty.",
    )


async def _execute(binding: Binding, run: Run, asked: Execute) -> ToolOutput:
    promoted = without_ampersand(asked.command)
    start = Start(
        command=asked.command if promoted is None else promoted,
        cwd=asked.cwd,
        input="open" if asked.input else "none",
        background=asked.background or promoted is not None,
    )
    begun = _Begun(run.again)
    try:
        return await _run(binding, run, start, asked.wait_s, begun)
    except (WorkspaceUnusable, Unavailable) as error:
        if not begun.maybe:
            raise
        why = NO_DATABASE if isinstance(error, Unavailable) else error
        return ToolOutput(CUT_OFF.format(why=why), unknown=True)


class _Forgotten(Exception):
    """The command may have been started where this agent's journal cannot tell."""


@dataclass(slots=True)
class _Begun:
    """Whether it may have been started: by this server, or by one before it."""

    maybe: bool


async def _run(
    binding: Binding, run: Run, start: Start, wait_s: float, begun: _Begun
) -> ToolOutput:
    key = agent_key(run.key)

    async def ask(agent: AgentClient) -> Process:
        if begun.maybe:
            await binding.hear_of(agent)
            if run.place is None or run.place != binding.place:
                return await _joined(agent, binding.chat_id, key)
        begun.maybe = True
        return await agent.start(binding.chat_id, key, start)

    try:
        process = await binding.use(ask)
    except _Forgotten:
        return ToolOutput(MADE_ANEW, unknown=True)
    except AgentRefused as refused:
        if refused.code is not FaultCode.KEY_TAKEN:
            raise
        # Started by a server of another version, which read the same call in other words.
        process = (await binding.use(lambda a: a.look(binding.chat_id, key))).process
    if process.state is State.LOST:
        return ToolOutput(LOST, unknown=True)
    watched = Watched(binding, key, run.emit)
    seen = await watched.wait(GLANCE_S if start.background else wait_s)
    return _result(seen, wait_s, in_background=start.background)


async def _joined(agent: AgentClient, chat_id: str, key: str) -> Process:
    """What runs under this key already; nothing is started."""
    try:
        return (await agent.look(chat_id, key)).process
    except AgentRefused as refused:
        if refused.code is not FaultCode.NOT_FOUND:
            raise
        raise _Forgotten from refused


def _result(seen: Seen, wait_s: float, *, in_background: bool) -> ToolOutput:
    process = seen.process
    match process.state:
        case State.LOST:
            return ToolOutput(LOST, unknown=True)
        case State.RUNNING if in_background:
            line = BACKGROUND.format(id=process.id)
        case State.RUNNING:
            line = STILL.format(seconds=wait_s, id=process.id)
        case _:
            line = outcome(process)
    return seen.reported(line)


EXECUTE: Final = offer(
    "execute",
    """Run a shell command in the workspace and wait for it. You get its exit code and its output,
    standard error included; of long output the first and the last 16 KiB, so write to a file what
    you need whole. Each call is a new shell: `cd` and variables do not last. What it leaves running
    ends with it; start that with background=true. git runs no hooks: `git -c
    core.hooksPath=.git/hooks commit` does.""",
    Execute,
    _execute,
    effect=Effect.KEYED,
    deadline_s=DEADLINE_S,
)
