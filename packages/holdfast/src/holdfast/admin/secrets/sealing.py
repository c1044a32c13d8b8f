"""Master keys, data keys and AES-256-GCM: pure but for randomness."""

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import KEY_ID_BYTES, NONCE_BYTES, Sealed, SecretPlace

KEY_BYTES: Final = 32
MASTER_KEYS_MAX: Final = 10
_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
_ID_OF: Final = b"holdfast master key"


class CannotOpen(Exception):
    """The ciphertext is not of this key and this place, or it was changed."""


@dataclass(frozen=True, slots=True)
class MasterKey:
    id: bytes
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: bytes) -> "MasterKey":
        assert len(secret) == KEY_BYTES
        return cls(hmac.digest(secret, _ID_OF, hashlib.sha256)[:KEY_ID_BYTES], secret)


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """Those of this process. The first is to be used; the others open what they wrapped."""

    keys: Sequence[MasterKey]

    @property
    def first(self) -> MasterKey:
        return self.keys[0]

    @property
    def by_id(self) -> Mapping[bytes, MasterKey]:
        return {key.id: key for key in self.keys}


def parse_master_keys(text: str) -> MasterKeys:
    """One key per line: 32 bytes as base64 or as 64 hex digits. `ValueError` quotes nothing."""
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise ValueError("there is no key in it")
    if len(found) > MASTER_KEYS_MAX:
        raise ValueError(f"more than {MASTER_KEYS_MAX} lines are keys")
    return MasterKeys([MasterKey.of(_key_bytes(n, line)) for n, line in enumerate(found, 1)])


def _key_bytes(number: int, line: str) -> bytes:
    if _HEX.fullmatch(line):
        return bytes.fromhex(line)
    try:
        key = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(
            f"key {number} should be 32 random bytes as base64, such as `openssl rand -base64 32`"
            " prints"
        )
    return key


def new_data_key() -> bytes:
    return os.urandom(KEY_BYTES)


def new_key_id() -> UUID:
    """Random: an id names one key for ever, in every copy of the database."""
    return UUID(bytes=os.urandom(KEY_ID_BYTES))


def seal(key_id: bytes, key: bytes, place: SecretPlace, plain: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return Sealed(key_id, nonce, AESGCM(key).encrypt(nonce, plain, place.associated)).encode()


def open_sealed(key: bytes, place: SecretPlace, sealed: Sealed) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed.nonce, sealed.ciphertext, place.associated)
    except InvalidTag:
        raise CannotOpen from None


def place_of_key(org_id: OrgId, key_id: UUID) -> SecretPlace:
    return SecretPlace(org_id, "secret_keys", key_id, "wrapped")


def wrap(master: MasterKey, org_id: OrgId, key_id: UUID, key: bytes) -> bytes:
    return seal(master.id, master.secret, place_of_key(org_id, key_id), key)


def unwrap(masters: MasterKeys, org_id: OrgId, key_id: UUID, wrapped: bytes) -> bytes:
    sealed = Sealed.decode(wrapped)
    master = masters.by_id.get(sealed.key_id)
    if master is None:
        raise CannotOpen
    return open_sealed(master.secret, place_of_key(org_id, key_id), sealed)
