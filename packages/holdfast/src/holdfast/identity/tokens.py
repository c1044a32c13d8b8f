"""Secrets that we make: what they look like, and what is kept of them.

    cookie      43 letters and digits        256 bits
    API key     hfst_ · 43 · 6               256 bits and a checksum: a key that was cut off while
                                             copying is refused without asking the database, and
                                             a scanner for leaked keys can verify a match

Letters and digits only: a double click selects the whole.
"""

import hashlib
import re
import zlib
from typing import Final

API_KEY_PREFIX: Final = "hfst_"
PREFIX_CHARS_SHOWN: Final = len(API_KEY_PREFIX) + 6
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_CHARS: Final = 43
_CHECK_CHARS: Final = 6
_TOKEN: Final = re.compile(rf"[0-9A-Za-z]{{{_SECRET_CHARS}}}")
_API_KEY: Final = re.compile(
    rf"{API_KEY_PREFIX}([0-9A-Za-z]{{{_SECRET_CHARS}}})([0-9A-Za-z]{{{_CHECK_CHARS}}})"
)


def token_of(secret: bytes) -> str:
    assert len(secret) == 32, "a secret has 256 bits"
    return _base62(int.from_bytes(secret, "big"), _SECRET_CHARS)


def api_key_of(secret: bytes) -> str:
    body = token_of(secret)
    return f"{API_KEY_PREFIX}{body}{_checksum(body)}"


def is_token(presented: str) -> bool:
    return _TOKEN.fullmatch(presented) is not None


def is_api_key(presented: str) -> bool:
    found = _API_KEY.fullmatch(presented)
    return found is not None and found[2] == _checksum(found[1])


def hashed(presented: str) -> bytes:
    return hashlib.sha256(presented.encode("utf-8", "replace")).digest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECK_CHARS)


def _base62(number: int, width: int) -> str:
    digits: list[str] = []
    for _ in range(width):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    assert number == 0, "too few digits"
    return "".join(reversed(digits))
