"""Times as clients read them."""

from datetime import UTC, datetime


def wire_time(at: datetime) -> str:
    """RFC 3339 in UTC, with `Z` and six digits: texts of one length, which sort like the times."""
    assert at.tzinfo is not None, "a time has a zone"
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
