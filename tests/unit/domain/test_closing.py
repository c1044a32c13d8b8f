"""What is said of open calls, by each path that closes them: never "cancelled" of a call that may
have been started (X1)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.domain import commands as c
from holdfast.domain.chat import Awaiting, Chat, Facts, OpenCall, Past, Status
from holdfast.domain.decide import decide
from holdfast.domain.ids import CallId, Epoch, QueuedId, Seq, Version
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Need, Synthetic, ToolCall, ToolResult
from holdfast.domain.synthetic import denied_by_person, denied_by_rule
from tests.requirements import requirement
from tests.support.builders import NOW, a_chat, asks, open_call, result, user

EPOCH = Epoch(3)
INTERRUPTED, SUPERSEDED = Synthetic.INTERRUPTED, Synthetic.SUPERSEDED
UNKNOWN, CUT_OFF, EXPIRED = Synthetic.UNKNOWN_OUTCOME, Synthetic.CUT_OFF, Synthetic.EXPIRED
NEEDS = {
    "older": Need.NOTHING,
    "own": Need.NOTHING,
    "gated": Need.APPROVAL,
    "client": Need.RESULT,
    "person": Need.ANSWER,
}
CALLS = (
    open_call("older", epoch=1),
    open_call("own", epoch=EPOCH),
    open_call("gated", Need.APPROVAL, epoch=1),
    open_call("client", Need.RESULT, epoch=1),
    open_call("person", Need.ANSWER, epoch=1),
)
"""Of a worker before this one; of this one; those that no worker starts as they stand."""

REPLY = MessageBody(
    role=Role.ASSISTANT,
    parts=tuple(ToolCall(CallId(i), "tool", {}, needs=needs) for i, needs in NEEDS.items()),
)


def open_in(status: Status, *, queue: int = 0, calls: tuple[OpenCall, ...] = CALLS) -> Facts:
    chat = a_chat(status, queue=queue, epoch=EPOCH, open_calls=calls)
    return Facts(chat=chat)


def awaiting(*, queue: int = 0) -> Facts:
    """Gates go before runs: none of these calls was started, though some need nothing any more."""
    calls = (open_call("gated", Need.APPROVAL), open_call("approved"), open_call("older", epoch=1))
    waits = Awaiting(kind=Need.APPROVAL, calls=(CallId("gated"),), deadline=NOW)
    chat = a_chat(Status.AWAITING, queue=queue, epoch=EPOCH, open_calls=calls, awaiting=waits)
    return Facts(chat=chat)


def restoring(chat: Chat, *, hidden: int = 0, copied: int = 0) -> Facts:
    """As of version 6 the history ends in the reply that asked for the calls."""
    past = Past(version=Version(6), shared_seq=Seq(2), copied=copied, hidden=hidden, tail=(REPLY,))
    return Facts(chat=chat, past=past)


def said(facts: Facts, command: c.Command) -> dict[str, Synthetic | None]:
    return {
        part.call_id: part.synthetic
        for appended in decide(facts, command, NOW).appended
        for part in appended.body.parts
        if isinstance(part, ToolResult)
    }


OUTSIDE = {"client": SUPERSEDED, "person": SUPERSEDED}
GIVEN_UP = {"older": UNKNOWN, "own": UNKNOWN, "gated": SUPERSEDED, **OUTSIDE}
HIDDEN = {"older": UNKNOWN, "own": UNKNOWN, "gated": UNKNOWN, **OUTSIDE}
"""The gate may have been opened, and the call run, in what the restore hides."""
NOTHING_STARTED = {"gated": INTERRUPTED, "approved": INTERRUPTED, "older": INTERRUPTED}
OWNED = {"older": UNKNOWN, **dict.fromkeys(("own", "gated", "client", "person"), INTERRUPTED)}
"""A worker that finishes an interrupt has answered for what it started itself."""

PATHS: dict[str, tuple[Callable[[], Facts], c.Command, dict[str, Synthetic]]] = {
    "failed, a message": (lambda: open_in(Status.FAILED), c.SendMessage(user()), GIVEN_UP),
    "failed, an urgent message": (
        lambda: open_in(Status.FAILED),
        c.SendMessage(user(), "interrupt"),
        GIVEN_UP,
    ),
    "failed, a message behind the queue": (
        lambda: open_in(Status.FAILED, queue=1),
        c.SendMessage(user()),
        GIVEN_UP,
    ),
    "failed, a promotion": (
        lambda: open_in(Status.FAILED, queue=1),
        c.PromoteQueued(QueuedId(1)),
        GIVEN_UP,
    ),
    "failed, a restore of what is there": (
        lambda: restoring(open_in(Status.FAILED).chat),
        c.Restore(Version(6)),
        GIVEN_UP,
    ),
    "a restore behind answers": (
        lambda: restoring(a_chat(epoch=EPOCH, last_seq=Seq(4)), hidden=2),
        c.Restore(Version(6)),
        HIDDEN,
    ),
    "a restore of another path": (
        lambda: restoring(open_in(Status.FAILED).chat, hidden=1, copied=1),
        c.Restore(Version(6)),
        HIDDEN,
    ),
    "interrupting, finished": (lambda: open_in(Status.INTERRUPTING), c.FinishInterrupt(), OWNED),
    "interrupting, finished before the queue": (
        lambda: open_in(Status.INTERRUPTING, queue=1),
        c.FinishInterrupt(),
        OWNED,
    ),
    "awaiting, an urgent message": (
        awaiting,
        c.SendMessage(user(), "interrupt"),
        NOTHING_STARTED,
    ),
    "awaiting, a promotion": (
        lambda: awaiting(queue=1),
        c.PromoteQueued(QueuedId(1)),
        NOTHING_STARTED,
    ),
    "awaiting, an interrupt": (awaiting, c.Interrupt(), NOTHING_STARTED),
    "awaiting, the deadline": (awaiting, c.ExpireAwait(), {"gated": EXPIRED}),
    "running, a reply that was cut": (
        lambda: open_in(Status.RUNNING, calls=()),
        c.CommitStep((asks("c1", ending=Ending.CUT),)),
        {"c1": CUT_OFF},
    ),
}


@requirement("L144", "X1")
@pytest.mark.parametrize("path", PATHS)
def test_call_that_may_have_been_started_is_never_called_cancelled(path: str) -> None:
    facts, command, expected = PATHS[path]
    assert said(facts(), command) == expected


@requirement("L144")
def test_calls_of_a_history_that_was_brought_along_were_never_started() -> None:
    new = replace(a_chat(epoch=Epoch(0)), version=Version(0), last_seq=Seq(0), compactable=False)
    assert said(Facts(chat=new), c.Create((user(), asks("c1")))) == {"c1": SUPERSEDED}
    assert said(Facts(chat=new), c.Create((asks("c1"), user()))) == {"c1": SUPERSEDED}


@requirement("L144")
def test_results_and_unknown_outcomes_stand_in_the_order_of_the_calls() -> None:
    partial = MessageBody(role=Role.TOOL, parts=(result("own"),))
    outcome = decide(open_in(Status.INTERRUPTING), c.FinishInterrupt((partial,)), NOW)
    closing = outcome.appended[-1].body.parts
    assert [(p.call_id, p.synthetic) for p in closing if isinstance(p, ToolResult)] == [
        ("older", UNKNOWN),
        ("gated", INTERRUPTED),
        ("client", INTERRUPTED),
        ("person", INTERRUPTED),
    ]


@requirement("L144")
def test_restored_call_of_a_client_that_was_gated_was_not_run_by_us() -> None:
    asked = ToolCall(CallId("c1"), "tool", {}, needs=Need.APPROVAL, then=Need.RESULT)
    reply = MessageBody(role=Role.ASSISTANT, parts=(asked,))
    facts = restoring(a_chat(epoch=EPOCH, last_seq=Seq(4)), hidden=2)
    assert facts.past is not None
    facts = replace(facts, past=replace(facts.past, tail=(reply,)))
    assert said(facts, c.Restore(Version(6))) == {"c1": SUPERSEDED}


@requirement("L125")
@pytest.mark.parametrize(
    "denied",
    [
        denied_by_person(open_call("c1"), ""),
        denied_by_person(open_call("c1"), "not on a Friday"),
        denied_by_rule(CallId("c1"), "tool", "a rule of the organisation"),
    ],
)
def test_a_denial_tells_the_model_that_it_is_a_decision(denied: ToolResult) -> None:
    assert "This is a decision, not a fault" in str(denied.output)
    assert (denied.failed, denied.synthetic) == (True, Synthetic.DENIED)
