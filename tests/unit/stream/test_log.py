"""The log that all readers of a chat share."""

from holdfast.domain.ids import Version
from holdfast.ports.bus import Episode
from holdfast.stream.log import EncodedPart, Log
from tests.requirements import requirement


def said(seq: int, data: bytes = b"{}") -> EncodedPart:
    return EncodedPart(Episode(Version(1), 1), seq, data)


def test_what_all_have_taken_is_dropped() -> None:
    log = Log(10, 10_000)
    one, two = log.enter(), log.enter()
    log.append(said(1))
    assert log.take(one) == said(1)
    assert len(log) == 1
    assert log.take(two) == said(1)
    assert len(log) == 0
    log.append(said(2))
    log.leave(one + 1)
    assert len(log) == 1
    log.leave(two + 1)
    assert (len(log), log.readers) == (0, 0)


def test_without_readers_nothing_is_kept() -> None:
    log = Log(10, 10_000)
    log.append(said(1))
    assert len(log) == 0


@requirement("R5")
def test_a_reader_that_never_takes_costs_no_more_than_the_bound() -> None:
    log = Log(3, 10_000)
    sleeper, quick = log.enter(), log.enter()
    for seq in range(1, 10):
        log.append(said(seq))
        assert log.take(quick) == said(seq)
        quick += 1
        assert len(log) <= 3
    assert log.has_lost(sleeper)
    assert not log.has_lost(quick)
    log.leave(sleeper)
    assert len(log) == 0


@requirement("R5")
def test_bytes_are_bounded_too_but_the_newest_entry_comes_on_top() -> None:
    log = Log(100, 1_000)
    log.enter()
    assert not log.is_filling
    for seq in range(1, 20):
        log.append(said(seq, b"x" * 300))
    assert len(log) == 3
    assert log.is_filling
    log.append(said(20, b"x" * 5_000))
    assert len(log) == 3, "a long one makes nobody slow who is close behind"
    log.append(said(21, b"x" * 300))
    assert len(log) == 1


def test_one_that_enters_later_takes_only_what_comes() -> None:
    log = Log(10, 10_000)
    early = log.enter()
    log.append(said(1))
    late = log.enter()
    log.append(said(2))
    assert [log.take(early), log.take(early + 1)] == [said(1), said(2)]
    assert log.take(late) == said(2)
    assert len(log) == 0
