"""Choices that repeat: the same seed gives the same ids, words and signatures on every machine."""

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEX: Final = "0123456789abcdef"
URLSAFE: Final = BASE62 + "-_"


class Chance:
    """A stream of bytes out of a hash, drawn from as needed."""

    def __init__(self, seed: bytes) -> None:
        self._seed = hashlib.blake2b(seed, digest_size=32).digest()
        self._counter = 0
        self._pool = b""

    def draw(self, size: int) -> bytes:
        while len(self._pool) < size:
            block = self._seed + self._counter.to_bytes(8, "big")
            self._pool += hashlib.blake2b(block).digest()
            self._counter += 1
        taken, self._pool = self._pool[:size], self._pool[size:]
        return taken

    def below(self, limit: int) -> int:
        return int.from_bytes(self.draw(4), "big") % limit

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def word(self, length: int, alphabet: str = BASE62) -> str:
        return "".join(alphabet[byte % len(alphabet)] for byte in self.draw(length))
