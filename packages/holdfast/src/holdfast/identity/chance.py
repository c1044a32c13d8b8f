"""Chance from the operating system."""

import secrets
from uuid import UUID

from holdfast.domain.ids import RANDOM_BITS, uuid7
from holdfast.ports.clock import Clock


class SystemChance:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def secret(self) -> bytes:
        return secrets.token_bytes(32)

    def new_id(self) -> UUID:
        return uuid7(int(self._clock.now().timestamp() * 1000), secrets.randbits(RANDOM_BITS))
