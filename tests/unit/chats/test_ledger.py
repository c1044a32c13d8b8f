"""The one door when another commit comes first."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.ledger import COMMIT_TRIES_MAX, Ledger
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Create, DeclareTools, SendMessage
from holdfast.domain.errors import ChangedMeanwhile, ChatBusy
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, Version, VersionStamp
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.store import Created, IdempotencyKey, Stamp
from tests.support.builders import NOW, ORG, OWNER, a_chat, a_tool, user
from tests.support.doubles import HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore
from tests.support.world import ACTOR, keyed_by


class Contended(FakeStore):
    """Another commit comes first, so many times."""

    losses = 0
    gone = False
    """What was made under a key was deleted at once."""

    before_receipt: Callable[[], Awaitable[object]] | None = None

    def __init__(self) -> None:
        super().__init__(HandClock())
        self.committed: list[Outcome] = []

    @override
    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return None if self.gone else await super().create(outcome, keyed)

    @override
    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return None if self.gone else await super().find_created(owner_id, key)

    @override
    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        hook, self.before_receipt = self.before_receipt, None
        if hook is not None:
            await hook()
        return await super().keep_receipt(chat_id, keyed, answer, stamp)

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        if self.losses:
            self.losses -= 1
            return None
        self.committed.append(outcome)
        return await super().commit(outcome, fence=fence, keyed=keyed)


@dataclass
class Door:
    store: Contended = field(default_factory=Contended)
    hints: KeptHints = field(default_factory=KeptHints)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store, self.hints, HandClock())

    async def chat(self) -> Chat:
        chat = Chat(chat_id=SeededIds().new_chat_id(), org_id=ORG, owner_id=OWNER)
        return (await self.ledger.create(chat, Create())).chat


async def test_who_was_overtaken_decides_again() -> None:
    door = Door()
    chat = await door.chat()
    door.store.losses = 3
    request = ChangeRequest((SendMessage(user()),), by=ACTOR)
    commit = await door.ledger.transact(chat.chat_id, request)
    assert commit.chat.version == chat.version + 1
    assert len(door.store.committed) == 1


async def test_who_is_always_overtaken_is_told_in_the_end() -> None:
    door = Door()
    chat = await door.chat()
    door.store.losses = COMMIT_TRIES_MAX + 1
    told = len(door.hints.published)
    with pytest.raises(ChatBusy, match=f"{COMMIT_TRIES_MAX} times"):
        await door.ledger.transact(chat.chat_id, ChangeRequest((SendMessage(user()),), by=ACTOR))
    assert door.store.losses == 0, "it tried as often as it says"
    assert len(door.hints.published) == told, "nothing happened, nothing is told"


async def test_a_chat_made_and_deleted_between_two_statements_is_busy() -> None:
    door = Door()
    door.store.gone = True
    chat = Chat(chat_id=SeededIds().new_chat_id(), org_id=ORG, owner_id=OWNER)
    with pytest.raises(ChatBusy):
        await door.ledger.create(chat, Create(), keyed=keyed_by("k", "x"))


async def test_unchanged_command_is_decided_again_if_the_chat_moved_on() -> None:
    door = Door()
    chat = await door.chat()
    first, second = DeclareTools(()), DeclareTools((a_tool(),))

    async def declare_meanwhile() -> None:
        await door.ledger.transact(chat.chat_id, ChangeRequest((second,), by=ACTOR))

    door.store.before_receipt = declare_meanwhile
    keyed = keyed_by("k", "x")
    commit = await door.ledger.transact(chat.chat_id, ChangeRequest((first,), by=ACTOR, key=keyed))
    assert (commit.chat.version, commit.chat.tools) == (chat.version + 2, ())
    again = await door.ledger.transact(chat.chat_id, ChangeRequest((first,), by=ACTOR, key=keyed))
    assert (again.repeated, again.answer) == (True, commit.answer)


async def test_who_saw_another_history_changes_nothing() -> None:
    door = Door()
    chat = await door.chat()
    request = ChangeRequest((SendMessage(user()),), by=ACTOR, expected={Version(99)})
    with pytest.raises(ChangedMeanwhile, match="Read it again"):
        await door.ledger.transact(chat.chat_id, request)
    assert door.store.committed == []


async def test_the_audit_log_is_told_in_the_same_commit() -> None:
    door = Door()
    chat = await door.chat()
    entry = AuditEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)
    request = ChangeRequest((SendMessage(user()),), by=ACTOR, audit=entry)
    await door.ledger.transact(chat.chat_id, request)
    assert [outcome.riders for outcome in door.store.committed] == [(entry,)]


def test_a_runner_cannot_ask_what_people_ask() -> None:
    with pytest.raises(AssertionError, match="not for"):
        ChangeRequest((SendMessage(user()),), by=Fence.of(a_chat(Status.RUNNING)))


def test_only_a_runner_passes_a_snapshot() -> None:
    with pytest.raises(AssertionError, match="snapshot"):
        ChangeRequest((SendMessage(user()),), by=ACTOR, snapshot=a_chat())
