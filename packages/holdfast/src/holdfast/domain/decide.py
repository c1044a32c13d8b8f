"""`decide(facts, command, now) → Outcome`: pure, and the only way a chat changes.

Lawfulness is read from `TRANSITIONS` and nowhere else; the handlers in `people` and `driving` say
what a lawful command does. A bundle of commands is decided as a whole and carries one new version.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.domain import commands as c
from holdfast.domain import driving, people
from holdfast.domain.chat import Facts
from holdfast.domain.draft import Draft
from holdfast.domain.errors import NotLawful
from holdfast.domain.outcome import Outcome
from holdfast.domain.transitions import TRANSITIONS

_Handler = Callable[[Draft, Any, datetime], None]

_HANDLERS: Mapping[type[c.Command], _Handler] = {
    c.Create: people.create,
    c.Fork: people.fork,
    c.SendMessage: people.send_message,
    c.EditMessage: people.edit_message,
    c.Interrupt: people.interrupt,
    c.Retry: people.retry,
    c.TakeQueued: people.take_queued,
    c.DeleteQueued: people.delete_queued,
    c.MoveQueued: people.move_queued,
    c.PromoteQueued: people.promote_queued,
    c.SubmitResults: people.submit_results,
    c.Decide: people.decide_call,
    c.DeclareTools: people.declare_tools,
    c.RequestCompaction: people.request_compaction,
    c.Archive: people.archive,
    c.Unarchive: people.unarchive,
    c.Restore: people.restore,
    c.BeginAttempt: driving.begin_attempt,
    c.CommitStep: driving.commit_step,
    c.RecordRetry: driving.record_retry,
    c.Await: driving.await_outside,
    c.ExpireAwait: driving.expire_await,
    c.FinishTurn: driving.finish_turn,
    c.FinishInterrupt: driving.finish_interrupt,
    c.Fail: driving.fail,
}


def decide(facts: Facts, command: c.Command, now: datetime) -> Outcome:
    """What one command changes, or a `CommandRefused` that says why nothing does."""
    return decide_all(facts, (command,), now)


def decide_all(facts: Facts, commands: Sequence[c.Command], now: datetime) -> Outcome:
    """What a bundle of commands changes: all of them, or nothing."""
    draft = Draft(facts)
    for command in commands:
        draft.command = command
        lawful = TRANSITIONS.get((draft.chat.standing, type(command)))
        if lawful is None:
            raise draft.refuse(NotLawful, f"not lawful while {draft.chat.standing}")
        _HANDLERS[type(command)](draft, command, now)
        standing = draft.chat.standing
        assert standing in lawful, f"{type(command).__name__} led to {standing}, not to {lawful}"
    return draft.outcome()
