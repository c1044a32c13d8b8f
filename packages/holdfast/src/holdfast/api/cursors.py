"""Cursors of lists: opaque to clients, and only good for the list that gave them."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import UserId

T = TypeVar("T")
_SEPARATOR: Final = " "


def cut_page(found: Sequence[T], limit: int) -> tuple[Sequence[T], T | None]:
    """`found` has one more than the limit if there is another page. The page, and its last item
    if another page follows."""
    page = found[:limit]
    return page, page[-1] if len(found) > limit else None


def encode_cursor(first: str, second: str) -> str:
    """`first` has no space."""
    text = f"{first}{_SEPARATOR}{second}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[str, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        first, second = base64.b64decode(padded, b"-_", validate=True).decode().split(" ", 1)
    except ValueError:
        raise no_cursor() from None
    return first, second


def time_cursor(at: datetime, resource_id: UUID) -> str:
    return encode_cursor(str(resource_id), at.isoformat())


def time_place(cursor: str | None) -> tuple[datetime, UUID] | None:
    if cursor is None:
        return None
    resource_id, at = decode_cursor(cursor)
    try:
        place = datetime.fromisoformat(at), UUID(resource_id)
    except ValueError:
        raise no_cursor() from None
    if place[0].tzinfo is None:
        raise no_cursor()
    return place


def number_cursor(number: int) -> str:
    return encode_cursor("n", str(number))


def number_place(cursor: str | None, number_max: int) -> int | None:
    if cursor is None:
        return None
    _, number = decode_cursor(cursor)
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:20]) <= number_max):
        raise no_cursor()
    return int(number)


def no_cursor() -> FieldRefused:
    return FieldRefused("cursor", "This is not a cursor of this list", within="query")


def user_place(cursor: str | None) -> tuple[str, UserId] | None:
    """Of a list of users by name: the last name of the page before, and whose it is."""
    if cursor is None:
        return None
    user_id, name = decode_cursor(cursor)
    try:
        return name, UserId(UUID(user_id))
    except ValueError:
        raise no_cursor() from None
