"""The audit log: entries that are only ever added, chained by their hashes.

    hash n = SHA-256(hash n−1 · n as decimal digits · entry as JSON text)

An entry that was altered, removed or slipped in breaks the chain at its number. The end of the
chain is kept apart, so that cutting off the last entries shows as well. One who can rewrite the
whole database can rewrite the chain: print `anchor`s somewhere else.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.policy import Credential, TargetKind
from holdfast.domain.rider import Rider

BEGINNING: Final = bytes(32)

Detail: TypeAlias = Mapping[str, str | int | bool | Sequence[str] | None]


class AuditAction(StrEnum):
    ORG_FOUNDED = "org.founded"
    USER_CREATED = "user.created"
    USER_DISABLED = "user.disabled"
    USER_ENABLED = "user.enabled"
    USER_ROLE_SET = "user.role_set"
    USER_UPDATED = "user.updated"  # the role, and whether the user is disabled
    USER_LINK_CREATED = "user.link_created"
    PASSWORD_SET_BY_LINK = "password.set_by_link"  # noqa: S105
    PASSWORD_CHANGED = "password.changed"  # noqa: S105  (a name, not a password)
    PASSWORD_RESET = "password.reset"  # noqa: S105
    SIGNED_IN = "session.opened"
    SIGN_IN_FAILED = "session.failed"
    SIGNED_OUT = "session.closed"
    SIGN_IN_REVOKED = "session.revoked"
    SESSIONS_REVOKED = "sessions.revoked"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    OIDC_LINKED = "oidc.linked"
    SETTINGS_CHANGED = "settings.changed"
    SECRET_KEY_ADDED = "secret_key.added"  # noqa: S105
    SECRET_KEY_REMOVED = "secret_key.removed"  # noqa: S105
    PROVIDER_CREATED = "provider.created"
    PROVIDER_UPDATED = "provider.updated"
    PROVIDER_DELETED = "provider.deleted"
    USER_KEY_SET = "user_key.set"
    USER_KEY_DELETED = "user_key.deleted"
    MODEL_CREATED = "model.created"
    MODEL_UPDATED = "model.updated"
    MODEL_DELETED = "model.deleted"
    CALL_APPROVED = "call.approved"
    CALL_DENIED = "call.denied"
    CALLS_DECIDED = "calls.decided"
    CHAT_SHARED = "chat.shared"
    CHAT_UNSHARED = "chat.unshared"
    CHAT_STOPPED = "chat.stopped"  # by an admin, or because its owner was disabled


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(Rider):
    """Who did what to what, when and from where. Secrets have no place in it (A2)."""

    org_id: OrgId
    at: datetime
    action: AuditAction
    actor_id: UserId | None
    credential: Credential | None = None
    target_kind: TargetKind | None = None
    target_id: UUID | None = None
    address: str | None = None
    detail: Detail = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """An entry as it is kept. The columns repeat what the entry says, to be searched by."""

    seq: int
    at: datetime
    action: str
    actor_id: UserId | None
    entry: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditHead:
    seq: int
    hash: bytes


EMPTY: Final = AuditHead(0, BEGINNING)


@dataclass(frozen=True, slots=True)
class Tampering:
    """The first entry at which the log is not what was written."""

    seq: int
    what: str


def chain(previous: bytes, seq: int, entry: str) -> bytes:
    return hashlib.sha256(previous + f"{seq}{entry}".encode()).digest()


def check_row(previous: AuditHead, row: AuditRow) -> AuditHead | Tampering:
    """The next link of the chain, or where it broke."""
    expected = previous.seq + 1
    if row.seq != expected:
        return Tampering(expected, "removed")
    if chain(previous.hash, row.seq, row.entry) != row.hash:
        return Tampering(row.seq, "altered")
    return AuditHead(row.seq, row.hash)
