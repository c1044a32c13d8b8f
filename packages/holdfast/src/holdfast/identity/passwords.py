"""Passwords: argon2id, off the event loop, a bounded number at once."""

import asyncio
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from holdfast.domain.denials import PasswordRefused
from holdfast.domain.errors import Unavailable

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordOptions:
    """The second of the sets that RFC 9106 recommends. `at_once_max` bounds the memory that a storm
    of logins takes: each hash holds `memory_kib` while it is made. `known_at_once_max`: besides
    those, for browsers that the account knows: strangers who guess do not keep them waiting."""

    time_cost: int = 3
    memory_kib: int = 64 * 1024
    parallelism: int = 4
    at_once_max: int = 2
    known_at_once_max: int = 1
    wait_s: float = 10.0
    chars_min: int = 12
    chars_max: int = 1024

    def __post_init__(self) -> None:
        assert self.time_cost >= 1
        assert self.memory_kib >= 8 * self.parallelism
        assert self.at_once_max >= 1
        assert self.known_at_once_max >= 1
        assert 1 <= self.chars_min <= self.chars_max


@dataclass(frozen=True, slots=True)
class Checked:
    """`rehashed`: the same password under today's parameters, if those of its hash were weaker."""

    right: bool
    rehashed: str | None = None


class Passwords:
    def __init__(self, options: PasswordOptions | None = None) -> None:
        self._options = options or PasswordOptions()
        self._hasher = PasswordHasher(
            time_cost=self._options.time_cost,
            memory_cost=self._options.memory_kib,
            parallelism=self._options.parallelism,
            type=Type.ID,
        )
        self._room = asyncio.Semaphore(self._options.at_once_max)
        self._known_room = asyncio.Semaphore(self._options.known_at_once_max)

    async def hash(self, password: str) -> str:
        """The hash to store; refuses weak passwords."""
        password = _normal(password)
        if not self._options.chars_min <= len(password) <= self._options.chars_max:
            raise PasswordRefused(
                f"a password has {self._options.chars_min} to {self._options.chars_max} characters"
            )
        return await self._apart(lambda: self._hasher.hash(password), self._room)

    async def check(self, password: str, stored: str | None, *, known: bool = False) -> Checked:
        """As long for an account that does not exist, or has no password, as for one that does.
        `known`: for a browser that the account knows."""
        password = _normal(password)[: self._options.chars_max + 1]
        room = self._known_room if known else self._room
        return await self._apart(lambda: self._check(password, stored), room)

    def _check(self, password: str, stored: str | None) -> Checked:
        try:
            self._hasher.verify(self._hash_of_no_account if stored is None else stored, password)
        except (VerificationError, InvalidHashError):
            return Checked(right=False)
        if stored is None:
            return Checked(right=False)
        weak = self._hasher.check_needs_rehash(stored)
        return Checked(right=True, rehashed=self._hasher.hash(password) if weak else None)

    async def _apart(self, work: Callable[[], Result], room: asyncio.Semaphore) -> Result:
        try:
            async with asyncio.timeout(self._options.wait_s):
                await room.acquire()
        except TimeoutError as error:
            raise Unavailable("too many sign-ins at once", retry_after_s=5.0) from error
        try:
            return await asyncio.to_thread(work)
        finally:
            room.release()

    @cached_property
    def _hash_of_no_account(self) -> str:
        return self._hasher.hash("no account has this password")


def _normal(password: str) -> str:
    """The same password, however a keyboard composes its letters. What is no character at all
    (a lone surrogate) is one wrong letter, not an error."""
    return unicodedata.normalize("NFC", password.encode("utf-8", "replace").decode())
