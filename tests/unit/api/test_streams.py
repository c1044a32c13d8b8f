"""Streams are counted by person and by what they follow; a further one ends the oldest."""

from uuid import UUID

import orjson

from holdfast.api.streaming import CLOSE_CODES
from holdfast.api.streams import REPLACED, REVOKED, StreamPlace, StreamPlaces
from holdfast.domain.ids import ChatId, UserId
from holdfast.stream.events import Closed, CloseReason
from tests.requirements import requirement

ANN, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))
CHATS = [ChatId(UUID(int=n)) for n in range(10, 20)]


def ended(places: list[StreamPlace]) -> list[bool]:
    return [place.ended for place in places]


@requirement("L142")
def test_a_person_has_so_many_streams_and_others_have_theirs() -> None:
    places = StreamPlaces(user_max=3)
    his = places.enter(BOB, CHATS[0])
    hers = [places.enter(ANN, chat_id) for chat_id in CHATS[:3]]
    assert ended([his, *hers]) == [False] * 4
    hers += [places.enter(ANN, "list"), places.enter(ANN, CHATS[0])]
    assert ended(hers) == [True, True, False, False, False]
    assert not his.ended
    assert (places.counters.open, places.counters.ended) == (4, 2)


@requirement("L142")
def test_a_person_has_so_many_streams_of_one_chat() -> None:
    places = StreamPlaces(user_max=100, chat_max=2)
    first = [places.enter(ANN, CHATS[0]) for _ in range(3)]
    other, lists = places.enter(ANN, CHATS[1]), [places.enter(ANN, "list") for _ in range(3)]
    assert ended(first) == [True, False, False]
    assert ended(lists) == [True, False, False]
    assert not other.ended
    assert not places.enter(BOB, CHATS[0]).ended


def test_all_streams_of_a_disabled_user_end_and_say_so() -> None:
    places = StreamPlaces()
    hers, his = (
        [places.enter(ANN, each) for each in (*CHATS[:2], "list")],
        places.enter(BOB, "list"),
    )
    told: list[StreamPlace] = []
    hers[0].on_end = lambda: told.append(hers[0])
    places.end_all_of(ANN)
    places.end_all_of(ANN)
    assert ended([*hers, his]) == [True, True, True, False]
    assert told == hers[:1]
    assert {place.last for place in hers} == {REVOKED}
    assert orjson.loads(REVOKED.json())["data"]["reason"] == "revoked"
    assert places.counters.open == 1
    again = places.enter(ANN, "list")
    assert (again.ended, again.last) == (False, REPLACED)


def test_who_left_is_not_counted() -> None:
    places = StreamPlaces(user_max=1)
    one = places.enter(ANN, CHATS[0])
    places.leave(one)
    places.leave(one)
    two = places.enter(ANN, CHATS[0])
    assert ended([one, two]) == [False, False]
    assert places.counters.open == 1
    places.enter(ANN, CHATS[1])
    places.leave(two)  # it was ended before
    assert places.counters.open == 1
    assert len(places._of_user[ANN]) == 1  # pyright: ignore[reportPrivateUsage]


def test_nobody_is_ended_without_a_bound_and_nothing_is_kept() -> None:
    places = StreamPlaces()
    held = [places.enter(ANN, CHATS[0]) for _ in range(500)]
    assert not any(ended(held))
    for place in held:
        places.leave(place)
    assert places._of_user == {}  # pyright: ignore[reportPrivateUsage]
    assert places.counters.open == 0


def test_closed_says_why_and_when_to_reconnect_on_both_wires() -> None:
    head = {"type": "closed", "cursor": None, "version": None, "final": True}
    data = {"reason": "too_many_streams", "retry_after_seconds": 60}
    assert orjson.loads(REPLACED.json()) == {**head, "data": data}
    retry, event, line = REPLACED.sse().decode().strip().split("\n")
    assert (retry, event) == ("retry: 60000", "event: closed")
    assert orjson.loads(line.removeprefix("data: ")) == {**head, "data": data}


def test_closed_for_good_has_no_reconnect_delay() -> None:
    assert Closed(CloseReason.DELETED).sse().startswith(b"event: closed\ndata: ")
    said = orjson.loads(Closed(CloseReason.DELETED).json())["data"]
    assert said == {"reason": "deleted", "retry_after_seconds": None}


def test_every_reason_has_a_close_code_of_its_own() -> None:
    assert CLOSE_CODES.keys() == set(CloseReason)
    assert len(set(CLOSE_CODES.values())) == len(CloseReason)
