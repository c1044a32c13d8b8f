"""What a turn needs of tools: which are offered, and one run of one call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import JsonObject, JsonValue, Need, ToolCall


class Effect(StrEnum):
    """What may happen if a call is run a second time, after a crash in doubt (X1)."""

    REPEATABLE = "repeatable"  # nothing: it may run again
    KEYED = "keyed"  # the call id is the other side's idempotency key: it joins what runs already
    ONCE = "once"  # harm: it is never run again, and its outcome is reported as unknown


EditTool: TypeAlias = Literal["replace", "patch"]
"""How a model edits files: by texts to replace, or by patches."""


@dataclass(frozen=True, slots=True)
class FreeForm:
    """A tool with one argument, a text that a grammar (Lark) describes. Where a wire knows such
    tools, the model writes the text as it is, without JSON around it."""

    argument: str
    grammar: str


Judged: TypeAlias = Callable[[JsonObject], Sequence[tuple[str, JsonObject]]]
"""For each thing that a call does, another tool that does the same, and arguments for rules."""
Fault: TypeAlias = Callable[[JsonObject], str | None]
"""Words for the model about arguments that the tool cannot work with."""


PlanRule: TypeAlias = Callable[[Chat, str, JsonObject], str | None]
"""Words for the model why a call of the tool of this name is refused in plan mode; None: it is
not."""


def looks(_chat: Chat, _tool: str, _arguments: JsonObject) -> str | None:
    """The rule of tools that change nothing."""
    return None


def always() -> bool:
    return True


def never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is offered to the model, and how it may be run."""

    name: str
    description: str
    schema: JsonObject = field(default_factory=dict[str, JsonValue])
    effect: Effect = Effect.ONCE
    reads_only: bool = False
    """It changes nothing: it runs at the same time as neighbouring calls that only read. Calls of
    other tools run one at a time, in the order of the reply."""
    exclusive: bool = False  # asked for beside others, none of them is run (L111)
    reads_prompt: bool = False  # a run is given the prompt that the model had when it called
    needs: Need = Need.NOTHING
    deadline_s: float = 600.0
    normalise: Callable[[JsonObject, JsonObject], JsonObject] | None = field(
        default=None, compare=False, repr=False
    )
    """Makes arguments as models write them into those of the schema, which is its first argument.
    Approval rules, digests and the run see the result."""
    fault: Fault | None = field(default=None, compare=False, repr=False)
    """For a tool that waits for a person or a client: a call with a fault is answered with it at
    once, and nothing waits. A tool that runs here says itself what is wrong."""
    foreign: bool = True
    """Its results may hold text that neither a user nor the operator wrote (`domain.foreign`)."""
    sends_out: Callable[[], bool] = field(default=always, compare=False, repr=False)
    """Whether a call may now send data out of the chat and its workspace. Asked when a call is
    judged: a workspace says by then which network its commands have."""
    edits_as: EditTool | None = None
    """How it edits files: it is offered to models that prefer this way. None: to all."""
    free_form: FreeForm | None = None
    judged_as: Judged | None = field(default=None, compare=False, repr=False)
    """What approval rules judge in place of the call, if it does several things at once: each of
    them, also by rules about the other tool. The strictest verdict counts."""

    in_plan_mode: PlanRule | None = field(default=None, compare=False, repr=False)
    """None: not active while the chat is in plan mode."""
    plan_mode_only: bool = False

    def normalised(self, arguments: JsonObject) -> JsonObject:
        return self.normalise(self.schema, arguments) if self.normalise else arguments

    @property
    def definition(self) -> JsonObject:
        """What the model is told of it: if that changes, what was approved is another tool."""
        return {"name": self.name, "description": self.description, "schema": self.schema}


Emit: TypeAlias = Callable[[str], None]
"""Shows readers a piece of what a running tool writes; never raises, never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPrompt:
    """What the model was sent that made a call, and what it replied."""

    system: Sequence[str]
    messages: Sequence[MessageBody]
    reply: MessageBody


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What a tool asked of a model: told with the message that holds its result."""

    model: str | None
    usage: Mapping[str, int]
    cost_micros: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one call. `again`: it may have been started before, by a worker that died."""

    chat: Chat
    call: ToolCall
    key: str
    """`OpenCall.key`: what a keyed tool gives to the other side."""
    emit: Emit
    again: bool = False
    place: str | None = None
    """`OpenCall.place`: where the call may have been started before."""
    output_bytes_max: int = 32 * 1024
    """A longer text is cut in its middle. A tool that knows where to cut keeps below this."""
    prompt: AskedPrompt | None = None
    """For a tool that `reads_prompt`."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a run returns. The fields after `unknown` are those of `ToolResult`: what the value says
    to the model, for programs."""

    value: JsonValue
    failed: bool = False
    unknown: bool = False
    """It is unknown whether it took effect: the value says why, and what to do next (X1)."""
    exit_code: int | None = None
    signal: str | None = None
    duration_ms: int | None = None
    process_id: str | None = None
    truncated: bool = False
    summary_lines: int = 0
    diff: str = ""
    use: ModelUse | None = None


class Toolbox(Protocol):
    """The tools of one turn, with whatever they keep open until its end."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]: ...

    @property
    def place(self) -> str | None:
        """Names what remembers the keyed calls of these tools, for ever; None: nothing does, or it
        has not been heard of in this turn. A call is committed with it, and a run that may be the
        second one is compared with it (L145)."""
        ...

    async def sections(self) -> Sequence[str]:
        """What the model is told beside the specs, as sections of its system prompt.

        Asked for once per turn, when a model is first asked: it stays the same until its end. What
        is another text than in the turn before is told behind the user's message.
        """
        ...

    async def run(self, run: Run) -> ToolOutput:
        """Cancellation passes through, and nothing of the run is left in this process when it has
        passed. What a keyed run has started elsewhere goes on: the worker may only be releasing the
        chat, and the next one joins the run. A fault of the tool is an output that says `failed`;
        what is raised is our own mistake.
        """
        ...

    async def stop(self, call: OpenCall) -> None:
        """End whatever the call runs, whichever worker started it; returns when nothing of it is
        alive and nothing of it can be started any more (X2). Raises if that is not certain. For a
        tool that runs in this process there is nothing to do: its cancellation has passed.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a source knows of the turn that opens it. Reading it costs no statement."""

    chat: Chat
    """The chat when the toolbox is opened."""


@runtime_checkable
class Tools(Protocol):
    """A source of tools: one for all turns of a process."""

    @property
    def names(self) -> frozenset[str]:
        """Names of all tools that a toolbox of this source may offer. They are reserved: no client
        tool and no other source may have them."""
        ...

    def open(self, context: ToolContext) -> AbstractAsyncContextManager[Toolbox]:
        """The toolbox of a turn."""
        ...
