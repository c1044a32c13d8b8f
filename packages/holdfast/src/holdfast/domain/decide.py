"""`decide(facts, command, now) → Outcome`: pure, and the only way a chat changes.

Lawfulness is read from `TRANSITIONS` and nowhere else; the handlers in `people` and `driving` say
what a lawful command does. A bundle of commands is decided as a whole and carries one new version.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from holdfast.domain import commands as c
from holdfast.domain import driving, people
from holdfast.domain.chat import Facts, Standing
from holdfast.domain.draft import Draft
from holdfast.domain.errors import NotLawful
from holdfast.domain.outcome import Outcome
from holdfast.domain.transitions import TRANSITIONS

_WHY_NOT: Final[Mapping[Standing, str]] = {
    Standing.ABSENT: "The chat does not exist.",
    Standing.IDLE: "The chat is idle: no turn is running, and none has failed.",
    Standing.RUNNING: "A turn is running. Wait until it ends, or interrupt it first.",
    Standing.INTERRUPTING: "The turn is being interrupted. Wait until it has ended.",
    Standing.AWAITING: "The chat waits for tool results or approvals. Give them, or interrupt it.",
    Standing.FAILED: "The last turn failed. Retry it, or send a message.",
    Standing.ARCHIVED: "The chat is archived. Unarchive it first.",
}
"""For people: why a command is not lawful, and what to do."""

QueueCommand: TypeAlias = (
    c.TakeQueued | c.MoveQueued | c.PromoteQueued | c.ResumeQueue | c.ClearQueue
)


def decide(facts: Facts, command: c.Command, now: datetime) -> Outcome:
    """What one command changes, or a `CommandRefused` that says why nothing does."""
    return decide_all(facts, (command,), now)


def decide_all(facts: Facts, commands: Sequence[c.Command], now: datetime) -> Outcome:
    """What a bundle of commands changes: all of them, or nothing."""
    draft = Draft(facts)
    for command in commands:
        draft.begin(command)
        lawful = TRANSITIONS.get((draft.chat.standing, type(command)))
        if lawful is None:
            raise draft.refuse(NotLawful, _WHY_NOT[draft.chat.standing])
        _handle(draft, command, now)
        standing = draft.chat.standing
        assert standing in lawful, f"{type(command).__name__} led to {standing}, not to {lawful}"
    return draft.outcome()


def _handle(draft: Draft, command: c.Command, now: datetime) -> None:  # noqa: C901, PLR0912, PLR0915 - a case for each command
    match command:
        # The commands of every turn come first: cases are tried in this order.
        case c.SendMessage():
            people.send_message(draft, command, now)
        case c.CommitStep():
            driving.commit_step(draft, command, now)
        case c.FinishTurn():
            driving.finish_turn(draft, command, now)
        case c.BeginAttempt():
            driving.begin_attempt(draft, command, now)
        case c.NeedCompaction():
            driving.need_compaction(draft, command, now)
        case c.DropCompaction():
            driving.drop_compaction(draft, command, now)
        case c.RecordRetry():
            driving.record_retry(draft, command, now)
        case c.Await():
            driving.await_outside(draft, command, now)
        case c.ExpireAwait():
            driving.expire_await(draft, command, now)
        case c.FinishInterrupt():
            driving.finish_interrupt(draft, command, now)
        case c.Fail():
            driving.fail(draft, command, now)
        case c.Create():
            people.create(draft, command, now)
        case c.Fork():
            people.fork(draft, command, now)
        case c.EditMessage():
            people.edit_message(draft, command, now)
        case c.Interrupt():
            people.interrupt(draft, command, now)
        case c.Retry():
            people.retry(draft, command, now)
        case c.TakeQueued() | c.MoveQueued() | c.PromoteQueued() | c.ResumeQueue() | c.ClearQueue():
            _change_queue(draft, command, now)
        case c.SubmitResults():
            people.submit_results(draft, command, now)
        case c.Decide():
            people.decide_call(draft, command, now)
        case c.DeclareTools():
            people.declare_tools(draft, command, now)
        case c.RequestCompaction():
            people.request_compaction(draft, command, now)
        case c.Archive():
            people.archive(draft, command, now)
        case c.Unarchive():
            people.unarchive(draft, command, now)
        case c.Restore():
            people.restore(draft, command, now)
        case _:
            assert_never(command)


def _change_queue(draft: Draft, command: QueueCommand, now: datetime) -> None:
    match command:
        case c.TakeQueued():
            people.take_queued(draft, command, now)
        case c.MoveQueued():
            people.move_queued(draft, command, now)
        case c.PromoteQueued():
            people.promote_queued(draft, command, now)
        case c.ResumeQueue():
            people.resume_queue(draft, command, now)
        case c.ClearQueue():
            people.clear_queue(draft, command, now)
        case _:
            assert_never(command)
