"""Chance for identity: secrets and identifiers; passed in, so that tests can repeat them."""

from typing import Protocol
from uuid import UUID


class Chance(Protocol):
    def secret(self) -> bytes:
        """256 unguessable bits."""
        ...

    def new_id(self) -> UUID:
        """A version 7 UUID."""
        ...
