"""A sweep ends the waits whose deadline has passed: over verified fakes, in virtual time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.chats.changes import ChatWriter, Commit
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Await, CommitStep
from holdfast.domain.errors import NotYetExpired
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import Need
from holdfast.turn.interrupts import Interrupts
from holdfast.worker import reconcile as sync
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.builders import CHAT, asks
from tests.support.virtual import run_virtually
from tests.support.workers import Cell, Replica, fake_cell, until

SWEEP_MAX = 2
WAIT = timedelta(minutes=1)
OPTIONS = replace(WorkerOptions(), sweep_max=SWEEP_MAX)
REFUSALS = [NotYetExpired(CHAT, "awaiting", "ExpireAwait", "there is time"), ValueError()]


async def a_wait(cell: Cell) -> Chat:
    chat = await cell.send()

    async def waits() -> bool:
        return (await cell.load(chat.chat_id)).status is Status.AWAITING

    await until(waits)
    return chat


@requirement("L84", "L137")
@pytest.mark.parametrize("refusal", REFUSALS, ids=["refused", "our mistake"])
def test_chats_that_are_refused_for_ever_do_not_hide_the_others(
    refusal: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest deadlines are those of twice as many refused chats as a sweep has room for."""
    refused: set[ChatId] = set()
    expire = sync.expire

    async def expire_unless_refused(ledger: ChatWriter, chat_id: ChatId) -> Commit:
        if chat_id in refused:
            raise refusal
        return await expire(ledger, chat_id)

    monkeypatch.setattr(sync, "expire", expire_unless_refused)

    async def story() -> None:
        replicas: list[Replica] = []

        async def drive(chat: Chat, nudges: Interrupts) -> Chat:
            script = replicas[0].script
            if chat.epoch > 1:
                return await script.drive(chat, nudges)
            step = CommitStep((asks("c1", needs=Need.ANSWER),))
            wait = Await(Need.ANSWER, (CallId("c1"),), cell.clock.now() + WAIT)
            return await script.commit(chat, chat, step, wait)

        async with fake_cell() as cell, cell.replica(OPTIONS, drive=drive) as one:
            replicas.append(one)
            chats = [await a_wait(cell) for _ in range(2 * SWEEP_MAX + 1)]
            hidden = chats.pop()
            refused.update(chat.chat_id for chat in chats)
            await cell.until_idle(hidden, within_s=300)
            assert one.counters.expired == 1
            refused.clear()
            await cell.until_idle(*chats, within_s=300)

    run_virtually(story())
