"""Ask the database for every row that breaks an invariant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_rows
from holdfast.domain.ids import ChatId

VERIFY: Final = load_query("verify")


@dataclass(frozen=True, slots=True)
class Violation:
    chat_id: ChatId
    rule: str
    detail: str


async def verify(pool: Pool, chat_ids: Sequence[ChatId] | None = None) -> list[Violation]:
    """What is wrong in these chats (None: in all). Reads every message: not for a hot path."""
    rows = await fetch_rows(pool, VERIFY, chat_ids=chat_ids)
    return [Violation(ChatId(row["chat_id"]), row["rule"], row["detail"]) for row in rows]
