"""Numbers that a column can hold."""

from typing import Final, TypeVar

SEQ_MAX: Final = 2**31 - 1
VERSION_MAX: Final = 2**63 - 1

Number = TypeVar("Number", bound=int)


def within(number: Number | None, bound: int) -> Number | None:
    """The number, or None if no column can hold it: then no row can have it."""
    return number if number is not None and 0 <= number <= bound else None
