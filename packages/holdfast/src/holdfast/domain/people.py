"""What the commands of people do, once they are lawful."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from holdfast.domain.chat import Chat, OpenCall, Past, QueuedMessage, Status
from holdfast.domain.commands import (
    Archive,
    ClearQueue,
    Create,
    Decide,
    DeclareTools,
    EditMessage,
    Fork,
    Interrupt,
    MoveQueued,
    PromoteQueued,
    RequestCompaction,
    Restore,
    ResumeQueue,
    Retry,
    SendMessage,
    SubmitResults,
    TakeQueued,
    Unarchive,
)
from holdfast.domain.compaction import Compaction, CompactionReason
from holdfast.domain.draft import Draft
from holdfast.domain.errors import (
    ApprovalMismatch,
    CallNotOpen,
    NotEditable,
    NotForkable,
    NothingToCompact,
    NotLawful,
    TurnChanged,
    VersionNotFound,
)
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.outcome import Fate, ForkedHistory
from holdfast.domain.parts import Synthetic, ToolCall, ToolResult
from holdfast.domain.synthetic import denied_by_person

_NO_DIGEST: Final = (
    "a decision names the digest of the call that it is about; look it up and decide"
)
_MISMATCH: Final = "what waits is not what this digest names; look at the call again and decide"


def create(draft: Draft, command: Create, _now: datetime) -> None:
    draft.set(
        status=Status.IDLE,
        tools=command.tools,
        model=command.model,
        effort=command.effort,
        web=command.web,
        plan_mode=command.plan_mode,
    )
    draft.listed = command.listed
    for body in command.messages:
        draft.say(body)
    draft.close_calls(Synthetic.SUPERSEDED)  # a history that was brought along starts no tools
    if draft.chat.owes_reply:
        draft.run()


def fork(draft: Draft, command: Fork, _now: datetime) -> None:
    origin = draft.facts.origin
    assert origin is not None, "a fork is of something"
    source = origin.chat
    if command.at is not None and origin.last_seq != command.at:
        reason = f"message {command.at} is not in the history"
        raise NotForkable(source.chat_id, source.standing, "Fork", reason)
    cut_off = bool(_unanswered(origin.tail))
    if cut_off and command.at is not None:
        reason = f"after message {command.at} calls wait for their results"
        raise NotForkable(source.chat_id, source.standing, "Fork", reason)
    # What is in the middle of its calls is left out: the fork would never answer them (M3).
    upto = Seq(origin.reply_seq - 1) if cut_off else origin.last_seq
    messages = origin.before_reply if cut_off else origin.messages
    size = origin.bytes_before_reply if cut_off else origin.bytes
    ours = source.owner_id == draft.chat.owner_id
    taken = ForkedHistory(source.chat_id, origin.version, upto, size)
    draft.fork(taken, messages, origin.turn_seq)
    draft.set(
        status=Status.IDLE,
        compactable=bool(messages) and (cut_off or origin.tail[-1].role is not Role.BOUNDARY),
        model=source.model,
        effort=source.effort,
        web=source.web,
        plan_mode=source.plan_mode,
        tools=source.tools if ours else (),  # another user's client runs those
    )


def send_message(draft: Draft, command: SendMessage, _now: datetime) -> None:
    urgent = command.when_busy == "interrupt"
    match draft.chat.status:
        case Status.IDLE:
            draft.append_user(command.message)
            draft.run()
        case Status.FAILED if draft.chat.queue and not draft.chat.queue_paused:
            # First come, first served: what waited behind the failure goes before what comes now.
            draft.promote(draft.chat.queue[0].queued_id)
            draft.run()
            draft.enqueue(command.message, urgent=False)
        case Status.FAILED:
            draft.append_user(command.message)
            draft.run()
        case Status.AWAITING if urgent:
            draft.append_user(command.message, closing=Synthetic.INTERRUPTED)
            draft.run()
        case Status.RUNNING if urgent:
            draft.enqueue(command.message, urgent=True)
            draft.set(status=Status.INTERRUPTING, backoff=None)
        case Status.INTERRUPTING if draft.chat.queue_paused:
            # It comes after the stop, as one that is sent when the chat is at rest.
            draft.enqueue(command.message, urgent=True)
        case Status.RUNNING | Status.AWAITING | Status.INTERRUPTING:
            draft.enqueue(command.message, urgent=urgent)
        case _:
            assert_never(draft.chat.status)


def edit_message(draft: Draft, command: EditMessage, _now: datetime) -> None:
    target = draft.facts.target
    if target is None or target.seq != command.seq or target.removed:
        raise draft.refuse(NotEditable, f"message {command.seq} is not in the history")
    if target.role is not Role.USER:
        raise draft.refuse(NotEditable, f"message {command.seq} is a {target.role} message")
    draft.clear_queue()
    draft.hide_from(command.seq)
    draft.append_user(command.replacement)
    draft.run()


def interrupt(draft: Draft, command: Interrupt, _now: datetime) -> None:
    stopped = _check_turn(draft, command.turn_seq)
    match draft.chat.status:
        case Status.RUNNING:
            draft.pause_queue()
            draft.set(status=Status.INTERRUPTING, backoff=None)
        case Status.INTERRUPTING:
            draft.pause_queue()  # what was to be sent now, is not: Stop ends that, too
        case Status.AWAITING:
            draft.pause_queue()
            draft.close_calls(Synthetic.INTERRUPTED)
            draft.set(owes_reply=False, awaiting=None)
            draft.end_turn()
        case _:
            pass  # no turn runs
    draft.answer_with_turn(stopped)


def _check_turn(draft: Draft, named: Seq | None) -> Seq | None:
    """The present turn. A command that names another one came too late for it."""
    present = draft.chat.turn_seq
    if named is not None and named != present:
        reason = f"Turn {named} is over or unknown. The present turn is {present}."
        raise draft.refuse(TurnChanged, reason)
    return present


def retry(draft: Draft, command: Retry, now: datetime) -> None:
    """A failed turn begins anew; one that waits before its next attempt waits no longer."""
    chat = draft.chat
    draft.answer_with_turn(_check_turn(draft, command.turn_seq))
    draft.set(model=command.model or chat.model)
    if chat.status is Status.RUNNING:
        if chat.backoff is None:
            raise draft.refuse(NotLawful, "The turn is running: there is nothing to retry.")
        fallback = None if command.model else chat.backoff.model  # another choice ends it
        draft.set(backoff=replace(chat.backoff, delay_ms=0, until=now, model=fallback))
        return
    draft.set(attempts_forgiven=chat.attempt, compaction=None)
    draft.run()


def take_queued(draft: Draft, command: TakeQueued, _now: datetime) -> None:
    draft.leave_queue(command.queued_id, Fate.TAKEN)


def move_queued(draft: Draft, command: MoveQueued, _now: datetime) -> None:
    moving = draft.find_queued(command.queued_id)
    others = [queued for queued in draft.chat.queue if queued is not moving]
    if command.before is None:
        index = len(others)
    elif command.before == command.queued_id:
        index = draft.chat.queue.index(moving)
    else:
        index = others.index(draft.find_queued(command.before))
    # A message that was placed by hand is no longer urgent: later urgent ones go before it.
    order: list[QueuedMessage] = [*others[:index], replace(moving, urgent=False), *others[index:]]
    if order != list(draft.chat.queue):
        draft.set_queue(order)


def promote_queued(draft: Draft, command: PromoteQueued, _now: datetime) -> None:
    match draft.chat.status:
        case Status.AWAITING:
            draft.promote(command.queued_id, closing=Synthetic.INTERRUPTED)
            draft.run()
        case Status.FAILED | Status.IDLE:
            draft.promote(command.queued_id)
            draft.run()
        case _:
            promoted = draft.find_queued(command.queued_id)
            others = [queued for queued in draft.chat.queue if queued is not promoted]
            draft.set_queue([replace(promoted, urgent=True), *others])
            draft.set(status=Status.INTERRUPTING, backoff=None)


def resume_queue(draft: Draft, _command: ResumeQueue, _now: datetime) -> None:
    if not draft.chat.queue_paused:
        return
    draft.set(queue_paused=False, queue_version=draft.version)
    if draft.chat.status is Status.IDLE:
        draft.promote(draft.chat.queue[0].queued_id)
        draft.run()


def clear_queue(draft: Draft, _command: ClearQueue, _now: datetime) -> None:
    draft.clear_queue()


def submit_results(draft: Draft, command: SubmitResults, _now: datetime) -> None:
    draft.answer_with_turn(draft.chat.turn_seq)
    for result in command.results:
        _check_awaited(draft, result.call_id, gate=False)
    draft.append_results(command.results, MessageBody(role=Role.TOOL, parts=()))
    _settle(draft, [result.call_id for result in command.results])


def decide_call(draft: Draft, command: Decide, _now: datetime) -> None:
    draft.answer_with_turn(draft.chat.turn_seq)
    _check_awaited(draft, command.call_id, gate=True)
    call = next(each for each in draft.chat.open_calls if each.call_id == command.call_id)
    if call.digest is None or command.digest != call.digest:
        raise draft.refuse(ApprovalMismatch, _MISMATCH if command.digest else _NO_DIGEST)
    if command.verdict == "approve":
        draft.ungate(command.call_id)
    else:
        result = denied_by_person(call, command.reason)
        draft.append_results((result,), MessageBody(role=Role.TOOL, parts=()))
    _settle(draft, [command.call_id])


def _check_awaited(draft: Draft, call_id: CallId, *, gate: bool) -> None:
    awaiting = draft.chat.awaiting
    assert awaiting is not None, "awaiting chats say what they await"
    if call_id not in awaiting.calls or awaiting.kind.is_gate is not gate:
        raise draft.refuse(CallNotOpen, f"call {call_id} does not wait for this")


def _settle(draft: Draft, call_ids: list[CallId]) -> None:
    awaiting = draft.chat.awaiting
    assert awaiting is not None, "awaiting chats say what they await"
    remaining = tuple(call_id for call_id in awaiting.calls if call_id not in call_ids)
    if remaining:
        draft.set(awaiting=replace(awaiting, calls=remaining))
    else:
        draft.resume()


def declare_tools(draft: Draft, command: DeclareTools, _now: datetime) -> None:
    if command.tools != draft.chat.tools:
        draft.set(tools=command.tools)


def request_compaction(draft: Draft, command: RequestCompaction, _now: datetime) -> None:
    chat = draft.chat
    if not chat.compactable:
        raise draft.refuse(NothingToCompact, "nothing was said since the last compaction")
    asked = Compaction(
        reason=CompactionReason.REQUESTED,
        used_tokens=chat.prompt_tokens,
        in_a_row=0 if chat.compaction is None else chat.compaction.in_a_row,
    )
    if chat.compaction_requested:  # one summary is for both; it keeps what was asked for last
        asked = chat.compaction or asked
        if command.keep is not None:
            draft.set(compaction=replace(asked, keep=command.keep))
        return
    draft.set(compaction_requested=True, compaction=replace(asked, keep=command.keep))
    draft.run()


def archive(draft: Draft, _command: Archive, _now: datetime) -> None:
    if not draft.chat.archived:
        draft.set(archived=True)


def unarchive(draft: Draft, _command: Unarchive, _now: datetime) -> None:
    if draft.chat.archived:
        draft.set(archived=False)


def restore(draft: Draft, command: Restore, _now: datetime) -> None:
    past = draft.facts.past
    if past is None or past.version != command.version:
        raise draft.refuse(VersionNotFound, f"no history as of version {command.version}")
    still_open = _still_open(draft.chat, past)
    draft.clear_queue()
    if past.copied or past.hidden:
        draft.hide_from(Seq(past.shared_seq + 1))
        draft.restore(past)
    _close_restored(draft, _unanswered(past.tail), still_open)
    boundary_last = bool(past.tail) and past.tail[-1].role is Role.BOUNDARY
    draft.set(
        status=Status.IDLE,
        error=None,
        owes_reply=False,
        compactable=bool(past.shared_seq or past.copied) and not boundary_last,
    )


def _unanswered(tail: Sequence[MessageBody]) -> list[ToolCall]:
    """The calls of the last reply of a history that have no result in it."""
    answered = {
        part.call_id for body in tail for part in body.parts if isinstance(part, ToolResult)
    }
    return [call for body in tail for call in body.calls if call.call_id not in answered]


def _still_open(chat: Chat, past: Past) -> dict[CallId, OpenCall]:
    """The open calls that the history of a restore ends in: none, if that left the present one."""
    if past.copied:
        return {}
    return {call.call_id: call for call in chat.open_calls if call.seq <= past.shared_seq}


def _close_restored(
    draft: Draft, calls: list[ToolCall], still_open: Mapping[CallId, OpenCall]
) -> None:
    """A history that was left in the middle of its calls becomes whole again (M3). What hung on a
    call that is not open any more is hidden now: a worker may have started it, gate or not."""
    open_calls = tuple(
        still_open.get(call.call_id)
        or OpenCall(
            call_id=call.call_id,
            tool=call.tool,
            seq=draft.chat.last_seq,
            epoch=draft.chat.epoch,
            needs=call.then if call.needs.is_gate else call.needs,
        )
        for call in calls
    )
    draft.set(open_calls=open_calls)
    draft.close_calls(Synthetic.SUPERSEDED)
