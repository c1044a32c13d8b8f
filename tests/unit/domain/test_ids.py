"""Identifiers sort by time and carry the marks of their version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.ids import NO_STAMP, RANDOM_BITS, VersionStamp, differ, uuid7
from tests.requirements import requirement

MS = st.integers(0, 2**48 - 1)
CHANCE = st.integers(0, 2**RANDOM_BITS - 1)


@given(MS, CHANCE)
def test_the_marks_of_version_seven(ms: int, chance: int) -> None:
    made = uuid7(ms, chance)
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == ms


@given(MS, CHANCE, MS, CHANCE)
def test_identifiers_sort_by_time(ms: int, chance: int, later: int, other: int) -> None:
    if ms < later:
        assert uuid7(ms, chance) < uuid7(later, other)


@given(MS, CHANCE, CHANCE)
def test_all_of_chance_is_used(ms: int, chance: int, other: int) -> None:
    assert (uuid7(ms, chance) == uuid7(ms, other)) == (chance == other)


@pytest.mark.parametrize(("ms", "chance"), [(-1, 0), (2**48, 0), (0, 2**RANDOM_BITS), (0, -1)])
def test_what_does_not_fit_is_our_mistake(ms: int, chance: int) -> None:
    with pytest.raises(AssertionError):
        uuid7(ms, chance)


@requirement("L146")
def test_stamps_differ_only_if_both_are_known() -> None:
    one, other = VersionStamp(1), VersionStamp(2)
    assert differ(one, other)
    assert not differ(one, one)
    assert not differ(NO_STAMP, one)
    assert not differ(one, NO_STAMP)
    assert not differ(NO_STAMP, NO_STAMP)
