"""The one table of what is lawful. `docs/architecture/state-machine.md` is generated from it.

A cell says from which standing a command may be taken, and where the chat may then stand. What is
not in the table is refused with `NotLawful` and changes nothing. Two standings in one cell: the
queue, the calls still open or the messages given decide, and the comment says how.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.domain.chat import Standing
from holdfast.domain.commands import (
    Archive,
    Await,
    BeginAttempt,
    ClearQueue,
    Command,
    CommitStep,
    Create,
    Decide,
    DeclareTools,
    DropCompaction,
    EditMessage,
    ExpireAwait,
    Fail,
    FinishInterrupt,
    FinishTurn,
    Fork,
    Interrupt,
    MoveQueued,
    NeedCompaction,
    PromoteQueued,
    RecordRetry,
    RequestCompaction,
    Restore,
    ResumeQueue,
    Retry,
    SendMessage,
    SubmitResults,
    TakeQueued,
    Unarchive,
)

ABSENT: Final = Standing.ABSENT
IDLE: Final = Standing.IDLE
RUNNING: Final = Standing.RUNNING
INTERRUPTING: Final = Standing.INTERRUPTING
AWAITING: Final = Standing.AWAITING
FAILED: Final = Standing.FAILED
ARCHIVED: Final = Standing.ARCHIVED


def _to(*standings: Standing) -> frozenset[Standing]:
    return frozenset(standings)


TRANSITIONS: Final[Mapping[tuple[Standing, type[Command]], frozenset[Standing]]] = {
    (ABSENT, Create): _to(IDLE, RUNNING),  # RUNNING: it ends in something to answer
    (ABSENT, Fork): _to(IDLE),
    (IDLE, SendMessage): _to(RUNNING),
    (IDLE, EditMessage): _to(RUNNING),
    (IDLE, RequestCompaction): _to(RUNNING),
    (IDLE, Interrupt): _to(IDLE),  # no turn runs: nothing changes, here and below
    (IDLE, TakeQueued): _to(IDLE),  # a stop left the queue as it was, here and below
    (IDLE, MoveQueued): _to(IDLE),
    (IDLE, PromoteQueued): _to(RUNNING),
    (IDLE, ResumeQueue): _to(IDLE, RUNNING),  # IDLE: nothing is paused
    (IDLE, ClearQueue): _to(IDLE),
    (IDLE, Archive): _to(ARCHIVED),
    (IDLE, Unarchive): _to(IDLE),
    (IDLE, DeclareTools): _to(IDLE),
    (IDLE, Restore): _to(IDLE),
    (RUNNING, SendMessage): _to(RUNNING, INTERRUPTING),  # as when_busy says
    (RUNNING, EditMessage): _to(RUNNING),
    (RUNNING, Interrupt): _to(INTERRUPTING),
    (RUNNING, TakeQueued): _to(RUNNING),
    (RUNNING, MoveQueued): _to(RUNNING),
    (RUNNING, PromoteQueued): _to(INTERRUPTING),
    (RUNNING, ResumeQueue): _to(RUNNING),
    (RUNNING, ClearQueue): _to(RUNNING),
    (RUNNING, Retry): _to(RUNNING),  # while it waits out a backoff: try now
    (RUNNING, RequestCompaction): _to(RUNNING),
    (RUNNING, DeclareTools): _to(RUNNING),
    (RUNNING, Unarchive): _to(RUNNING),
    (RUNNING, BeginAttempt): _to(RUNNING),
    (RUNNING, CommitStep): _to(RUNNING),
    (RUNNING, NeedCompaction): _to(RUNNING),
    (RUNNING, DropCompaction): _to(RUNNING),
    (RUNNING, RecordRetry): _to(RUNNING),
    (RUNNING, Await): _to(AWAITING),
    # RUNNING: the queue head was promoted, or a compaction that was asked for is still to be made.
    (RUNNING, FinishTurn): _to(IDLE, RUNNING),
    (RUNNING, Fail): _to(FAILED),
    (INTERRUPTING, SendMessage): _to(INTERRUPTING),
    (INTERRUPTING, EditMessage): _to(RUNNING),
    (INTERRUPTING, Interrupt): _to(INTERRUPTING),  # asked again: the queue is paused
    (INTERRUPTING, TakeQueued): _to(INTERRUPTING),
    (INTERRUPTING, MoveQueued): _to(INTERRUPTING),
    (INTERRUPTING, PromoteQueued): _to(INTERRUPTING),
    (INTERRUPTING, ResumeQueue): _to(INTERRUPTING),
    (INTERRUPTING, ClearQueue): _to(INTERRUPTING),
    (INTERRUPTING, DeclareTools): _to(INTERRUPTING),
    (INTERRUPTING, Unarchive): _to(INTERRUPTING),
    (INTERRUPTING, CommitStep): _to(INTERRUPTING),  # the step was finished first: keep it (L04)
    # RUNNING: the queue head was promoted, for the queue is not paused or it is to be sent now.
    (INTERRUPTING, FinishInterrupt): _to(IDLE, RUNNING),
    (INTERRUPTING, Fail): _to(FAILED),
    (AWAITING, SendMessage): _to(AWAITING, RUNNING),  # as when_busy says
    (AWAITING, EditMessage): _to(RUNNING),
    (AWAITING, Interrupt): _to(IDLE),
    (AWAITING, TakeQueued): _to(AWAITING),
    (AWAITING, MoveQueued): _to(AWAITING),
    (AWAITING, PromoteQueued): _to(RUNNING),
    (AWAITING, ResumeQueue): _to(AWAITING),
    (AWAITING, ClearQueue): _to(AWAITING),
    (AWAITING, SubmitResults): _to(AWAITING, RUNNING),  # AWAITING: some calls still wait
    (AWAITING, Decide): _to(AWAITING, RUNNING),  # AWAITING: some calls still wait
    (AWAITING, DeclareTools): _to(AWAITING),
    (AWAITING, Unarchive): _to(AWAITING),
    (AWAITING, ExpireAwait): _to(RUNNING),
    (FAILED, SendMessage): _to(RUNNING),
    (FAILED, EditMessage): _to(RUNNING),
    (FAILED, Retry): _to(RUNNING),
    (FAILED, TakeQueued): _to(FAILED),
    (FAILED, MoveQueued): _to(FAILED),
    (FAILED, PromoteQueued): _to(RUNNING),
    (FAILED, ResumeQueue): _to(FAILED),
    (FAILED, ClearQueue): _to(FAILED),
    (FAILED, RequestCompaction): _to(RUNNING),
    (FAILED, DeclareTools): _to(FAILED),
    (FAILED, Interrupt): _to(FAILED),
    (FAILED, Archive): _to(ARCHIVED),
    (FAILED, Unarchive): _to(FAILED),
    (FAILED, Restore): _to(IDLE),
    (ARCHIVED, Archive): _to(ARCHIVED),
    (ARCHIVED, Unarchive): _to(IDLE, FAILED),  # as it was when it was archived
}
