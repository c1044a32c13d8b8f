"""A worker whose lease is renewed while its commits fail: over verified fakes, in virtual time."""

import asyncio
from dataclasses import replace

import pytest
from typing_extensions import override

from holdfast.bootstrap.observed import ObservedStore
from holdfast.domain.chat import Chat
from holdfast.domain.errors import Contended, Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import Version
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.store import IdempotencyKey, Stamp
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.health import GAP_S_MAX, CommitHealth
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.builders import CHAT, ORG, OWNER
from tests.support.fake_store import FakeStore
from tests.support.virtual import LoopClock, run_virtually
from tests.support.workers import fake_cell, until

TTL_S = WorkerOptions().lease.ttl_s
ROOMY = replace(WorkerOptions(), capacity=1000)


async def drive_for_ever(chat: Chat, nudges: Interrupts) -> Chat:
    while not nudges.leaving:
        await nudges.wait()
    return chat


async def fail_for(health: CommitHealth, length_s: float) -> None:
    """A commit without an answer every half second."""
    for _ in range(int(2 * length_s) + 1):
        health.commit_failed()
        await asyncio.sleep(0.5)


@requirement("L135")
def test_a_worker_that_renews_but_cannot_commit_gives_up_its_lease() -> None:
    async def story() -> None:
        health = CommitHealth()
        async with (
            fake_cell() as cell,
            cell.replica(drive=drive_for_ever, health=health) as ill,
        ):
            for _ in range(3):
                await cell.send()
            await until(lambda: ill.counters.driven == 3)
            first = ill.worker.worker_id
            async with cell.replica(ROOMY, length_s=600) as healthy:
                await asyncio.sleep(1)
                await fail_for(health, TTL_S - 1)
                assert ill.worker.worker_id == first, "not before a lease's length"
                await fail_for(health, 1)
                await until(lambda: len(healthy.script.driving) == 3)
                assert ill.counters.driven == 0
                assert ill.counters.leases_given_up == 1
                assert ill.counters.lease_losses == 0
                assert ill.worker.worker_id is None, "it stands back, for others to come first"
                await until(lambda: ill.worker.worker_id is not None)
                await cell.send()
                await until(lambda: len(healthy.script.driving) + ill.counters.driven == 4)

    run_virtually(story())


@requirement("L135")
@pytest.mark.parametrize("kind", ["an answer", "no further commit", "another one much later"])
def test_a_lease_is_kept_where_commits_do_not_fail_on_and_on(kind: str) -> None:
    async def story() -> None:
        health = CommitHealth()
        async with (
            fake_cell() as cell,
            cell.replica(drive=drive_for_ever, health=health) as one,
        ):
            await cell.send()
            await until(lambda: one.counters.driven == 1)
            first = one.worker.worker_id
            await fail_for(health, TTL_S - 1)
            if kind == "an answer":
                health.commit_answered()
                await fail_for(health, TTL_S - 1)
            else:
                await asyncio.sleep(max(3 * TTL_S, GAP_S_MAX + 1))
            if kind == "another one much later":
                health.commit_failed()
                await asyncio.sleep(1)
            assert one.worker.worker_id == first
            assert one.counters.leases_given_up == 0

    run_virtually(story())


class Failing(FakeStore):
    def __init__(self) -> None:
        super().__init__(LoopClock())
        self.error: Exception | None = None

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        if self.error is not None:
            raise self.error
        return await super().commit(outcome, fence=fence, keyed=keyed)


@requirement("L135")
def test_the_store_tells_of_commits_without_an_answer_and_of_no_others() -> None:
    async def story() -> None:
        health, store = CommitHealth(), Failing()
        observed = ObservedStore(store, lambda _: None, health)
        chat = Chat(chat_id=CHAT, org_id=ORG, owner_id=OWNER)
        outcome = Outcome(before=chat, chat=chat, answer=Answer(version=Version(1)), changed=True)
        for error, failed_s in (
            (Unavailable("away"), 0.0),
            (Contended("a lock"), 0.0),
            (Unavailable("away"), 2.0),
        ):
            store.error = error
            with pytest.raises(Unavailable):
                await observed.commit(outcome)
            assert health.failed_for_s == failed_s
            await asyncio.sleep(1)
        store.error = None
        assert await observed.commit(outcome) is None, "refused is an answer, too"
        assert health.failed_for_s == 0.0

    run_virtually(story())
