"""What must hold of compactions, whatever happens between their decision and their summary."""

from collections.abc import Sequence

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Status
from holdfast.domain.compaction import COMPACTIONS_MAX
from holdfast.domain.messages import Message, Role


def check_boundaries(history: Sequence[Message]) -> None:
    """C1: what is summarised is more than a summary."""
    said = True
    for message in history:
        if message.body.role is Role.BOUNDARY:
            assert said, "L24: a summary of nothing but a summary"
            said = False
        said |= message.body.role not in {Role.BOUNDARY, Role.SYSTEM}


def check_compaction(before: Chat, after: Chat, commands: Sequence[c.Command]) -> None:
    """C2: summaries that did not help are counted, and their number is bounded."""
    decided = after.compaction
    in_a_row = 0 if decided is None else decided.in_a_row
    assert in_a_row <= COMPACTIONS_MAX, "L17: one summary more than the bound"
    driven = after.status in {Status.RUNNING, Status.INTERRUPTING}
    assert driven or not after.compaction_requested, "L24: a request outlives its turn"
    if not before.compaction_requested and after.compaction_requested:
        assert decided is not None, "L17: a compaction without its reason"
        assert in_a_row < COMPACTIONS_MAX, "L17: the loop guard let one more begin"
    if before.compaction_requested and after.compaction_requested:
        same = before.compaction == decided or before.history == after.history
        assert same, "L24: a request came again"
    summarised = any(
        body.role is Role.BOUNDARY
        for command in commands
        if isinstance(command, c.CommitStep)
        for body in command.messages
    )
    if summarised and before.compaction is not None and before.compaction.is_automatic:
        assert in_a_row == before.compaction.in_a_row + 1, "L17: a summary was not counted"
        assert not after.compaction_requested, "L24: one request, two summaries"
        assert after.owes_reply is before.owes_reply, "L16: a summary was taken for the reply"
