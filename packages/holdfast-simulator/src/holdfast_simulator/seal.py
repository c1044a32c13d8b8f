"""Sealed texts: signatures, redacted thinking and encrypted reasoning that can be checked again.

The real APIs verify what is replayed to them. So do we, without remembering anything: a seal
carries a digest over its purpose, what it is bound to and its own filler. A seal from another
purpose (for example the draft that `output_item.added` shows) does not verify, which catches a
client that stores the wrong one.
"""

import base64
import binascii
import hashlib
from enum import StrEnum
from typing import Final

from holdfast_simulator.chance import Chance

DIGEST_BYTES: Final = 16
FILLER_BYTES: Final = 96


class Purpose(StrEnum):
    THINKING = "thinking"
    BOUND_THINKING = "bound-thinking"
    REDACTED = "redacted"
    BOUND_REDACTED = "bound-redacted"
    REASONING = "reasoning"
    REASONING_DRAFT = "reasoning-draft"
    SEARCH_RESULT = "search-result"
    CITATION = "citation"
    THOUGHT = "thought"
    CONTINUATION = "continuation"
    CONTAINER = "container"


def seal(purpose: Purpose, bound: str, chance: Chance, *, tail: bytes = b"") -> str:
    """`tail`: what the seal carries in the place of its last filler."""
    filler = chance.draw(FILLER_BYTES - len(tail)) + tail
    return base64.b64encode(_digest(purpose, bound, filler) + filler).decode()


def holds(purpose: Purpose, bound: str, sealed: str) -> bool:
    """Whether `sealed` was made for this purpose and is bound to this text."""
    try:
        # Gemini's clients may send the URL-safe alphabet back.
        raw = base64.b64decode(sealed.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return False
    digest, filler = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    return len(filler) == FILLER_BYTES and digest == _digest(purpose, bound, filler)


def tail_of(sealed: str) -> bytes:
    """The last bytes of a seal that holds."""
    return base64.b64decode(sealed.replace("-", "+").replace("_", "/"))[-DIGEST_BYTES:]


def _digest(purpose: Purpose, bound: str, filler: bytes) -> bytes:
    text = f"{purpose}\0{bound}\0".encode(errors="surrogatepass")
    return hashlib.blake2b(text + filler, digest_size=DIGEST_BYTES).digest()
