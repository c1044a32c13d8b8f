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
from holdfast.ports.tools import Effect, Run, ToolOutput, looks
from holdfast.ports.workspaces import WorkspaceUnusable
from holdfast.tools.workspace.binding import Binding, agent_key
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.shell import without_ampersand
from holdfast.tools.workspace.texts import outcome
from holdfast.tools.workspace.watching import Seen, Watched
from holdfast_agent.wire import FaultCode, Process, Start, State

TIMEOUT_S: Final = 120.0
TIMEOUT_S_MAX: Final = 600.0
DEADLINE_S: Final = TIMEOUT_S_MAX + 60.0
GLANCE_S: Final = 0.3
"""A command that is started in the background and fails at once is reported with its exit code."""

STILL: Final = (
    "Still running after {seconds:g} s as {id}: wait with process_output, or end it with "
    "process_signal"
)
BACKGROUND: Final = "Started in the background as {id}"
LOST: Final = (
    "Outcome unknown: the workspace agent restarted and the command was killed. It may have partly "
    "run. Check before repeating."
)
MADE_ANEW: Final = (
    "Outcome unknown: the workspace was created again since this command was requested. It may "
    "have run in the old workspace, with effects outside it. Check before repeating."
)
NO_DATABASE: Final = "The server could not reach its database."
CUT_OFF: Final = (
    "Outcome unknown: {why} The command may have been started. When the workspace can be reached, "
    "check with process_list before repeating."
)


class Execute(Arguments):
    command: str = Field(
        min_length=1, max_length=256 * 1024, description="Shell command, one or more lines."
    )
    description: str = Field(
        default="",
        max_length=1000,
        description="What it does, 3 to 8 words, shown to the user.",
    )
    cwd: str = Field(
        default="",
        max_length=4096,
        description="Directory relative to the workspace; default: the workspace.",
    )
    timeout_s: float = Field(
        default=TIMEOUT_S,
        ge=0,
        le=TIMEOUT_S_MAX,
        description="Seconds to wait, default 120, at most 600.",
    )
    background: bool = Field(default=False, description="Return at once and keep it running.")
    stdin: bool = Field(default=False, description="true keeps stdin open for process_input.")


async def _execute(binding: Binding, run: Run, asked: Execute) -> ToolOutput:
    promoted = without_ampersand(asked.command)
    start = Start(
        command=asked.command if promoted is None else promoted,
        cwd=asked.cwd,
        input="open" if asked.stdin else "none",
        background=asked.background or promoted is not None,
    )
    begun = _Begun(run.again)
    try:
        return await _run(binding, run, start, asked.timeout_s, begun)
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
    binding: Binding, run: Run, start: Start, timeout_s: float, begun: _Begun
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
    seen = await watched.wait(GLANCE_S if start.background else timeout_s)
    line = _line(seen, timeout_s, in_background=start.background)
    if line is None:
        return ToolOutput(LOST, unknown=True)
    return seen.reported(line, run.output_bytes_max)


async def _joined(agent: AgentClient, chat_id: str, key: str) -> Process:
    """What runs under this key already; nothing is started."""
    try:
        return (await agent.look(chat_id, key)).process
    except AgentRefused as refused:
        if refused.code is not FaultCode.NOT_FOUND:
            raise
        raise _Forgotten from refused


def _line(seen: Seen, timeout_s: float, *, in_background: bool) -> str | None:
    """None: it is unknown how far it came."""
    process = seen.process
    match process.state:
        case State.LOST:
            return None
        case State.RUNNING if in_background:
            return BACKGROUND.format(id=process.id)
        case State.RUNNING:
            return STILL.format(seconds=timeout_s, id=process.id)
        case _:
            return outcome(process)


EXECUTE: Final = offer(
    "execute",
    """Run a shell command in the workspace and return its exit code and combined stdout and stderr.
    Every call is a new shell: use `cwd` instead of `cd`; variables do not persist. Stdin is empty
    and prompts cannot be answered, so pass flags such as `-y`. If the command is still running
    after `timeout_s`, it keeps running and you get a process id: wait with process_output. Use
    background=true for servers and watchers, never `&` or nohup: child processes are killed when
    the command exits. Long output is shortened in the middle; the result names the file with all of
    it. git runs no hooks; to run them: `git -c core.hooksPath=.git/hooks commit`.""",
    Execute,
    _execute,
    effect=Effect.KEYED,
    runs=True,
    deadline_s=DEADLINE_S,
    in_plan_mode=looks,  # the model is told to look only: no rule can tell from a command
)
