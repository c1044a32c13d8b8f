"""Ask the database for every row that breaks an invariant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_rows
from holdfast.domain.ids import ChatId

VERIFY: Final = load_query("verify")
AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Violation:
    chat_id: ChatId
    rule: str
    detail: str


async def verify(pool: Pool, chat_ids: Sequence[ChatId] | None = None) -> list[Violation]:
    """What is wrong in these chats (None: in all). Reads every message: not for a hot path, and of
    thousands of chats in pieces, each of which a pool's patience is enough for."""
    if chat_ids is None:
        return await _verify(pool, None)
    pieces = range(0, len(chat_ids), AT_ONCE)
    found = [await _verify(pool, chat_ids[at : at + AT_ONCE]) for at in pieces]
    return [violation for each in found for violation in each]


async def _verify(pool: Pool, chat_ids: Sequence[ChatId] | None) -> list[Violation]:
    rows = await fetch_rows(pool, VERIFY, chat_ids=chat_ids)
    return [Violation(ChatId(row["chat_id"]), row["rule"], row["detail"]) for row in rows]
