"""Secrets at rest: where one stands, and the form of its ciphertext.

    version (1 byte) · id of the key (16) · nonce (12) · AES-256-GCM ciphertext with its tag

The place of a secret is its associated data: a ciphertext that was moved to another organisation,
table, row or column cannot be opened there.
"""

import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from holdfast.domain.ids import OrgId

FORM: Final = 1
KEY_ID_BYTES: Final = 16
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
_HEAD: Final = 1 + KEY_ID_BYTES + NONCE_BYTES
SHOWN_FROM_CHARS: Final = 16
"""Of a shorter secret not even the last characters are shown."""


@dataclass(frozen=True, slots=True)
class SecretPlace:
    org_id: OrgId
    table: str
    row: UUID
    column: str

    @property
    def associated(self) -> bytes:
        return f"v{FORM}|{self.org_id}|{self.table}|{self.row}|{self.column}".encode()


@dataclass(frozen=True, slots=True)
class SecretColumn:
    """A column of type `sealed`. Rotation walks `SECRET_COLUMNS`; the database knows them as well,
    and rotation refuses to begin where the two differ."""

    table: str
    column: str

    def place(self, org_id: OrgId, row: UUID) -> SecretPlace:
        return SecretPlace(org_id, self.table, row, self.column)


PROVIDER_CREDENTIAL: Final = SecretColumn("providers", "credential")
USER_KEY: Final = SecretColumn("user_keys", "credential")
SECRET_COLUMNS: Final = (PROVIDER_CREDENTIAL, USER_KEY)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A ciphertext and what is needed to open it, but for the key."""

    key_id: bytes
    nonce: bytes
    ciphertext: bytes

    def encode(self) -> bytes:
        assert len(self.key_id) == KEY_ID_BYTES and len(self.nonce) == NONCE_BYTES  # noqa: PT018
        return bytes([FORM]) + self.key_id + self.nonce + self.ciphertext

    @classmethod
    def decode(cls, blob: bytes) -> "Sealed":
        """Raises `ValueError`."""
        if len(blob) < _HEAD + TAG_BYTES or blob[0] != FORM:
            raise ValueError("not a ciphertext of this version")
        return cls(blob[1 : 1 + KEY_ID_BYTES], blob[1 + KEY_ID_BYTES : _HEAD], blob[_HEAD:])


def fingerprint(org_id: OrgId, secret: str) -> str:
    """Tells two secrets of an organisation apart, in responses and in the audit log."""
    return hashlib.sha256(f"holdfast|{org_id}|{secret}".encode()).hexdigest()[:12]


def last_four(secret: str) -> str:
    """Empty: too short to show a part of it."""
    return secret[-4:] if len(secret) >= SHOWN_FROM_CHARS else ""
