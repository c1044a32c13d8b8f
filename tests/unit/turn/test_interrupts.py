"""What a driver has heard and not yet dealt with."""

from dataclasses import replace

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import Version
from holdfast.turn.interrupts import Interrupts
from tests.support.builders import a_chat, backoff

CHAT = a_chat(Status.RUNNING)


def at(version: int) -> Chat:
    return replace(CHAT, version=Version(version))


def hear_interrupt(nudges: Interrupts, version: int) -> None:
    nudges.hear(Version(version), CHAT.history_version, Status.INTERRUPTING)


def test_only_what_ends_a_step_is_heard() -> None:
    nudges = Interrupts(at(7))
    nudges.hear(Version(8), CHAT.history_version, Status.RUNNING)
    assert not nudges.pending
    hear_interrupt(nudges, 7)
    assert not nudges.pending
    hear_interrupt(nudges, 8)
    assert nudges.pending


def test_who_waits_before_the_next_attempt_looks_at_everything() -> None:
    nudges = Interrupts(replace(at(7), backoff=backoff()))
    nudges.hear(Version(8), CHAT.history_version, Status.RUNNING)
    assert nudges.pending


def test_a_later_interrupt_survives_the_settling_of_an_earlier_commit() -> None:
    """It may be heard between our commit and our learning of it: then it is not in that commit."""
    nudges = Interrupts(at(7))
    hear_interrupt(nudges, 9)
    nudges.settle(at(8))
    assert nudges.pending
    nudges.settle(at(9))
    assert not nudges.pending


def test_a_doubt_is_only_laid_by_reading() -> None:
    nudges = Interrupts(at(7))
    nudges.doubt()
    nudges.settle(at(8))
    assert nudges.pending
    nudges.heed()
    assert not nudges.pending


def test_letting_go_is_for_good() -> None:
    nudges = Interrupts(at(7))
    nudges.let_go()
    nudges.heed()
    nudges.settle(at(9))
    assert nudges.pending
    assert nudges.leaving
