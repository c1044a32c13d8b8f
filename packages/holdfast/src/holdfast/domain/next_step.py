"""`next_step(chat) → Step`: what a worker does next, from committed facts alone.

The transcript is the journal: nothing is replayed. A crash anywhere means that another worker asks
again and gets the same answer.

Every step says two things about itself, so that neither the driver nor the commits know its kind:

- `begins_attempt`: an attempt at it is counted before it is made, and their number is bounded (P3);
- `is_let_go`: a worker that stops leaves it to the next worker.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias

from holdfast.domain.chat import Chat, OpenCall, Status
from holdfast.domain.commands import Await, FinishInterrupt, FinishTurn, FromWorker
from holdfast.domain.parts import Need

DeadlineOf: TypeAlias = Callable[[Need], datetime | None]
"""How long a chat waits for what it needs; None: without a bound."""


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask the model for a reply."""

    begins_attempt: ClassVar[bool] = True
    is_let_go: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RunTools:
    calls: tuple[OpenCall, ...]

    begins_attempt: ClassVar[bool] = True
    is_let_go: ClassVar[bool] = False  # what may have been started is handed over, or finished


@dataclass(frozen=True, slots=True)
class Compact:
    """Ask the model where things stand, and mark it as the boundary of the prompt."""

    begins_attempt: ClassVar[bool] = True
    is_let_go: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class AwaitOutside:
    """Release the chat until a person or a client has answered these calls."""

    kind: Need
    calls: tuple[OpenCall, ...]

    begins_attempt: ClassVar[bool] = False
    is_let_go: ClassVar[bool] = False

    def command(self, deadline: datetime | None) -> Await:
        return Await(self.kind, tuple(call.call_id for call in self.calls), deadline)


@dataclass(frozen=True, slots=True)
class Finish:
    begins_attempt: ClassVar[bool] = False
    is_let_go: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class KeepPartial:
    """Store what was said before the interrupt, and finish."""

    begins_attempt: ClassVar[bool] = False
    is_let_go: ClassVar[bool] = False


Step: TypeAlias = Generate | RunTools | Compact | AwaitOutside | Finish | KeepPartial


def next_step(chat: Chat) -> Step:
    assert chat.status in {Status.RUNNING, Status.INTERRUPTING}, (
        f"nothing to do while {chat.status}"
    )
    if chat.status is Status.INTERRUPTING:
        return KeepPartial()
    if chat.open_calls:
        return _answer_calls(chat.open_calls)
    if chat.compaction_requested:
        return Compact()
    return Generate() if chat.owes_reply else Finish()


def riding_command(step: Step, deadline_of: DeadlineOf) -> FromWorker | None:
    """The command that does all of a step right after another one, so that the commit of that one
    can carry it. None: the step takes work."""
    match step:
        case Finish():
            return FinishTurn()
        case KeepPartial():  # what was said is in the commit that carries this
            return FinishInterrupt()
        case AwaitOutside(kind):
            return step.command(deadline_of(kind))
        case _:
            return None


def _answer_calls(open_calls: tuple[OpenCall, ...]) -> RunTools | AwaitOutside:
    """Gates first, so that nothing runs beside a call that may yet be denied; people last."""
    for need in (Need.APPROVAL, Need.LOGIN):
        if gated := tuple(call for call in open_calls if call.needs is need):
            return AwaitOutside(need, gated)
    if ours := tuple(call for call in open_calls if call.needs is Need.NOTHING):
        return RunTools(ours)
    first = open_calls[0].needs
    return AwaitOutside(first, tuple(call for call in open_calls if call.needs is first))
