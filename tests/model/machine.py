"""People, workers, crashes, zombies and lost answers against a real store, in any order.

Rules must steer: left to chance, a zombie hardly ever wakes in the middle of its successor's turn.
So `takeover` lapses a lease, lets another worker go on, and leaves the first one with what it knew.
"""

import asyncio
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from holdfast.chats.answer import submit_results
from holdfast.chats.changes import Commit
from holdfast.chats.outputs import bytes_max
from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Status
from holdfast.domain.errors import (
    AttemptsSpent,
    CommandRefused,
    FenceStale,
    KeyReused,
    Unavailable,
)
from holdfast.domain.ids import CallId, ChatId, ClientKey, QueuedId, Seq, Version, WorkerId
from holdfast.domain.messages import Message, Role
from holdfast.domain.parts import ToolResult
from tests.model.advice import check_advice
from tests.model.compaction import check_boundaries, check_compaction
from tests.model.faults import FAULTS, Fault, FaultyStore
from tests.model.loop import in_loop
from tests.model.paused import PausedMessages
from tests.model.people import STEERING, meanwhile, queue_commands
from tests.model.planning import check_mode, check_plans, check_proposal, says
from tests.model.runner import REPLIES, Runner
from tests.model.sent import Asked, Sent
from tests.support.builders import digest_for, error, result, user
from tests.support.dispatch import dispatch_on
from tests.support.world import ACTOR, World, keyed_by

CHATS = st.integers(0, 1)
SMALL = st.integers(0, 20)
WINDOW_TOKENS = 1  # of the model that reads results: they may have few bytes
OUTPUT_BYTES_MAX = bytes_max(WINDOW_TOKENS)
TOO_LONG = "x" * (OUTPUT_BYTES_MAX + 1)


class ChatMachine(RuleBasedStateMachine):
    """Two chats, up to a handful of workers. `world` and `loop` are set by `run_machine`."""

    world: ClassVar[World]
    loop: ClassVar[asyncio.AbstractEventLoop]
    worker_steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.sent: list[Sent] = []
        self.asked: list[Asked] = []
        self.workers: list[WorkerId] = []
        self.crashed: set[WorkerId] = set()
        self.runners: list[Runner] = []
        self.chats: list[ChatId] = []
        self.paused = PausedMessages()

    @initialize()
    @in_loop
    async def begin(self) -> None:
        world = self.world
        self.store = FaultyStore(world.store)
        if world.settings is not None:
            await world.settings.refresh()
        world.ledger = dispatch_on(self.store, world.hints, world.clock)
        self.chats = [(await world.create(user("first"))).chat_id for _ in range(2)]
        await self.add_worker()

    # People.

    @rule(index=CHATS, urgent=st.booleans(), fault=FAULTS)
    @in_loop
    async def send(self, index: int, urgent: bool, fault: Fault) -> None:
        await self.say(index, urgent=urgent, fault=fault)

    async def say(self, index: int, *, urgent: bool, fault: Fault) -> None:
        self.number += 1
        said = says(f"sent {self.number}", self.number)
        command = c.SendMessage(said, "interrupt" if urgent else "queue")
        sent = Sent(self.chats[index], command, f"key {self.number}")
        self.sent.append(sent)
        await self.deliver(sent, fault)

    @precondition(lambda self: self.sent)
    @rule(pick=SMALL, fault=FAULTS)
    @in_loop
    async def send_again(self, pick: int, fault: Fault) -> None:
        await self.deliver(self.sent[pick % len(self.sent)], fault)

    @precondition(lambda self: self.sent)
    @rule(pick=SMALL)
    @in_loop
    async def reuse_a_key(self, pick: int) -> None:
        sent = self.sent[pick % len(self.sent)]
        if sent.known == "accepted":
            other = c.SendMessage(user("something else"))
            try:
                await self.world.do(sent.chat_id, other, key=sent.key)
            except KeyReused:
                return
            raise AssertionError("M1: a key was used for two messages")

    async def deliver(self, sent: Sent, fault: Fault) -> None:
        before = await self.load(sent.chat_id)
        self.store.next_fault = fault
        try:
            commit = await self.world.do(sent.chat_id, sent.command, key=sent.key)
        except Unavailable:
            return  # the client does not know, and may send again
        except CommandRefused:
            assert sent.known != "accepted", "M1: accepted, and refused when sent again"
            await self.unchanged(before)
            return
        finally:
            self.store.next_fault = "none"
        if not commit.repeated:
            await self.check_mode(before, commit.chat)
        sent.accepted(commit.answer)

    @rule(index=CHATS, seq=st.integers(1, 12))
    @in_loop
    async def edit(self, index: int, seq: int) -> None:
        chat_id = self.chats[index]
        before = [m.seq for m in await self.history(chat_id)]
        self.number += 1
        edited = says(f"edited {self.number}", self.number)
        if await self.command(chat_id, c.EditMessage(Seq(seq), edited)):
            chat = await self.load(chat_id)
            after = [m.seq for m in await self.history(chat_id)]
            kept = [other for other in before if other < seq]
            assert after == [*kept, chat.last_seq], "S9: an edit hides from its message on"
            assert not chat.queue, "an edit clears the queue"

    @rule(index=CHATS, back=st.integers(1, 15))
    @in_loop
    async def restore(self, index: int, back: int) -> None:
        chat = await self.load(self.chats[index])
        version = Version(max(1, chat.version - back))
        page = await self.world.history.page(chat.chat_id, limit=500, as_of=version)
        wanted = [m.body.parts for m in page.messages]
        if await self.command(chat.chat_id, c.Restore(version)):
            restored = await self.history(chat.chat_id)
            now = [m.body.parts for m in restored]
            assert now[: len(wanted)] == wanted, "a restore brings the old history back"
            began = [m.seq for m in restored if m.body.role is Role.USER]
            for m in restored:
                turn_seq = max((seq for seq in began if seq <= m.seq), default=None)
                assert m.turn_seq == turn_seq, "S3: a restored message names another turn"

    @rule(index=CHATS, command=st.sampled_from(STEERING))
    @in_loop
    async def steer(self, index: int, command: c.Command) -> None:
        if command == c.Interrupt():
            await self.stop(index)
        else:
            await self.command(self.chats[index], command)

    async def stop(self, index: int) -> None:
        before = await self.load(self.chats[index])
        await self.command(before.chat_id, c.Interrupt())
        if before.status is Status.AWAITING:
            after = await self.load(before.chat_id)
            assert after.status is Status.IDLE, "ADR 0038: Stop ends the turn also while it waits"

    @rule(index=CHATS, back=st.integers(0, 2), retries=st.booleans())
    @in_loop
    async def steer_one_turn(self, index: int, back: int, retries: bool) -> None:
        """A person stops or retries the turn that is shown, which may be over by now."""
        chat = await self.load(self.chats[index])
        assert chat.turn_seq is not None, "every chat here begins with a message"
        shown = Seq(max(1, chat.turn_seq - back))
        command = c.Retry("m2", shown) if retries else c.Interrupt(shown)
        if await self.command(chat.chat_id, command):
            assert shown == chat.turn_seq, "S3: a command for one turn was taken for another"

    @rule(index=CHATS)
    @in_loop
    async def put_away_and_back(self, index: int) -> None:
        chat_id = self.chats[index]
        if await self.command(chat_id, c.Archive()):
            assert not await self.command(chat_id, c.SendMessage(user("to an archive")))
            assert await self.command(chat_id, c.Unarchive())

    @rule(index=CHATS, what=st.integers(0, 4), pick=SMALL, place=SMALL)
    @in_loop
    async def queue(self, index: int, what: int, pick: int, place: int) -> None:
        chat = await self.load(self.chats[index])
        ids = [queued.queued_id for queued in chat.queue] or [QueuedId(99)]
        made = queue_commands(ids[pick % len(ids)], ids[place % len(ids)])
        await self.command(chat.chat_id, made[what])

    @rule(index=CHATS, approve=st.booleans())
    @in_loop
    async def answer(self, index: int, approve: bool) -> None:
        await self.settle(index, approve=approve)

    async def settle(self, index: int, *, approve: bool) -> None:
        chat = await self.load(self.chats[index])
        if chat.awaiting is None:
            return
        first = CallId(chat.awaiting.calls[0])
        if chat.awaiting.kind.is_gate:
            verdict = "approve" if approve else "deny"
            await self.command(chat.chat_id, c.Decide(first, verdict, digest_for(first)))
        else:
            await self.command(chat.chat_id, c.SubmitResults((result(first, TOO_LONG),)))

    async def command(self, chat_id: ChatId, command: c.Command) -> bool:
        """Whether the command was taken; a refusal must leave no trace."""
        before = await self.load(chat_id)
        self.number += 1
        key = f"key {self.number}"
        try:
            commit = await self.give(chat_id, command, key)
        except CommandRefused:
            await self.unchanged(before)
            return False
        self.asked.append(Asked(chat_id, command, key, commit.answer))
        self.paused.expect(before, command)
        after = await self.load(chat_id)
        grown = after.version - before.version
        assert grown in {0, 1}, f"S2: a command raised the version by {grown}"
        assert (after.worker_id, after.epoch) == (before.worker_id, before.epoch), (
            "S5: a person's command changed who drives the chat"
        )
        await self.check_mode(before, after)
        if not grown:
            await self.repeat(self.asked[-1])
        return True

    async def give(self, chat_id: ChatId, command: c.Command, key: str) -> Commit:
        """Results go by their verb, which cuts them; all else by the ledger itself."""
        if not isinstance(command, c.SubmitResults):
            return await self.world.do(chat_id, command, key=key)
        more: Any = {"window_tokens": WINDOW_TOKENS, "keyed": keyed_by(key, (command,))}
        given: Any = (self.world.ledger, ACTOR, chat_id, command.results)
        commit = await submit_results(*given, **more)
        for part in (each for message in commit.messages for each in message.body.parts):
            assert isinstance(part, ToolResult)
            assert len(str(part.output)) <= OUTPUT_BYTES_MAX, "L147: a result is stored uncut"
        return commit

    @precondition(lambda self: self.asked)
    @rule(back=st.integers(0, 5))
    @in_loop
    async def ask_again(self, back: int) -> None:
        await self.repeat(self.asked[-1 - back % len(self.asked)])

    async def repeat(self, asked: Asked) -> None:
        """The client of a command did not hear its answer, and repeats it under its key."""
        before = await self.load(asked.chat_id)
        commit = await self.world.do(asked.chat_id, asked.command, key=asked.key)
        assert (commit.repeated, commit.answer) == (True, asked.answer), "M1: answered otherwise"
        assert await self.load(asked.chat_id) == before, "M1: a repeat changed something"

    @precondition(lambda self: self.world.settings is not None)
    @rule()
    @in_loop
    async def forbid(self) -> None:
        """An admin forbids something in another process; no hint of it ever comes."""
        assert self.world.settings is not None
        await self.world.settings.change()

    # Workers.

    @rule()
    @in_loop
    async def join(self) -> None:
        await self.add_worker()

    async def add_worker(self) -> None:
        if len(self.workers) < 5:
            self.workers.append(await self.world.a_worker())

    @precondition(lambda self: self.workers)
    @rule(pick=SMALL, limit=st.integers(1, 3))
    @in_loop
    async def acquire(self, pick: int, limit: int) -> None:
        await self.acquire_by(self.workers[pick % len(self.workers)], limit)

    async def acquire_by(self, worker_id: WorkerId, limit: int) -> None:
        before = {chat_id: await self.load(chat_id) for chat_id in self.chats}
        acquired = await self.world.acquire(worker_id, limit)
        # In an order of our own: the database's is its own affair, and runs must repeat.
        for chat in sorted(acquired, key=lambda chat: chat.chat_id):
            was = before[chat.chat_id]
            assert chat.epoch == was.epoch + 1, "S6: an epoch is one acquisition"
            assert was.worker_id not in self.workers, "S5: taken from a live worker"
            for runner in self.runners:
                runner.taken_over |= runner.chat.chat_id == chat.chat_id
            self.runners.append(Runner(chat))

    @rule(pick=SMALL, choices=st.lists(REPLIES, min_size=12, max_size=40), fault=FAULTS)
    @in_loop
    async def life_goes_on(self, pick: int, choices: list[str], fault: Fault) -> None:
        """People talk and answer, and one live worker drives whatever there is to drive."""
        for dead in list(self.crashed):
            await self.lapse(dead)
        await self.add_worker()
        worker_id = self.workers[pick % len(self.workers)]
        for turn, choice in enumerate(choices):
            await self.nudge(turn % 2)
            if len([r for r in self.runners if r.chat.worker_id == worker_id]) < 2:
                await self.acquire_by(worker_id, 3)
            self.store.next_fault = fault if turn % 7 == 3 else "none"
            for runner in [r for r in self.runners if r.chat.worker_id == worker_id]:
                if runner in self.runners:
                    await self.drive_once(runner, choice)
            self.store.next_fault = "none"

    async def nudge(self, index: int) -> None:
        chat = await self.load(self.chats[index])
        if chat.status in {Status.IDLE, Status.FAILED}:
            await self.say(index, urgent=False, fault="none")
        elif chat.status is Status.AWAITING and self.number % 4 == 0:
            await self.stop(index)
        elif chat.status is Status.AWAITING:
            await self.settle(index, approve=True)

    @precondition(lambda self: self.runners)
    @rule(pick=SMALL, choices=st.lists(REPLIES, min_size=1, max_size=6), fault=FAULTS)
    @in_loop
    async def drive(self, pick: int, choices: list[str], fault: Fault) -> None:
        runner = self.runners[pick % len(self.runners)]
        self.store.next_fault = fault
        for choice in choices:
            if runner not in self.runners:
                break
            await self.drive_once(runner, choice)
        self.store.next_fault = "none"

    async def drive_once(self, runner: Runner, choice: str) -> None:
        """One step of a worker, on what it knows. What it may not do must fail."""
        type(self).worker_steps += 1
        self.number += 1
        held, before = runner.chat, await self.load(runner.chat.chat_id)
        commands = runner.commands(choice, self.number)
        try:
            commit = await self.world.drive(held, *commands)
        except AttemptsSpent:
            runner.chat = (await self.world.drive(before, c.Fail(error()))).chat
            self.keep_or_drop(runner)
            return
        except (FenceStale, CommandRefused):
            await self.unchanged(before)
            await self.look_again(runner)
            return
        except Unavailable:
            await self.look_again(runner)
            return
        assert not runner.taken_over, "S4: a worker that was taken over has committed"
        assert (before.worker_id, before.epoch) == (held.worker_id, held.epoch), "S4"
        assert before.history_version == held.history_version, "L06: answered another history"
        if c.BeginAttempt() in commands:
            self.check_settings()
        # A turn that was to finish goes on unchanged if a compaction was requested meanwhile.
        is_one_more = commit.chat.version == before.version + 1
        assert is_one_more or commit.chat == before, "S2: one bundle, one version"
        self.paused.check(before, commit.chat)
        runner.chat = commit.chat
        check_compaction(before, commit.chat, commands)
        check_proposal(commit.chat, commands)
        await self.check_mode(before, commit.chat)
        self.keep_or_drop(runner)

    async def check_mode(self, before: Chat, after: Chat) -> None:
        begun = after.turn_seq != before.turn_seq
        check_mode(before, after, await self.history(after.chat_id) if begun else ())

    def check_settings(self) -> None:
        settings = self.world.settings
        assert settings is None or settings.known == settings.stops, (
            "G2: an attempt began under settings that are older than a hard stop"
        )

    async def look_again(self, runner: Runner) -> None:
        """As a real runner does: ask the store what has become of the chat."""
        now = await self.load(runner.chat.chat_id)
        if (now.worker_id, now.epoch) != (runner.chat.worker_id, runner.chat.epoch):
            self.runners.remove(runner)
        else:
            runner.chat = now
            self.keep_or_drop(runner)

    def keep_or_drop(self, runner: Runner) -> None:
        driven = runner.chat.status in {Status.RUNNING, Status.INTERRUPTING}
        if not driven or runner.chat.worker_id is None:
            self.runners.remove(runner)

    @precondition(lambda self: self.runners)
    @rule(pick=SMALL, what=st.integers(0, 3), choice=REPLIES)
    @in_loop
    async def meanwhile(self, pick: int, what: int, choice: str) -> None:
        """A person does something to a chat between what its runner knows and what it writes."""
        runner = self.runners[pick % len(self.runners)]
        chat_id = runner.chat.chat_id
        self.number += 1
        happens = meanwhile(self.number, await self.history(chat_id))
        await self.command(chat_id, happens[what])
        await self.drive_once(runner, choice)

    @precondition(lambda self: self.runners)
    @rule(pick=SMALL, choices=st.lists(REPLIES, max_size=3), more=REPLIES)
    @in_loop
    async def takeover(self, pick: int, choices: list[str], more: str) -> None:
        """A worker freezes, another goes on in its place, and the first wakes in the middle."""
        zombie = self.runners[pick % len(self.runners)]
        chat_id, worker_id = zombie.chat.chat_id, zombie.chat.worker_id
        assert worker_id is not None
        await self.lapse(worker_id)
        successor = await self.world.a_worker()
        self.workers.append(successor)
        await self.acquire_by(successor, 3)
        for choice in choices:
            for runner in [r for r in self.runners if r.chat.worker_id == successor]:
                if runner.chat.chat_id == chat_id and runner in self.runners:
                    await self.drive_once(runner, choice)
        if zombie in self.runners:
            await self.drive_once(zombie, more)

    @precondition(lambda self: self.workers)
    @rule(pick=SMALL)
    def crash(self, pick: int) -> None:
        """A worker dies: its runners are gone, its lease still stands."""
        worker_id = self.workers[pick % len(self.workers)]
        self.runners = [r for r in self.runners if r.chat.worker_id != worker_id]
        self.crashed.add(worker_id)

    @precondition(lambda self: len(self.workers) > 1)
    @rule(pick=SMALL)
    @in_loop
    async def expire(self, pick: int) -> None:
        await self.lapse(self.workers[pick % len(self.workers)])

    @precondition(lambda self: len(self.workers) > 1)
    @rule(pick=SMALL)
    @in_loop
    async def leave(self, pick: int) -> None:
        worker_id = self.workers[pick % len(self.workers)]
        await self.world.leases.leave(worker_id)
        self.crashed.discard(worker_id)
        self.workers.remove(worker_id)

    async def lapse(self, worker_id: WorkerId) -> None:
        await self.world.lapse(worker_id)
        self.crashed.discard(worker_id)
        with suppress(ValueError):
            self.workers.remove(worker_id)

    # What must hold.

    @in_loop
    async def teardown(self) -> None:
        if not self.chats:
            return
        self.store.next_fault = "none"
        try:
            for sent in self.sent:
                if sent.known == "unknown":
                    await self.deliver(sent, "none")
            found = await self.world.violations(self.chats)
            assert found == [], found
            for chat_id in self.chats:
                await self.check_messages(chat_id)
        finally:
            # Also after a failure: else the next example finds chats that are not its own, and
            # Hypothesis tells of that instead of what broke.
            await self.world.clear(self.chats)

    async def check_messages(self, chat_id: ChatId) -> None:
        """M1: what was accepted is there once, whatever was repeated; what was refused is not."""
        said, waiting = await self.world.everything(chat_id)
        history = await self.history(chat_id)
        keyed = {m.body.client_key: m for m in history}
        for sent in self.sent:
            if sent.chat_id == chat_id:
                sent.check_there(said.count(sent.text) + waiting.count(sent.text))
                if sent.key in keyed:
                    sent.check_found(keyed[ClientKey(sent.key)])
        check_boundaries(history)
        check_advice(history)
        check_plans(history)

    async def load(self, chat_id: ChatId) -> Chat:
        return await self.world.load(chat_id)

    async def history(self, chat_id: ChatId) -> tuple[Message, ...]:
        return await self.world.read(chat_id)

    async def unchanged(self, before: Chat) -> None:
        assert await self.load(before.chat_id) == before, "S1: a refusal changed something"
