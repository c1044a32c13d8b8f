"""Identifiers and counters, each a type of its own so that they cannot be mixed up."""

from typing import Final, NewType
from uuid import UUID

OrgId = NewType("OrgId", UUID)
UserId = NewType("UserId", UUID)
ChatId = NewType("ChatId", UUID)
WorkerId = NewType("WorkerId", UUID)
SignInId = NewType("SignInId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)

CallId = NewType("CallId", str)
"""A tool call, unique within its chat."""
ClientKey = NewType("ClientKey", str)
"""The idempotency key that the caller of a mutation chose."""

Version = NewType("Version", int)
"""How many bundles of commands a chat has committed."""
VersionStamp = NewType("VersionStamp", int)
"""A random number of the commit that made a version. A database that lost commits (a failover, a
restored backup) counts the same versions again, for other commits; the stamp tells them apart."""
Epoch = NewType("Epoch", int)
"""How many times a chat has been acquired."""
Seq = NewType("Seq", int)
"""A message's number within its chat: 1, 2, 3 …"""
QueuedId = NewType("QueuedId", int)
"""A queued message's number within its chat; never used twice."""

NO_VERSION: Final = Version(0)
NO_STAMP: Final = VersionStamp(0)
STAMP_BITS: Final = 63
NO_EPOCH: Final = Epoch(0)
NO_SEQ: Final = Seq(0)
NO_QUEUED_ID: Final = QueuedId(0)

CLIENT_KEY_CHARS_MAX: Final = 200

_RANDOM_A_BITS: Final = 12
_RANDOM_B_BITS: Final = 62
RANDOM_BITS: Final = _RANDOM_A_BITS + _RANDOM_B_BITS


def differ(one: VersionStamp, other: VersionStamp) -> bool:
    """Whether these are of two commits for certain. `NO_STAMP` is not known, so it may be any."""
    return NO_STAMP not in (one, other) and one != other


def uuid7(unix_ms: int, chance: int) -> UUID:
    """A version 7 UUID (RFC 9562): sorts by time of creation, so that new rows lie together.

    Time and chance come from outside, so that identifiers repeat in a simulation.
    """
    assert 0 <= unix_ms < 1 << 48, f"time out of range for a uuid7: {unix_ms}"
    assert 0 <= chance < 1 << RANDOM_BITS, "too many random bits for a uuid7"
    random_a = chance >> _RANDOM_B_BITS
    random_b = chance & ((1 << _RANDOM_B_BITS) - 1)
    return UUID(int=unix_ms << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b)
