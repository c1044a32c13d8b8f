"""What the people of the model test choose from."""

from collections.abc import Sequence
from typing import Final

from holdfast.domain import commands as c
from holdfast.domain.ids import QueuedId, Seq
from holdfast.domain.messages import Message, Role
from tests.model.planning import says

STEERING: Final[tuple[c.Command, ...]] = (
    c.Interrupt(),
    c.Interrupt(),
    c.Retry("m2"),
    c.RequestCompaction(),
    c.RequestCompaction(keep="the names"),
)


def queue_commands(queued_id: QueuedId, other: QueuedId) -> tuple[c.Command, ...]:
    return (
        c.TakeQueued(queued_id),
        c.MoveQueued(queued_id, other),
        c.PromoteQueued(queued_id),
        c.ResumeQueue(),
        c.ClearQueue(),
    )


def meanwhile(number: int, history: Sequence[Message]) -> tuple[c.Command, ...]:
    """What a person may do to a chat while a worker drives it."""
    said = [m.seq for m in history if m.body.role is Role.USER]
    return (
        c.EditMessage(said[-1] if said else Seq(1), says(f"edited {number}", number)),
        c.SendMessage(says(f"meanwhile {number}", number)),
        c.SendMessage(says(f"meanwhile {number}", number), "interrupt"),
        c.Interrupt(),
    )
