"""Every cell: (state × command × queue × archived), on every store.

Lawful cells land where TRANSITIONS says; all others change nothing and name the reason (S1, L70).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import get_args

import pytest

from holdfast.chats.changes import Actor, ChangeRequest, Sweep
from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Standing, Status
from holdfast.domain.compaction import Compaction, CompactionReason
from holdfast.domain.decide import decide
from holdfast.domain.errors import (
    CallNotOpen,
    CallsUnanswered,
    CommandRefused,
    FenceStale,
    NothingToCompact,
    NotLawful,
    QueuedNotFound,
    ReplyOwed,
)
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, QueuedId, Seq, Version
from holdfast.domain.parts import Need
from holdfast.domain.transitions import TRANSITIONS
from tests.requirements import requirement
from tests.support.builders import (
    WORKER,
    a_tool,
    asks,
    backoff,
    digest_for,
    error,
    reply,
    result,
    user,
)
from tests.support.world import ACTOR, World

C1 = CallId("c1")
Q1 = QueuedId(1)

COMMANDS: Mapping[str, c.Command] = {
    "create": c.Create((user(),)),
    "fork": c.Fork(),
    "send": c.SendMessage(user("sent")),
    "send urgently": c.SendMessage(user("sent"), when_busy="interrupt"),
    "edit": c.EditMessage(Seq(1), user("edited")),
    "interrupt": c.Interrupt(),
    "retry": c.Retry(),
    "take queued": c.TakeQueued(Q1),
    "move queued": c.MoveQueued(Q1),
    "promote queued": c.PromoteQueued(Q1),
    "resume queue": c.ResumeQueue(),
    "clear queue": c.ClearQueue(),
    "submit results": c.SubmitResults((result("c1"),)),
    "approve": c.Decide(C1, "approve", digest_for(C1)),
    "deny": c.Decide(C1, "deny", digest_for(C1)),
    "declare tools": c.DeclareTools((a_tool(),)),
    "request compaction": c.RequestCompaction(),
    "archive": c.Archive(),
    "unarchive": c.Unarchive(),
    "restore": c.Restore(Version(1)),
    "begin attempt": c.BeginAttempt(),
    "commit reply": c.CommitStep((reply("said"),)),
    "need compaction": c.NeedCompaction(Compaction(reason=CompactionReason.OVERFLOW)),
    "drop compaction": c.DropCompaction(),
    "record retry": c.RecordRetry(backoff()),
    "await": c.Await(Need.RESULT, (C1,)),
    "expire": c.ExpireAwait(),
    "finish turn": c.FinishTurn(),
    "finish interrupt": c.FinishInterrupt(),
    "fail": c.Fail(error()),
}

IDLE, RUNNING, INTERRUPTING, AWAITING, FAILED = (
    Standing.IDLE,
    Standing.RUNNING,
    Standing.INTERRUPTING,
    Standing.AWAITING,
    Standing.FAILED,
)
_NOT_QUEUED = dict.fromkeys(["take queued", "move queued", "promote queued"], QueuedNotFound)

REACHED: Mapping[str, frozenset[Standing]] = {
    "interrupt": frozenset({IDLE, FAILED, INTERRUPTING}),
    "drop compaction": frozenset({RUNNING}),  # none was decided
    "archive": frozenset({Standing.ARCHIVED}),
    "unarchive": frozenset({IDLE, RUNNING, INTERRUPTING, AWAITING, FAILED}),
}
"""Commands whose state is reached already: they change nothing."""

Landing = Standing | type[CommandRefused]

# Where a cell of TRANSITIONS leaves a choice, or the facts forbid what the table allows. Keyed by
# state and whether messages wait; "*" is any state.
LANDINGS: Mapping[tuple[str, bool], Mapping[str, Landing]] = {
    ("*", False): _NOT_QUEUED,
    ("running", False): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "await": CallNotOpen,
        "finish turn": ReplyOwed,
    },
    ("running", True): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "await": CallNotOpen,
        "finish turn": ReplyOwed,
    },
    ("running, calls open", False): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "commit reply": CallsUnanswered,
        "finish turn": CallsUnanswered,
    },
    ("running, calls open", True): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "commit reply": CallsUnanswered,
        "finish turn": CallsUnanswered,
    },
    ("running, replied", False): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "await": CallNotOpen,
        "finish turn": IDLE,
    },
    ("running, replied", True): {
        "retry": NotLawful,
        "send": RUNNING,
        "send urgently": INTERRUPTING,
        "await": CallNotOpen,
        "finish turn": RUNNING,
    },
    ("interrupting", False): {"finish interrupt": IDLE},
    ("interrupting", True): {"finish interrupt": IDLE},
    ("interrupting to send", True): {"finish interrupt": RUNNING},
    ("idle", False): {"resume queue": IDLE},
    ("idle, queue paused", True): {"resume queue": RUNNING},
    ("awaiting a result", False): {
        "interrupt": IDLE,
        "send": AWAITING,
        "send urgently": RUNNING,
        "submit results": RUNNING,
        "approve": CallNotOpen,
        "deny": CallNotOpen,
    },
    ("awaiting a result", True): {
        "interrupt": IDLE,
        "send": AWAITING,
        "send urgently": RUNNING,
        "submit results": RUNNING,
        "approve": CallNotOpen,
        "deny": CallNotOpen,
    },
    ("awaiting approval of two", False): {
        "interrupt": IDLE,
        "send": AWAITING,
        "send urgently": RUNNING,
        "submit results": CallNotOpen,
        "approve": AWAITING,
        "deny": AWAITING,
    },
    ("awaiting approval of two", True): {
        "interrupt": IDLE,
        "send": AWAITING,
        "send urgently": RUNNING,
        "submit results": CallNotOpen,
        "approve": AWAITING,
        "deny": AWAITING,
    },
    ("archived while idle", False): {"unarchive": IDLE},
    ("archived while failed", False): {"unarchive": FAILED},
    ("archived while failed", True): {"unarchive": FAILED},
    ("idle, nothing said", False): {
        "request compaction": NothingToCompact,
        "edit": CommandRefused,
        "resume queue": IDLE,
    },
}


async def running(world: World, waiting: int) -> Chat:
    chat = await world.running(user("first"))
    for number in range(waiting):
        await world.do(chat.chat_id, c.SendMessage(user(f"waiting {number}")))
    return await world.load(chat.chat_id)


async def interrupting(world: World, waiting: int) -> Chat:
    chat = await running(world, waiting)
    return (await world.do(chat.chat_id, c.Interrupt())).chat


async def interrupting_to_send(world: World, waiting: int) -> Chat:
    chat = await running(world, waiting)
    return (await world.do(chat.chat_id, c.SendMessage(user("now"), "interrupt"))).chat


async def calls_open(world: World, waiting: int) -> Chat:
    chat = await running(world, waiting)
    return (await world.drive(chat, c.CommitStep((asks("c1", needs=Need.RESULT),)))).chat


async def replied(world: World, waiting: int) -> Chat:
    chat = await running(world, waiting)
    return (await world.drive(chat, c.CommitStep((reply(),)))).chat


async def awaiting_result(world: World, waiting: int) -> Chat:
    chat = await calls_open(world, waiting)
    past = world.clock.now()
    return (await world.drive(chat, c.Await(Need.RESULT, (C1,), past))).chat


async def awaiting_approval(world: World, waiting: int) -> Chat:
    chat = await running(world, waiting)
    step = c.CommitStep((asks("c1", "c2", needs=Need.APPROVAL),))
    wait = c.Await(Need.APPROVAL, (C1, CallId("c2")), world.clock.now())
    return (await world.drive(chat, step, wait)).chat


async def failed(world: World, waiting: int) -> Chat:
    return (await world.drive(await running(world, waiting), c.Fail(error()))).chat


async def idle(world: World, waiting: int) -> Chat:
    assert not waiting, "idle means an empty queue, or a paused one (S8)"
    return (await world.drive(await replied(world, 0), c.FinishTurn())).chat


async def nothing_said(world: World, waiting: int) -> Chat:
    assert not waiting, "idle means an empty queue, or a paused one (S8)"
    return await world.create()


async def paused(world: World, waiting: int) -> Chat:
    chat = await interrupting(world, waiting)
    return (await world.drive(chat, c.FinishInterrupt())).chat


async def archived_idle(world: World, waiting: int) -> Chat:
    return (await world.do((await idle(world, waiting)).chat_id, c.Archive())).chat


async def archived_failed(world: World, waiting: int) -> Chat:
    return (await world.do((await failed(world, waiting)).chat_id, c.Archive())).chat


STATES: Mapping[str, Callable[[World, int], Awaitable[Chat]]] = {
    "idle": idle,
    "idle, nothing said": nothing_said,
    "idle, queue paused": paused,
    "running": running,
    "running, calls open": calls_open,
    "running, replied": replied,
    "interrupting": interrupting,
    "interrupting to send": interrupting_to_send,
    "awaiting a result": awaiting_result,
    "awaiting approval of two": awaiting_approval,
    "failed": failed,
    "archived while idle": archived_idle,
    "archived while failed": archived_failed,
}
WITH_QUEUE = {"idle, queue paused", "interrupting to send"}
CASES = [
    (state, waiting)
    for state in STATES
    for waiting in (0, 2)
    # No such state: the database refuses a queue at rest that is not paused.
    if (bool(waiting) if state in WITH_QUEUE else not (waiting and "idle" in state))
]


def landing(state: str, waiting: int, standing: Standing, name: str) -> Landing:
    lawful = TRANSITIONS.get((standing, type(COMMANDS[name])))
    if lawful is None:
        return NotLawful
    for key in ((state, bool(waiting)), ("*", bool(waiting))):
        if name in LANDINGS.get(key, {}):
            return LANDINGS[key][name]
    (only,) = lawful  # a cell with a choice must be spelled out above
    return only


def by_whom(chat: Chat, command: c.Command) -> Actor | Fence | Sweep:
    if isinstance(command, c.FromPeople):
        return ACTOR
    return Sweep() if isinstance(command, c.ExpireAwait) else Fence.of(chat)


async def attempt(world: World, chat: Chat, command: c.Command) -> None:
    if isinstance(command, c.FromWorker) and chat.worker_id is None:
        # No worker can have a fence for a chat without an owner; the decision is asked directly,
        # and whoever had a fence once is stale.
        gone = Fence(
            chat_id=chat.chat_id,
            worker_id=WORKER,
            epoch=chat.epoch,
            history_version=chat.history_version,
            history_stamp=chat.history_stamp,
        )
        with pytest.raises(FenceStale):
            await world.ledger.transact(chat.chat_id, ChangeRequest((command,), by=gone))
        loaded = await world.store.load(chat.chat_id)
        assert loaded is not None
        decide(loaded.facts, command, world.clock.now())
    else:
        request = ChangeRequest((command,), by=by_whom(chat, command))
        await world.ledger.transact(chat.chat_id, request)


@requirement("S1", "S3", "S8", "L70", "L71", "T01")
@pytest.mark.parametrize(("state", "waiting"), CASES)
async def test_every_cell_lands_where_the_table_says(
    world: World, state: str, waiting: int
) -> None:
    chats: list[Chat] = []
    for name, command in COMMANDS.items():
        chat = await STATES[state](world, waiting)
        chats.append(chat)
        expected = landing(state, waiting, chat.standing, name)
        told = len(world.hints.published)
        history = await world.read(chat.chat_id)

        if isinstance(expected, Standing):
            await attempt(world, chat, command)
            after = await world.load(chat.chat_id)
            assert after.standing is expected, (state, name)
            grown = after.version - chat.version
            no_change = chat.standing in REACHED.get(name, frozenset()) or (
                name == "resume queue" and not chat.queue_paused
            )
            if name == "interrupt" and any(queued.urgent for queued in chat.queue):
                no_change = False  # it takes back that a message is to be sent now
            if name == "clear queue" and not chat.queue:
                no_change = True
            assert grown == (0 if no_change else 1), (state, name)
            continue

        with pytest.raises(expected) as refused:
            await attempt(world, chat, command)
        assert isinstance(refused.value, CommandRefused)
        assert refused.value.standing == chat.standing, (state, name)
        assert type(command).__name__ in str(refused.value)
        assert await world.load(chat.chat_id) == chat, (state, name)
        assert await world.read(chat.chat_id) == history
        assert len(world.hints.published) == told, "nothing is told of what did not happen"
    assert await world.violations([chat.chat_id for chat in chats]) == []


@requirement("S1")
def test_the_table_names_every_command_and_every_status() -> None:
    named = {command for _, command in TRANSITIONS}
    assert named == set(get_args(c.Command))
    assert {type(command) for command in COMMANDS.values()} == named
    assert {standing for standing, _ in TRANSITIONS} == set(Standing)
    assert {Standing(status.value) for status in Status} < set(Standing)
