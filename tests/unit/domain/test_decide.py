"""What lawful commands do to the facts, case by case."""

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.domain import commands as c
from holdfast.domain.chat import (
    ATTEMPTS_MAX,
    QUEUE_LENGTH_MAX,
    Awaiting,
    Chat,
    Facts,
    Status,
    Target,
)
from holdfast.domain.decide import decide, decide_all
from holdfast.domain.errors import (
    AttemptsSpent,
    CallNotOpen,
    CallsUnanswered,
    NotEditable,
    NotLawful,
    NotYetExpired,
    QueueFull,
    VersionNotFound,
)
from holdfast.domain.ids import CallId, QueuedId, Seq, Version
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.outcome import Fate, Outcome
from holdfast.domain.parts import Need, Synthetic, Text, ToolCall, ToolResult
from tests.requirements import requirement
from tests.support.builders import (
    NOW,
    a_chat,
    asks,
    backoff,
    boundary,
    digest_for,
    error,
    open_call,
    queued,
    reply,
    result,
    results,
    system,
    user,
)

RUNNING = a_chat(Status.RUNNING)


def outcome_of(chat: Chat, *commands: c.Command) -> Outcome:
    return decide_all(Facts(chat=chat), commands, NOW)


def synthetic(outcome: Outcome) -> list[tuple[str, Synthetic | None]]:
    return [
        (part.call_id, part.synthetic)
        for appended in outcome.appended
        for part in appended.body.parts
        if isinstance(part, ToolResult)
    ]


@requirement("L71")
def test_a_bundle_is_all_or_nothing_and_one_version() -> None:
    outcome = outcome_of(RUNNING, c.BeginAttempt(), c.CommitStep((reply(),)), c.FinishTurn())
    assert outcome.chat.version == RUNNING.version + 1
    assert outcome.chat.history_version == outcome.chat.version
    with pytest.raises(NotLawful):
        outcome_of(RUNNING, c.CommitStep((reply(),)), c.FinishTurn(), c.BeginAttempt())


def test_the_command_that_no_longer_fits_is_named_with_where_it_stood() -> None:
    with pytest.raises(NotLawful) as refused:
        outcome_of(RUNNING, c.CommitStep((reply(),)), c.FinishTurn(), c.BeginAttempt())
    assert (refused.value.standing, refused.value.command) == ("idle", "BeginAttempt")


def test_a_system_message_alone_starts_nothing() -> None:
    new = replace(RUNNING, version=Version(0), last_seq=Seq(0), status=Status.IDLE, worker_id=None)
    outcome = outcome_of(replace(new, owes_reply=False, compactable=False), c.Create((system(),)))
    assert outcome.chat.status is Status.IDLE
    assert not outcome.chat.compactable


@requirement("L76")
def test_a_queued_message_brings_its_own_model() -> None:
    chat = a_chat(Status.RUNNING, owes_reply=False, model="first", effort="low")
    waits = replace(queued(1), head=user("next", model="second"))
    outcome = outcome_of(replace(chat, queue=(waits,)), c.FinishTurn())
    assert (outcome.chat.model, outcome.chat.effort) == ("second", "low")


@requirement("L78")
def test_sending_after_a_failure_keeps_the_order() -> None:
    outcome = outcome_of(a_chat(Status.FAILED, queue=2), c.SendMessage(user("newest")))
    assert [a.promoted for a in outcome.appended] == [1]
    assert [q.head for q in outcome.chat.queue] == [queued(2).head, user("newest")]
    assert outcome.answer.queued_id == 3
    assert outcome.answer.seq is None
    assert outcome.chat.error is None


def test_a_full_queue_refuses_even_an_urgent_message() -> None:
    chat = a_chat(Status.RUNNING, queue=QUEUE_LENGTH_MAX)
    with pytest.raises(QueueFull):
        outcome_of(chat, c.SendMessage(user(), "interrupt"))


@requirement("L07")
def test_urgent_messages_go_first_in_the_order_in_which_they_came() -> None:
    chat = a_chat(Status.RUNNING, queue=1)
    first = outcome_of(chat, c.SendMessage(user("u1"), "interrupt")).chat
    second = outcome_of(first, c.SendMessage(user("u2"), "interrupt")).chat
    third = outcome_of(second, c.SendMessage(user("last"))).chat
    assert [q.queued_id for q in third.queue] == [2, 3, 1, 4]
    assert [q.position for q in third.queue] == [1, 2, 3, 4]


@requirement("L07", "L03", "L08")
def test_an_urgent_message_comes_after_the_partial_and_the_cancellations() -> None:
    chat = a_chat(Status.INTERRUPTING, open_calls=(open_call("c1"), open_call("c2")), queue=1)
    outcome = outcome_of(chat, c.FinishInterrupt((results("c2"),)))
    assert [a.body.role for a in outcome.appended] == [Role.TOOL, Role.TOOL, Role.USER]
    assert synthetic(outcome) == [("c2", None), ("c1", Synthetic.INTERRUPTED)]
    assert outcome.left[0].seq == outcome.appended[-1].seq
    assert outcome.chat.open_calls == ()


@requirement("L03", "L09")
def test_the_calls_of_an_interrupted_reply_are_never_run() -> None:
    partial = asks("c1", ending=Ending.INTERRUPTED)
    outcome = outcome_of(a_chat(Status.INTERRUPTING), c.FinishInterrupt((partial,)))
    assert synthetic(outcome) == [("c1", Synthetic.CUT_OFF)]
    assert outcome.chat.status is Status.IDLE


@requirement("L04")
def test_a_step_that_was_finished_before_the_interrupt_is_kept() -> None:
    outcome = outcome_of(a_chat(Status.INTERRUPTING), c.CommitStep((reply(),)), c.FinishInterrupt())
    assert [a.body for a in outcome.appended] == [reply()]
    assert outcome.chat.status is Status.IDLE


@requirement("L14")
def test_interrupting_a_wait_cancels_it_and_ends_the_turn() -> None:
    outcome = outcome_of(a_chat(Status.AWAITING), c.Interrupt())
    assert synthetic(outcome) == [("c1", Synthetic.INTERRUPTED)]
    assert outcome.chat.status is Status.IDLE
    assert (outcome.chat.awaiting, outcome.chat.owes_reply) == (None, False)


@requirement("L14")
def test_interrupting_a_wait_leaves_the_queue_paused() -> None:
    outcome = outcome_of(a_chat(Status.AWAITING, queue=1), c.Interrupt())
    assert [a.body.role for a in outcome.appended] == [Role.TOOL]
    assert (outcome.chat.status, outcome.chat.awaiting) == (Status.IDLE, None)
    assert (outcome.chat.owes_reply, len(outcome.chat.queue)) == (False, 1)
    assert outcome.chat.queue_paused


@requirement("L31", "M3")
def test_a_user_message_closes_what_is_open() -> None:
    failed = a_chat(Status.FAILED, open_calls=(open_call("c1"),), queue=1)
    outcome = outcome_of(failed, c.PromoteQueued(QueuedId(1)))
    assert synthetic(outcome) == [("c1", Synthetic.UNKNOWN_OUTCOME)]
    assert [a.body.role for a in outcome.appended] == [Role.TOOL, Role.USER]
    assert outcome.left[0].seq == outcome.appended[1].seq


def test_who_does_not_want_to_wait_before_the_next_attempt_need_not() -> None:
    waiting = outcome_of(a_chat(Status.RUNNING), c.RecordRetry(backoff())).chat
    tried = outcome_of(waiting, c.Retry(model="other")).chat
    assert tried.backoff is not None
    assert (tried.backoff.delay_ms, tried.backoff.until) == (0, NOW)
    assert tried.backoff.error == backoff().error
    assert (tried.model, tried.status) == ("other", waiting.status)
    assert tried.attempts_forgiven == waiting.attempts_forgiven, "it was an attempt"


@pytest.mark.parametrize(("chosen", "following"), [(None, "spare"), ("other", None)])
def test_retry_during_a_backoff_keeps_the_fallback_unless_another_model_is_chosen(
    chosen: str | None, following: str | None
) -> None:
    recorded = replace(backoff(), model="spare")
    waiting = outcome_of(a_chat(Status.RUNNING), c.RecordRetry(recorded)).chat
    tried = outcome_of(waiting, c.Retry(model=chosen)).chat
    assert tried.backoff is not None
    assert tried.backoff.model == following


def test_what_is_being_tried_is_not_tried_again() -> None:
    with pytest.raises(NotLawful):
        outcome_of(a_chat(Status.RUNNING), c.Retry())


def test_a_retry_keeps_open_calls_and_gives_a_new_budget() -> None:
    failed = a_chat(Status.FAILED, open_calls=(open_call("c1"),), attempt=ATTEMPTS_MAX)
    outcome = outcome_of(failed, c.Retry(model="other"), c.BeginAttempt())
    assert [call.call_id for call in outcome.chat.open_calls] == ["c1"]
    assert outcome.chat.attempt == ATTEMPTS_MAX + 1, "an episode's number is never used twice"
    assert outcome.chat.model == "other"


@requirement("P3", "L52")
def test_attempts_are_bounded_per_history() -> None:
    chat = RUNNING
    for _ in range(ATTEMPTS_MAX - 1):
        chat = outcome_of(chat, c.BeginAttempt()).chat
    with pytest.raises(AttemptsSpent):
        outcome_of(chat, c.BeginAttempt())
    assert outcome_of(chat, c.CommitStep((reply(),))).chat.attempt == 0


def test_an_attempt_ends_the_backoff_that_every_reader_saw() -> None:
    waiting = outcome_of(RUNNING, c.RecordRetry(backoff())).chat
    assert waiting.backoff == backoff()
    assert waiting.history_version == RUNNING.history_version
    assert outcome_of(waiting, c.BeginAttempt()).chat.backoff is None
    assert outcome_of(waiting, c.Interrupt()).chat.backoff is None
    assert outcome_of(waiting, c.SendMessage(user(), "interrupt")).chat.backoff is None


def test_a_cut_reply_is_kept_and_still_owed() -> None:
    cut = asks("c1", ending=Ending.CUT)
    outcome = outcome_of(RUNNING, c.CommitStep((cut,)), c.Fail(error()))
    assert synthetic(outcome) == [("c1", Synthetic.CUT_OFF)]
    assert outcome.chat.status is Status.FAILED
    assert outcome.chat.owes_reply
    assert outcome.releases


def test_a_paused_reply_is_called_again() -> None:
    assert outcome_of(RUNNING, c.CommitStep((reply(ending=Ending.PAUSED),))).chat.owes_reply


@requirement("L30")
def test_calls_that_the_provider_ran_are_not_ours_to_answer() -> None:
    call = ToolCall(CallId("p1"), "web_search", {}, runs_at="provider")
    body = MessageBody(role=Role.ASSISTANT, parts=(call, Text("found")))
    outcome = outcome_of(RUNNING, c.CommitStep((body,)), c.FinishTurn())
    assert outcome.chat.open_calls == ()


def test_a_boundary_does_not_part_calls_from_results() -> None:
    chat = a_chat(Status.RUNNING, open_calls=(open_call("c1"),))
    with pytest.raises(CallsUnanswered):
        outcome_of(chat, c.CommitStep((boundary(),)))


@requirement("L24")
def test_a_compaction_is_asked_for_once_and_never_replayed() -> None:
    chat = outcome_of(a_chat(), c.RequestCompaction()).chat
    assert chat.compaction_requested
    assert not decide(Facts(chat=chat), c.RequestCompaction(), NOW).changed
    done = outcome_of(replace(chat, worker_id=RUNNING.worker_id), c.CommitStep((boundary(),)))
    assert not done.chat.compaction_requested
    assert outcome_of(done.chat, c.FinishTurn()).chat.status is Status.IDLE
    failed = outcome_of(chat, c.Fail(error())).chat
    assert not outcome_of(failed, c.Retry()).chat.compaction_requested


def test_a_system_message_may_be_added_by_a_worker_but_nobody_speaks_for_a_user() -> None:
    assert outcome_of(RUNNING, c.CommitStep((system(),))).chat.owes_reply
    with pytest.raises(AssertionError, match="does not speak"):
        outcome_of(RUNNING, c.CommitStep((user(),)))
    with pytest.raises(AssertionError, match="user message belongs"):
        outcome_of(a_chat(), c.SendMessage(reply()))


def test_a_tool_message_holds_results_only() -> None:
    mixed = MessageBody(role=Role.TOOL, parts=(result("c1"), Text("and more")))
    with pytest.raises(AssertionError, match="nothing but results"):
        outcome_of(a_chat(Status.RUNNING, open_calls=(open_call("c1"),)), c.CommitStep((mixed,)))


@pytest.mark.parametrize("given", [("c2",), ("c1", "c2"), ("c1", "c1"), ()])
def test_results_answer_open_calls_once_each(given: tuple[str, ...]) -> None:
    chat = a_chat(Status.RUNNING, open_calls=(open_call("c1"),))
    with pytest.raises(CallNotOpen):
        outcome_of(chat, c.CommitStep((results(*given),)))


def approval(*call_ids: str, deadline_s: float | None = None) -> Chat:
    calls = tuple(open_call(call_id, Need.APPROVAL) for call_id in call_ids)
    until = None if deadline_s is None else NOW + timedelta(seconds=deadline_s)
    waits = Awaiting(kind=Need.APPROVAL, calls=tuple(CallId(i) for i in call_ids), deadline=until)
    others = (open_call("free"),)
    return a_chat(Status.AWAITING, open_calls=(*calls, *others), awaiting=waits)


def test_what_was_approved_is_run_by_the_next_epoch() -> None:
    waiting = approval("c1", "c2")
    one = outcome_of(waiting, c.Decide(CallId("c1"), "approve", digest_for("c1"))).chat
    assert one.status is Status.AWAITING
    assert one.awaiting is not None
    assert one.awaiting.calls == ("c2",)
    both = outcome_of(one, c.Decide(CallId("c2"), "deny", digest_for("c2")))
    assert both.chat.status is Status.RUNNING
    assert synthetic(both) == [("c2", Synthetic.DENIED)]
    # Nothing of this has been started: a runner of the next epoch may run it without a doubt.
    assert [(call.call_id, call.epoch) for call in both.chat.open_calls] == [
        ("c1", waiting.epoch + 1),
        ("free", waiting.epoch + 1),
    ]


@requirement("L84")
def test_a_wait_expires_at_its_deadline() -> None:
    expired = outcome_of(approval("c1", deadline_s=0), c.ExpireAwait())
    assert synthetic(expired) == [("c1", Synthetic.EXPIRED)]
    assert [call.call_id for call in expired.chat.open_calls] == ["free"]
    for waiting in (approval("c1", deadline_s=1), approval("c1")):
        with pytest.raises(NotYetExpired):
            outcome_of(waiting, c.ExpireAwait())


def test_one_waits_only_for_what_the_calls_need() -> None:
    chat = a_chat(Status.RUNNING, open_calls=(open_call("c1", Need.RESULT),))
    for kind, calls in ((Need.APPROVAL, ("c1",)), (Need.RESULT, ("c2",)), (Need.RESULT, ())):
        with pytest.raises(CallNotOpen):
            outcome_of(chat, c.Await(kind, tuple(CallId(i) for i in calls)))


def test_an_edit_needs_a_user_message_that_is_there() -> None:
    for target in (
        None,
        Target(seq=Seq(1), role=Role.USER, removed=True),
        Target(seq=Seq(1), role=Role.ASSISTANT, removed=False),
        Target(seq=Seq(2), role=Role.USER, removed=False),
    ):
        with pytest.raises(NotEditable):
            decide(Facts(chat=a_chat(), target=target), c.EditMessage(Seq(1), user()), NOW)


def test_a_restore_needs_a_version_that_was() -> None:
    with pytest.raises(VersionNotFound):
        outcome_of(a_chat(), c.Restore(Version(99)))


def test_moving_within_the_queue() -> None:
    chat = a_chat(Status.RUNNING, queue=3)

    def order(command: c.MoveQueued) -> list[int]:
        return [q.queued_id for q in outcome_of(chat, command).chat.queue]

    assert order(c.MoveQueued(QueuedId(3), before=QueuedId(1))) == [3, 1, 2]
    assert order(c.MoveQueued(QueuedId(1))) == [2, 3, 1]
    assert not outcome_of(chat, c.MoveQueued(QueuedId(3))).changed, "no version for nothing (L73)"
    assert not outcome_of(chat, c.MoveQueued(QueuedId(2), QueuedId(2))).changed


def test_what_leaves_the_queue_keeps_its_fate() -> None:
    chat = a_chat(Status.RUNNING, queue=2)
    taken = outcome_of(chat, c.TakeQueued(QueuedId(1)))
    assert [(left.queued_id, left.fate) for left in taken.left] == [(1, Fate.TAKEN)]
    assert taken.chat.history_version == chat.history_version
    promoted = outcome_of(chat, c.PromoteQueued(QueuedId(2)))
    assert [(m.queued_id, m.position, m.urgent) for m in promoted.moved] == [
        (2, 1, True),
        (1, 2, False),
    ]
    assert promoted.chat.status is Status.INTERRUPTING
