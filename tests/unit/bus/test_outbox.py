"""What is dropped is counted each time and told of at most every ten seconds."""

import asyncio
import logging
from uuid import UUID

import pytest

from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.outbox import WARNING_EVERY_S, Drops, Outbox
from holdfast.domain.ids import OrgId
from holdfast.ports.bus import BusCounters, Hint, LivePart, SettingsHint
from tests.requirements import requirement
from tests.support.buses import hint, part
from tests.support.doubles import SeededIds
from tests.support.virtual import virtual_runner as virtual_runner


@requirement("L65")
def test_drops_are_told_at_most_every_ten_seconds_with_their_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "holdfast.adapters.bus")
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
        "bus: dropped 3 hints and live parts of 2 chats",
        "bus: dropped 300 hints and live parts of 2 chats",
        "bus: dropped 300 hints and live parts of 2 chats",
    ]
    assert (counters.dropped_parts, counters.dropped_hints) == (600, 300)


def test_dropped_hint_about_settings_is_counted_as_a_hint_of_no_chat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters = BusCounters()
    Drops(counters, lambda: 0.0).add([SettingsHint(OrgId(UUID(int=5)), 1), part(1)])
    assert "dropped 2 hints and live parts of 1 chats" in caplog.text
    assert (counters.dropped_parts, counters.dropped_hints) == (1, 1)


def an_outbox(counters: BusCounters, **options: int) -> Outbox:
    return Outbox(BusOptions(**options), Drops(counters, lambda: 0.0))


async def test_the_buffer_is_bounded_in_bytes() -> None:
    counters = BusCounters()
    outbox = an_outbox(counters, buffered_bytes_max=10_000)
    outbox.put([part(seq, b"x" * 3_000) for seq in range(1, 6)])
    assert await outbox.take(wait_s=1) == [part(seq, b"x" * 3_000) for seq in (3, 4, 5)]
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


@pytest.mark.parametrize(
    ("said", "early"), [(hint(1), True), (part(1), True), (part(2), False)], ids=str
)
async def test_only_what_somebody_waits_for_ends_a_lull_early(
    said: Hint | LivePart, *, early: bool
) -> None:
    outbox = an_outbox(BusCounters())
    loop = asyncio.get_running_loop()
    loop.call_later(0.01, outbox.put, [said])
    began_s = loop.time()
    await outbox.lull(at_least_s=0.05, at_most_s=1.0)
    took_s = loop.time() - began_s
    assert took_s == pytest.approx(0.05 if early else 1.0)


async def test_what_was_taken_hurries_nobody() -> None:
    outbox = an_outbox(BusCounters())
    outbox.put([hint(1)])
    await outbox.take(wait_s=1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(9.0):
            await outbox.lull(at_least_s=0.0, at_most_s=10.0)


def test_a_crowd_shares_batches_and_who_comes_alone_does_not_wait() -> None:
    options = BusOptions(tick_s=0.02, rest=3.0, crowd=8)
    assert options.rest_after(0.004, 8) == options.rest_after(0.004, 500) == pytest.approx(0.012)
    assert options.rest_after(0.004, 1) == pytest.approx(0.0015)
    assert options.rest_after(0.004, 0) == 0.0, "a tick is long enough where nobody waits"
    assert options.rest_after(1.0, 8) == options.tick_s
