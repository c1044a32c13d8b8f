"""Times on the wire: RFC 3339, UTC, `Z`, six digits."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.domain.times import wire_time


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC), "2026-01-02T03:04:05.000060Z"),
        (
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            "2026-01-02T01:04:05.000000Z",
        ),
    ],
)
def test_a_time_is_utc_with_six_digits(at: datetime, text: str) -> None:
    assert wire_time(at) == text


def test_a_time_without_a_zone_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        wire_time(datetime(2026, 1, 2))  # noqa: DTZ001
