"""Deletion of prompt prefixes that no message names any more, because their chats are gone.

The race: a commit is about to name a row that this statement sees as not named, and the message
would name a row that is deleted. A row is therefore deleted in two looks, a day apart. The first
look notes that no message names it (`unnamed_since`); a later one deletes it if that is still so.

- A commit that stores the prefix (`riders.prefix`) locks the row and clears the note.
- A commit that relies on the row without storing it does so for at most an hour after its process
  stored it (`turn.reading`), and the note is younger than that.
- A fork or a restore copies the name from a message that it reads. If that chat is deleted
  meanwhile, the copy is committed, and found by the second look, long before the day is over.
"""

from datetime import timedelta
from typing import Final

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row
from holdfast.ports.prefixes import UNNAMED_FOR, ForgottenPrefixes

FORGET: Final = load_query("forget_prefixes")


class PostgresPrefixes:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def forget_unnamed(
        self, *, after: str, limit: int = 1_000, unnamed_for: timedelta = UNNAMED_FOR
    ) -> ForgottenPrefixes:
        row = await fetch_row(self._pool, FORGET, after=after, limit=limit, unnamed_for=unnamed_for)
        assert row is not None, "a count is always given"
        return ForgottenPrefixes(row["last"], row["gone"])
