"""`next_step(chat) → Step`: what a worker does next, from committed facts alone.

The transcript is the journal: nothing is replayed. A crash anywhere means that another worker asks
again and gets the same answer.
"""

from dataclasses import dataclass
from typing import TypeAlias

from holdfast.domain.chat import Chat, OpenCall, Status
from holdfast.domain.parts import Need


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask the model for a reply."""


@dataclass(frozen=True, slots=True)
class RunTools:
    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class Compact:
    pass


@dataclass(frozen=True, slots=True)
class AwaitOutside:
    kind: Need
    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    pass


@dataclass(frozen=True, slots=True)
class KeepPartial:
    """Store what was said before the interrupt, and finish."""


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


def _answer_calls(open_calls: tuple[OpenCall, ...]) -> RunTools | AwaitOutside:
    """Gates first, so that nothing runs beside a call that may yet be denied; people last."""
    for need in (Need.APPROVAL, Need.LOGIN):
        if gated := tuple(call for call in open_calls if call.needs is need):
            return AwaitOutside(need, gated)
    if ours := tuple(call for call in open_calls if call.needs is Need.NOTHING):
        return RunTools(ours)
    first = open_calls[0].needs
    return AwaitOutside(first, tuple(call for call in open_calls if call.needs is first))
