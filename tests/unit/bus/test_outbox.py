"""What is dropped is counted each time and told of at most every ten seconds."""

import logging

import pytest

from holdfast.bus.options import BusOptions
from holdfast.bus.outbox import WARNING_EVERY_S, Drops, Outbox
from holdfast.ports.bus import BusCounters
from tests.requirements import requirement
from tests.support.builders import CHAT
from tests.support.buses import hint, part
from tests.support.doubles import SeededIds


@requirement("L65")
def test_drops_are_told_at_most_every_ten_seconds_with_their_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "holdfast.bus")
    now = 0.0
    counters = BusCounters()
    drops = Drops(counters, lambda: now)
    other = SeededIds().new_chat_id()
    for tenth in range(300):
        now = tenth / 10
        drops.add([part(1), part(1, chat_id=other), hint(1)])

    said = [record.getMessage() for record in caplog.records]
    assert WARNING_EVERY_S == 10
    assert [message.split(";")[0] for message in said] == [
        "the bus dropped 3 hints and live parts of 2 chats",
        "the bus dropped 300 hints and live parts of 2 chats",
        "the bus dropped 300 hints and live parts of 2 chats",
    ]
    assert (counters.dropped_parts, counters.dropped_hints) == (600, 300)


def an_outbox(counters: BusCounters, **options: int) -> Outbox:
    return Outbox(BusOptions(**options), Drops(counters, lambda: 0.0))


async def test_the_buffer_is_bounded_in_bytes() -> None:
    counters = BusCounters()
    outbox = an_outbox(counters, buffered_bytes_max=10_000)
    outbox.put([part(seq, b"x" * 3_000) for seq in range(1, 6)])
    assert [item.chat_id for item in await outbox.take(wait_s=1)] == [CHAT] * 3
    assert counters.dropped_parts == 2


async def test_a_batch_that_comes_back_goes_first_and_still_fits() -> None:
    counters = BusCounters()
    outbox = an_outbox(counters, buffered_max=4, batch_max=2)
    outbox.put([part(1), part(2), part(3), part(4)])
    batch = await outbox.take(wait_s=1)
    outbox.put([part(5)])
    outbox.put_back(batch)
    assert await outbox.take(wait_s=1) == [part(2), part(3)]
    assert await outbox.take(wait_s=1) == [part(4), part(5)]
    assert await outbox.take(wait_s=0.01) == []
    assert counters.dropped_parts == 1
