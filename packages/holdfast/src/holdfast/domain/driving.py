"""What the commands of a worker do, once they are lawful."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from holdfast.domain.chat import ATTEMPTS_MAX, Awaiting, Chat, Status
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    DropCompaction,
    ExpireAwait,
    Fail,
    FinishInterrupt,
    FinishTurn,
    NeedCompaction,
    RecordRetry,
)
from holdfast.domain.compaction import COMPACTIONS_MAX
from holdfast.domain.draft import Draft
from holdfast.domain.errors import (
    AttemptsSpent,
    CallNotOpen,
    CallsUnanswered,
    CompactionSpent,
    NothingToCompact,
    NotYetExpired,
    ReplyOwed,
)
from holdfast.domain.ids import Epoch, WorkerId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Synthetic

RUNNABLE: Final = frozenset({Status.RUNNING, Status.INTERRUPTING})
"""Statuses in which a worker should be driving."""


def begun_by_acquiring(chat: Chat) -> bool:
    """Whether acquiring this chat begins an attempt at its next step, and a version with it.

    So a chat that kills its workers spends its attempts, whatever the step (P3), and a turn
    needs no statement to count its first. A chat that waits out a backoff begins none: its runner
    will, once the wait is over. An interrupt is no attempt.
    """
    return chat.status is Status.RUNNING and chat.backoff is None


def may_be_taken(outcome: Outcome) -> bool:
    """Whether what makes this chat runnable may acquire it in the same commit.

    Only of a chat at rest: no worker can have acquired it since, for that needs a version between.
    """
    before, chat = outcome.before, outcome.chat
    at_rest = before.worker_id is None and before.status not in RUNNABLE
    return at_rest and begun_by_acquiring(chat)


def taken_by(outcome: Outcome, worker_id: WorkerId) -> Outcome:
    """The same, and acquired: as if a worker did so right behind it, but in one version."""
    assert may_be_taken(outcome), "a worker may be driving it"
    chat = replace(
        outcome.chat,
        worker_id=worker_id,
        epoch=Epoch(outcome.chat.epoch + 1),
        attempt=outcome.chat.attempt + 1,
    )
    return replace(outcome, chat=chat)


def begin_attempt(draft: Draft, _command: BeginAttempt, _now: datetime) -> None:
    chat = draft.chat
    if chat.attempt - chat.attempts_forgiven >= ATTEMPTS_MAX:
        raise draft.refuse(AttemptsSpent, f"{ATTEMPTS_MAX} attempts were made at this step")
    draft.set(attempt=chat.attempt + 1, backoff=None)


def commit_step(draft: Draft, command: CommitStep, _now: datetime) -> None:
    for body in command.messages:
        _say(draft, body)
    if command.advice_max is not None:
        draft.refuse_advice(command.advice_max)


def _say(draft: Draft, body: MessageBody) -> None:
    assert body.role is not Role.USER, "a worker does not speak for a user"
    draft.say(body)


def need_compaction(draft: Draft, command: NeedCompaction, _now: datetime) -> None:
    chat = draft.chat
    if not chat.compactable:
        raise draft.refuse(NothingToCompact, "nothing was said since the last compaction")
    in_a_row = 0 if chat.compaction is None else chat.compaction.in_a_row
    if in_a_row >= COMPACTIONS_MAX:
        reason = f"{in_a_row} summaries in a row did not make the prompt short enough"
        raise draft.refuse(CompactionSpent, reason)
    if not chat.compaction_requested:  # else a person asked meanwhile: one summary is for both
        decided = replace(command.compaction, in_a_row=in_a_row)
        draft.set(compaction_requested=True, compaction=decided)


def drop_compaction(draft: Draft, _command: DropCompaction, _now: datetime) -> None:
    if draft.chat.compaction_requested:
        draft.end_compaction(dropped=True)


def record_retry(draft: Draft, command: RecordRetry, _now: datetime) -> None:
    draft.set(backoff=command.backoff)


def await_outside(draft: Draft, command: Await, _now: datetime) -> None:
    waiting = {call.call_id for call in draft.chat.open_calls if call.needs is command.kind}
    if not command.calls or not waiting.issuperset(command.calls):
        raise draft.refuse(CallNotOpen, f"no open calls that need {command.kind}")
    awaiting = Awaiting(kind=command.kind, calls=command.calls, deadline=command.deadline)
    draft.release(Status.AWAITING)
    draft.set(awaiting=awaiting)


def expire_await(draft: Draft, _command: ExpireAwait, now: datetime) -> None:
    awaiting = draft.chat.awaiting
    assert awaiting is not None, "awaiting chats say what they await"
    if awaiting.deadline is None or now < awaiting.deadline:
        raise draft.refuse(NotYetExpired, f"there is time until {awaiting.deadline}")
    draft.close_calls(Synthetic.EXPIRED, only=awaiting.calls)
    draft.resume()


def finish_turn(draft: Draft, _command: FinishTurn, _now: datetime) -> None:
    if draft.chat.open_calls:
        raise draft.refuse(CallsUnanswered, "calls are unanswered")
    if draft.chat.owes_reply:
        raise draft.refuse(ReplyOwed, "the history ends in something to answer")
    if not draft.chat.compaction_requested:  # else it came meanwhile, was accepted, and is next
        draft.end_turn()


def finish_interrupt(draft: Draft, command: FinishInterrupt, _now: datetime) -> None:
    for body in command.partial:
        _say(draft, body)
    draft.close_calls(Synthetic.INTERRUPTED)
    draft.set(owes_reply=False)
    draft.end_turn()


def fail(draft: Draft, command: Fail, _now: datetime) -> None:
    draft.release(Status.FAILED)
    draft.set(error=command.error)
