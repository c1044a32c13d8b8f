"""What a turn needs of tools: which are offered, and one run of one call."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

from holdfast.domain.chat import Chat
from holdfast.domain.parts import JsonObject, JsonValue, Need, ToolCall


class Effect(StrEnum):
    """What may happen if a call is run a second time, after a crash in doubt (X1)."""

    REPEATABLE = "repeatable"  # nothing: it may run again
    KEYED = "keyed"  # the call id is the other side's idempotency key: it joins what runs already
    ONCE = "once"  # harm: it is never run again, and its outcome is reported as unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is offered to the model, and how it may be run."""

    name: str
    description: str
    schema: JsonObject = field(default_factory=dict[str, JsonValue])
    effect: Effect = Effect.ONCE
    exclusive: bool = False  # asked for beside others, none of them is run (L111)
    needs: Need = Need.NOTHING
    deadline_s: float = 600.0


Emit: TypeAlias = Callable[[str], None]
"""Shows readers a piece of what a running tool writes; never raises, never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one call. `again`: it may have been started before, by somebody who died."""

    chat: Chat
    call: ToolCall
    emit: Emit
    again: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutput:
    value: JsonValue
    failed: bool = False


class Toolbox(Protocol):
    """The tools of one turn, with whatever they keep open until its end."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]: ...

    async def run(self, run: Run) -> ToolOutput:
        """Cancellation passes through, and nothing of the run is left when it has passed (X2).

        A fault of the tool is an output that says `failed`; what is raised is our own mistake.
        """
        ...


class Tools(Protocol):
    def open(self, chat: Chat) -> AbstractAsyncContextManager[Toolbox]:
        """The toolbox of a turn."""
        ...
