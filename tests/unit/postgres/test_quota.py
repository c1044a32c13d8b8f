"""The bytes of an owner are counted now and then, and added up meanwhile: in virtual time."""

import asyncio
from uuid import UUID

import pytest

from holdfast.adapters.postgres import quota
from holdfast.adapters.postgres.quota import COUNTED_FOR_S, BytesQuota
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import UserId
from tests.support.virtual import run_virtually

ANN, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))


class Counted:
    """A database, as far as the quota sees it."""

    def __init__(self, **bytes_of: int) -> None:
        self.bytes_of = {ANN: bytes_of.get("ann", 0), BOB: bytes_of.get("bob", 0)}
        self.asked: list[UserId] = []

    async def __call__(self, owner_id: UserId) -> int:
        self.asked.append(owner_id)
        return self.bytes_of[owner_id]


def test_a_sum_is_asked_for_once_and_what_is_stored_meanwhile_is_added() -> None:
    async def story() -> None:
        count = Counted(ann=60)
        bytes_ = BytesQuota(count, 100)
        assert await bytes_.has_room(ANN, 40)
        bytes_.add(ANN, 40)
        assert not await bytes_.has_room(ANN, 1)
        assert await bytes_.has_room(ANN, 0)
        assert await bytes_.has_room(BOB, 100)
        assert not await bytes_.has_room(BOB, 101)
        assert count.asked == [ANN, BOB]

    run_virtually(story())


def test_after_a_while_it_is_counted_anew() -> None:
    async def story() -> None:
        count = Counted(ann=60)
        bytes_ = BytesQuota(count, 100)
        assert await bytes_.has_room(ANN, 40)
        count.bytes_of[ANN] = 90  # stored by another process
        await asyncio.sleep(COUNTED_FOR_S - 1)
        assert await bytes_.has_room(ANN, 40)
        await asyncio.sleep(1)
        assert not await bytes_.has_room(ANN, 40)
        assert count.asked == [ANN, ANN]

    run_virtually(story())


def test_a_sum_that_is_not_answered_refuses_nothing() -> None:
    async def away(owner_id: UserId) -> int:
        raise Unavailable("no answer")

    async def story() -> None:
        assert await BytesQuota(away, 100).has_room(ANN, 101)

    run_virtually(story())


def test_without_a_bound_nothing_is_counted() -> None:
    async def story() -> None:
        count = Counted(ann=2**60)
        bytes_ = BytesQuota(count, 0)
        assert await bytes_.has_room(ANN, 2**60)
        bytes_.add(ANN, 1)
        assert count.asked == []

    run_virtually(story())


def test_the_sums_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "OWNERS_MAX", 1)

    async def story() -> None:
        count = Counted()
        bytes_ = BytesQuota(count, 100)
        for owner in (ANN, ANN, BOB, ANN):
            assert await bytes_.has_room(owner, 1)
        assert count.asked == [ANN, BOB, ANN]

    run_virtually(story())
