"""The rows of prompt prefixes, as the maintenance of a server sees them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

UNNAMED_FOR: Final = timedelta(days=1)
"""How long no message may name a row before it is deleted."""


@dataclass(frozen=True, slots=True)
class ForgottenPrefixes:
    """`last`: the last row that was looked at; None if there was none. `gone`: rows deleted."""

    last: str | None
    gone: int


class PromptPrefixes(Protocol):
    async def forget_unnamed(
        self, *, after: str, limit: int = 1_000, unnamed_for: timedelta = UNNAMED_FOR
    ) -> ForgottenPrefixes:
        """Look at the next rows behind a digest, and delete those that no message has named for so
        long."""
        ...
