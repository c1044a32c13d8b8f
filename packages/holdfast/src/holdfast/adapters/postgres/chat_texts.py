"""Titles, turn labels and summaries in PostgreSQL, beside the facts of their chats."""

from typing import Final

from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.store import fetch_row
from holdfast.domain.ids import ChatId, Seq, UserId, Version, VersionStamp
from holdfast.domain.titles import TitleSource
from holdfast.ports.chat_texts import TextsKnown

KNOWN: Final = load_query("chat_texts")
CLAIM: Final = load_query("claim_title")
SET_TITLE: Final = load_query("set_title")
SET_LABEL: Final = load_query("set_turn_label")
SET_SUMMARY: Final = load_query("set_summary")


class PostgresChatTexts:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def known(self, chat_id: ChatId) -> TextsKnown | None:
        row = await fetch_row(self._pool, KNOWN, chat_id=chat_id)
        if row is None:
            return None
        source, seq = row["title_source"], row["summary_seq"]
        return TextsKnown(
            title_source=None if source is None else TitleSource(source),
            title_tries=row["title_tries"],
            summary_seq=None if seq is None else Seq(seq),
            version=Version(row["version"]),
            stamp=VersionStamp(row["stamp"]),
        )

    async def claim_title(self, chat_id: ChatId, *, tries_max: int) -> bool:
        row = await fetch_row(self._pool, CLAIM, chat_id=chat_id, tries_max=tries_max)
        return row is not None

    async def set_title(
        self, chat_id: ChatId, title: str, source: TitleSource, *, made_of: Seq
    ) -> UserId | None:
        return await self._set(
            SET_TITLE, chat_id=chat_id, title=escape(title), source=source.value, made_of=made_of
        )

    async def set_turn_label(
        self, chat_id: ChatId, label: str, *, version: Version, stamp: VersionStamp
    ) -> UserId | None:
        return await self._set(
            SET_LABEL, chat_id=chat_id, label=escape(label), version=version, stamp=stamp
        )

    async def set_summary(
        self, chat_id: ChatId, summary: str, *, seq: Seq, history: tuple[Version, VersionStamp]
    ) -> UserId | None:
        return await self._set(
            SET_SUMMARY,
            chat_id=chat_id,
            summary=escape(summary),
            seq=seq,
            history_version=history[0],
            history_stamp=history[1],
        )

    async def _set(self, query: Query, **parameters: object) -> UserId | None:
        row = await fetch_row(self._pool, query, **parameters)
        return None if row is None else UserId(row["owner_id"])
