"""Episodes: which comes after which, and which may be the same."""

from dataclasses import replace

from holdfast.domain.ids import NO_STAMP, Version, VersionStamp
from holdfast.ports.bus import Episode
from tests.requirements import requirement
from tests.support.builders import a_chat

ONE = Episode(Version(7), 2, VersionStamp(5))


def test_episode_of_a_chat_has_the_stamp_of_its_history() -> None:
    chat = replace(a_chat(), history_version=Version(7), attempt=2, history_stamp=VersionStamp(5))
    assert Episode.of(chat) == ONE


def test_order_is_that_of_the_numbers() -> None:
    assert ONE._replace(attempt=3, history_stamp=VersionStamp(1)).is_after(ONE)
    assert ONE._replace(history_version=Version(8), attempt=0).is_after(ONE)
    assert not ONE._replace(history_stamp=VersionStamp(9)).is_after(ONE)
    assert not ONE._replace(history_version=Version(6), attempt=3).is_after(ONE)


@requirement("L146")
def test_stamp_that_is_not_known_may_be_any() -> None:
    unknown = ONE._replace(history_stamp=NO_STAMP)
    assert ONE.may_be(ONE)
    assert ONE.may_be(unknown)
    assert unknown.may_be(ONE)
    assert not ONE.may_be(ONE._replace(history_stamp=VersionStamp(6)))
    assert not ONE.may_be(unknown._replace(attempt=3))
