"""Identifiers as production has them."""

from datetime import timedelta
from uuid import RFC_4122

from holdfast.bootstrap.ids import SystemIds
from tests.support.builders import NOW
from tests.support.doubles import HandClock


def test_they_are_uuid7_of_the_databases_time_and_sort_by_it() -> None:
    clock = HandClock(NOW)
    ids = SystemIds(clock)
    first = ids.new_chat_id()
    clock.advance(timedelta(milliseconds=1))
    second = ids.new_chat_id()
    assert (first.version, first.variant) == (7, RFC_4122)
    assert first.int >> 80 == round(NOW.timestamp() * 1000)
    assert first < second


def test_no_two_are_alike_within_a_millisecond() -> None:
    ids = SystemIds(HandClock(NOW))
    assert len({ids.new_chat_id() for _ in range(10_000)}) == 10_000


def test_all_of_the_chance_is_used() -> None:
    assert (
        SystemIds(HandClock(NOW), lambda bits: (1 << bits) - 1).new_chat_id().int & 0xFFF == 0xFFF
    )
    assert SystemIds(HandClock(NOW), lambda _bits: 0).new_chat_id().int & 0xFFF == 0
