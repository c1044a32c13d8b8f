"""Ask the database for every row that breaks an invariant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.postgres.codec import unescape
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_rows
from holdfast.domain.ids import ChatId
from holdfast.domain.prefix import PromptPrefix

VERIFY: Final = load_query("verify")
VERIFY_PREFIXES: Final = load_query("verify_prefixes")
NO_PREFIX: Final = "S3: a prefix that a message names is not stored"
OTHER_PREFIX: Final = "S3: a prefix is not what its digest says"
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
    found = [Violation(ChatId(row["chat_id"]), row["rule"], row["detail"]) for row in rows]
    return found + await _verify_prefixes(pool, chat_ids)


async def _verify_prefixes(pool: Pool, chat_ids: Sequence[ChatId] | None) -> list[Violation]:
    """Each with one of the chats that name it. The digest is computed here: PostgreSQL has no
    BLAKE2."""
    found: list[Violation] = []
    after = ""
    while True:
        rows = await fetch_rows(
            pool, VERIFY_PREFIXES, chat_ids=chat_ids, after=after, limit=AT_ONCE
        )
        for row in rows:
            digest, content = row["digest"], row["content"]
            if content is None:
                found.append(Violation(ChatId(row["chat_id"]), NO_PREFIX, digest))
            elif not PromptPrefix(digest, unescape(content)).is_whole:
                found.append(Violation(ChatId(row["chat_id"]), OTHER_PREFIX, digest))
        if len(rows) < AT_ONCE:
            return found
        after = rows[-1]["digest"]
