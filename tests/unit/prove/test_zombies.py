"""Which commits of a frozen worker are a zombie's."""

from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.ids import ChatId
from holdfast_lab.chaos.stage.theatre import Heard
from holdfast_lab.chaos.turns.trials import late_commits

CHAT = ChatId(UUID(int=1))


def acquired(epoch: int, version: int, chat: ChatId = CHAT) -> Heard:
    return heard("acquired", epoch, version, chat)


def committed(epoch: int | None, version: int, chat: ChatId = CHAT) -> Heard:
    return heard("committed", epoch, version, chat)


def heard(said: str, epoch: int | None, version: int, chat: ChatId) -> Heard:
    what: dict[str, Any] = {"said": said, "chat": str(chat), "epoch": epoch, "version": version}
    return Heard(what, 0.0)


def test_what_was_written_before_is_nobodys_fault() -> None:
    assert late_commits(CHAT, [acquired(1, 2), committed(1, 4)], [acquired(2, 5)]) == []


def test_what_is_written_with_an_epoch_that_is_over_is_late() -> None:
    victim = [acquired(1, 2), committed(1, 4), committed(1, 5), committed(1, 7)]
    assert late_commits(CHAT, victim, [acquired(2, 5)]) == [5, 7]


@pytest.mark.parametrize("epoch", [None, 2])
def test_so_is_what_is_written_with_none_or_with_the_successors(epoch: int | None) -> None:
    assert late_commits(CHAT, [acquired(1, 2), committed(epoch, 6)], [acquired(2, 5)]) == [6]


def test_who_takes_the_chat_back_writes_lawfully_until_it_is_taken_again() -> None:
    victim = [acquired(1, 2), committed(1, 4), acquired(3, 7), committed(3, 8), committed(3, 11)]
    assert late_commits(CHAT, victim, [acquired(2, 5)]) == []
    assert late_commits(CHAT, victim, [acquired(2, 5), acquired(4, 9)]) == [11]


def test_other_chats_do_not_matter() -> None:
    other = ChatId(UUID(int=2))
    assert late_commits(CHAT, [committed(1, 7, other)], [acquired(2, 5)]) == []
    assert late_commits(CHAT, [committed(1, 7)], [acquired(2, 5, other)]) == []
