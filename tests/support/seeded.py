"""Long histories and long lists, written straight into the database: what a page must cope with.

A turn is twenty messages: one of a person, nine steps with their results, and the answer. Taken
apart as the page does, five in a hundred items are a person's, thirty are Markdown (half of them
with code) and the rest are tool calls.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import asyncpg

from holdfast.adapters.postgres.codec import encode_json
from holdfast.domain.format import FORMAT, parts_to_json
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import Part, Text, ToolCall, ToolResult
from holdfast.domain.public_ids import CHAT_ID
from tests.support.web import Client, uuid_of

TURN: Final = 20
BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_PROSE: Final = (
    "The pool hands out **one connection** per task, and `acquire` waits until there is one. "
    "What was measured says that the wait is short, and what was assumed says that it is not; "
    "the [reference](https://docs.example/pool) agrees with what was measured. "
)
_LIST: Final = "- first, what the test says\n- then, *what it does not say*\n- and last, why\n"
_CODE: Final = (
    "```python\nasync def pooled(limit: int) -> Pool:\n"
    "    # One for each task, and one for whoever asks how we are.\n"
    "    return await Pool.open(limit + 1)\n\n\n"
    "async def closed(pool: Pool) -> None:\n    await pool.close()\n```\n"
)
CHATS_COLUMNS: Final = (
    *("id", "org_id", "owner_id", "status", "version", "history_version", "queue_version"),
    *("last_seq", "last_queued_id", "queue_length", "owes_reply", "compactable"),
    *("compaction_requested", "open_calls", "epoch", "attempt", "attempts_forgiven", "title"),
    *("title_source", "touched_at"),
)
MESSAGES_COLUMNS: Final = (
    *("chat_id", "seq", "revision", "epoch", "role", "ending", "visibility", "format", "parts"),
    *("model", "created_at"),
)


def markdown(number: int) -> str:
    """0.7 to 1.8 KB, every second one with code."""
    paragraphs = [_PROSE * (1 + number % 3), _LIST, _PROSE]
    if number % 2 == 0:
        paragraphs.insert(1, _CODE)
    return f"## Finding {number}\n\n" + "\n\n".join(paragraphs)


def long_markdown(size: int) -> str:
    """One answer of about so many bytes, made of such findings."""
    said = ""
    number = 0
    while len(said) < size:
        said += markdown(number) + "\n\n"
        number += 1
    return said


def last_row(messages: int) -> str:
    """The key of the last row of such a history: the foot of its last turn."""
    return f"foot.{(messages - 1) // TURN * TURN + 1}"


@dataclass(frozen=True)
class Seeding:
    """An owner's chats, on a database of the test's own."""

    database_url: str
    org_id: UUID
    owner_id: UUID

    async def history(self, messages: int, marker: str) -> str:
        """The id of a chat of so many messages, each person's of which begins with the marker."""
        chat_id = _chat_id(marker)
        rows = [_message(chat_id, seq, marker, messages) for seq in range(1, messages + 1)]
        async with asyncpg.create_pool(self.database_url, min_size=1, max_size=1) as pool:
            await pool.copy_records_to_table(
                "chats", records=[self._chat(chat_id, marker, messages)], columns=CHATS_COLUMNS
            )
            await pool.copy_records_to_table("messages", records=rows, columns=MESSAGES_COLUMNS)
        return CHAT_ID.encode(ChatId(chat_id))

    async def listing(self, chats: int) -> None:
        """So many chats with titles and nothing in them."""
        rows = [self._chat(_chat_id(f"listed {n}"), f"Listed {n}", 0, 60 + n) for n in range(chats)]
        async with asyncpg.create_pool(self.database_url, min_size=1, max_size=1) as pool:
            await pool.copy_records_to_table("chats", records=rows, columns=CHATS_COLUMNS)
            await pool.execute("analyze chats")

    def _chat(self, chat_id: UUID, title: str, messages: int, age: int = 0) -> tuple[Any, ...]:
        return (
            *(chat_id, self.org_id, self.owner_id, "idle", messages + 1, messages, 0),
            *(messages, 0, 0, False, True, False, "[]", 1, 0, 0, title),
            *("user", BEGAN + timedelta(days=200) - timedelta(minutes=age)),
        )


async def seeding(database_url: str, owner: Client) -> Seeding:
    me = (await owner.get("me")).json
    return Seeding(database_url, uuid_of(me["org_id"]), uuid_of(me["user"]["id"]))


def _chat_id(name: str) -> UUID:
    """The same for the same name, with the bits of a version 7."""
    low = int.from_bytes(hashlib.blake2s(name.encode(), digest_size=6).digest())
    return UUID(int=(0x0190 << 112) | (0x7000_8000 << 48) | low)


def _message(chat_id: UUID, seq: int, marker: str, last: int) -> tuple[Any, ...]:
    role, parts = _said(seq, marker, last)
    stored = encode_json(parts_to_json(parts))
    model = "sim" if role == "assistant" else None
    made = BEGAN + timedelta(seconds=seq)
    return (chat_id, seq, seq, 1, role, "complete", "both", FORMAT, stored, model, made)


def _said(seq: int, marker: str, last: int) -> tuple[str, list[Part]]:
    at = (seq - 1) % TURN
    if at == 0:
        return "user", [Text(f"{marker}: what is wrong with the pool, in step {seq}?")]
    if at == TURN - 1 or seq == last:
        return "assistant", [Text(markdown(seq // 4))]
    step = (at - 1) // 2
    calls = [CallId(f"call_{seq - (at + 1) % 2}_{n}") for n in range(1 + step % 2)]
    if at % 2 == 0:
        return "tool", [ToolResult(call, "execute", _OUTPUT) for call in calls]
    said = [Text(markdown(seq // 4))] if step % 2 == 0 else []
    command = f"pytest tests/{marker}/test_{seq}.py"
    return "assistant", [
        *said,
        *(ToolCall(call, "execute", {"command": command}) for call in calls),
    ]


_OUTPUT: Final = {"exit_code": 0, "output": "1 passed in 0.12s\n" * 12, "truncated": False}
