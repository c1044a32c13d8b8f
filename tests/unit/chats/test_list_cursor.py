"""The cursor of a list of chats: what we wrote comes back, and anything else is refused."""

import base64
from datetime import UTC, datetime

import pytest

from holdfast.chats.listing import decode_cursor, encode_cursor, reading
from holdfast.domain.denials import FieldRefused
from holdfast.domain.policy import Action
from holdfast.ports.listing import ListPosition
from tests.support.builders import CHAT


def cursor_of(said: str) -> str:
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def test_a_cursor_comes_back() -> None:
    place = ListPosition(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), CHAT)
    assert decode_cursor(encode_cursor(place)) == place


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "%",
        cursor_of("now and then"),
        cursor_of(f"2026-01-02T03:04:05 {CHAT}"),
        cursor_of(f"2026-01-02T03:04:05Z {CHAT}"),
        cursor_of(f"2026-01-02T03:04:05+00:00 {CHAT}") + "=",
    ],
    ids=["nothing", "no base64", "no place", "no zone", "another spelling", "padded"],
)
def test_what_we_did_not_write_is_refused(cursor: str) -> None:
    with pytest.raises(FieldRefused):
        decode_cursor(cursor)


def test_a_version_of_the_history_asks_for_the_right_to_branches() -> None:
    assert [reading(None), reading(3)] == [Action.READ, Action.READ_BRANCHES]
