"""Bundles made from rows: the places of the commit, and a cursor for each event or none."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from holdfast.chats.hints import EncodedEvent, Inline, Stamps
from holdfast.domain.chat import Chat, Status
from holdfast.domain.events import EventType
from holdfast.domain.ids import Epoch, Seq, Version, VersionStamp
from holdfast.domain.messages import Message, MessageBody, Visibility
from holdfast.ports.bus import Episode, Hint
from holdfast.ports.history import Changes, HistoryPage
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from tests.requirements import requirement
from tests.support.builders import CHAT, NOW, a_chat, reply, system, user

BIG = 10**9


def message(seq: int, revision: int, body: MessageBody | None = None, stamp: int = 0) -> Message:
    return Message(
        seq=Seq(seq),
        body=body or reply(str(seq)),
        revision=Version(revision),
        epoch=Epoch(1),
        created_at=NOW,
        stamp=VersionStamp(stamp),
    )


def changes(*written: Message, hidden_from: int | None = None) -> Changes:
    return Changes(
        version=Version(9),
        history_version=Version(9),
        hidden_from=None if hidden_from is None else Seq(hidden_from),
        written=written,
        complete=True,
    )


def at(version: int, **facts: Any) -> Chat:
    return a_chat(Status.RUNNING, version=Version(version), queue_version=Version(1), **facts)


def places(bundle: Bundle) -> list[tuple[str, int, int | None]]:
    return [(event.kind.value, event.version, event.place) for event in bundle.events]


def test_messages_of_several_commits_keep_their_places() -> None:
    hidden = message(4, 8, user("for the model", visibility=Visibility.MODEL))
    missed = changes(message(3, 7), hidden, message(5, 8), message(6, 8), message(7, 9))

    bundle = bundles.of_changes(at(9), Version(6), None, missed)

    assert places(bundle) == [
        *(("message.created", *at) for at in ((7, 1), (8, 1), (8, 2), (9, 1))),
        ("chat.state", 9, 3),
    ]


def test_in_the_middle_of_a_commit_only_its_rest_is_told() -> None:
    missed = changes(message(5, 9), message(6, 9), hidden_from=None)

    bundle = bundles.of_changes(at(9), Version(9), 1, missed)

    assert places(bundle) == [("message.created", 9, 2), ("chat.state", 9, 4)]
    after_status = bundles.of_changes(at(9), Version(9), 4, missed)
    assert [kind for kind, *_ in places(after_status)] == ["preview.reset"]


def test_what_was_hidden_is_forgotten_before_what_replaced_it() -> None:
    bundle = bundles.of_changes(at(9), Version(6), None, changes(message(5, 8), hidden_from=2))
    assert places(bundle)[:2] == [("history.reset", 8, 0), ("message.created", 8, 1)]

    only_hidden = bundles.of_changes(at(9), Version(6), None, changes(hidden_from=2))
    assert places(only_hidden)[0] == ("history.reset", 9, 0)


@requirement("L146")
def test_every_event_names_the_stamp_of_the_history_as_of_its_version() -> None:
    written = (message(3, 7, stamp=71), message(5, 8, stamp=81))
    chat = at(9, stamp=VersionStamp(91), history_stamp=VersionStamp(81))

    missed = bundles.of_changes(chat, Version(6), None, changes(*written, hidden_from=2))
    snapshot = bundles.of_snapshot(chat, HistoryPage(written, None), BIG)
    nothing = bundles.of_changes(chat, Version(9), None, changes(hidden_from=2))

    reset_and_messages = [(7, 71), (7, 71), (8, 81)]
    assert histories(missed) == [*reset_and_messages, (9, 81)]
    assert histories(snapshot) == [*reset_and_messages, (9, 81), (9, 81)]
    assert histories(nothing) == [(9, 81), (9, 81)]
    anew = bundles.to_begin_anew(chat, Version(9))
    for bundle in (missed, snapshot, bundles.of_nothing(chat), anew):
        assert (bundle.stamp, bundle.history_stamp) == (91, 81)


@requirement("L146")
def test_commit_of_a_hint_names_its_stamps() -> None:
    status = EncodedEvent(EventType.CHAT_STATE, 2, b"{}")
    stamps = Stamps(VersionStamp(91), VersionStamp(81), VersionStamp(71))
    hint = Hint(CHAT, Version(9), Status.IDLE, history_version=Version(8))

    inline, before = Inline(1, (status,), stamps), Episode(Version(8), 1)
    bundle = bundles.of_hint(hint, inline, before, spent=False)

    assert [kind for kind, *_ in places(bundle)] == ["preview.reset", "chat.state"]
    assert histories(bundle) == [(9, 81), (9, 81)]
    assert (bundle.stamp, bundle.history_stamp) == (91, 81)


def histories(bundle: Bundle) -> list[tuple[int, int]]:
    return [(event.version, event.history_stamp) for event in bundle.events]


@pytest.mark.parametrize(
    ("since", "place", "told"), [(4, None, True), (5, None, False), (5, 2, True), (6, None, False)]
)
def test_the_queue_is_told_to_who_has_not_seen_it(
    since: int, place: int | None, told: bool
) -> None:
    chat = a_chat(Status.RUNNING, queue_version=Version(5), queue=1)
    bundle = bundles.of_changes(chat, Version(since), place, None)
    assert (EventType.QUEUE_UPDATED in {event.kind for event in bundle.events}) is told


@requirement("R8")
def test_a_snapshot_resets_and_tells_the_end_of_the_history() -> None:
    page = HistoryPage((message(1, 7, system()), message(2, 7), message(3, 9)), None)

    snapshot = bundles.of_snapshot(at(9), page, BIG)

    assert places(snapshot) == [
        *(("history.reset", 7, 0), ("message.created", 7, 1), ("message.created", 9, 1)),
        *(("chat.state", 9, 3), ("queue.updated", 9, 4)),
    ]


def test_a_snapshot_that_may_begin_inside_a_commit_names_no_places_there() -> None:
    page = HistoryPage((message(5, 7), message(6, 7), message(7, 8)), Seq(5))

    snapshot = bundles.of_snapshot(at(8), page, BIG)

    assert places(snapshot)[:4] == [
        ("history.reset", 7, None),
        *(("message.created", 7, None), ("message.created", 7, None), ("message.created", 8, 1)),
    ]
    assert orjson.loads(snapshot.events[0].data) == {
        "from_seq": 1,
        "older_before_seq": 5,
        "reason": "snapshot",
    }
    all_in_one = bundles.of_snapshot(at(7), HistoryPage(page.messages[:2], Seq(5)), BIG)
    assert {place for *_, place in places(all_in_one)} == {None}


def test_a_snapshot_is_bounded_in_bytes_but_holds_the_newest_message() -> None:
    page = HistoryPage(tuple(message(n, n, reply("x" * 1_000)) for n in range(1, 6)), None)

    some = bundles.of_snapshot(at(9), page, 3_000)
    one = bundles.of_snapshot(at(9), page, 10)

    assert [v for kind, v, _ in places(some) if kind == "message.created"] == [4, 5]
    assert orjson.loads(some.events[0].data)["older_before_seq"] == 4
    assert [v for kind, v, _ in places(one) if kind == "message.created"] == [5]


def test_nothing_is_said_any_more_once_a_person_asked_to_try_again() -> None:
    assert bundles.is_spent(a_chat(Status.FAILED))
    assert bundles.is_spent(a_chat(Status.RUNNING, attempt=2, attempts_forgiven=2))
    assert not bundles.is_spent(a_chat(Status.RUNNING, attempt=3, attempts_forgiven=2))
    assert not bundles.is_spent(a_chat(Status.RUNNING, attempt=0))


def test_reset_says_whether_an_edit_or_a_restore_hid_messages() -> None:
    edited = message(5, 8)
    restored = replace(edited, copied_from=Seq(1))
    told = {
        name: orjson.loads(
            bundles.of_changes(at(9), Version(6), None, changes(*written, hidden_from=2))
            .events[0]
            .data
        )["reason"]
        for name, written in {"edit": [edited], "copies": [restored], "none": []}.items()
    }
    assert told == {"edit": "edit", "copies": "restore", "none": "restore"}
