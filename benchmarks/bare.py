"""The bare driver: the same five statements through asyncpg, with no ledger above it.

What is left between this and the ledger is ours: facts, decisions, encoding, checks.
"""

from typing import Any, Final
from uuid import UUID

from holdfast.adapters.postgres.commits import CommitForm, commit_query
from holdfast.adapters.postgres.history import PAGE
from holdfast.adapters.postgres.leases import (
    ACQUIRE,
    ASIDE_FOR,
    INTERRUPTS_MAX,
    OWNERS_VISITED_MIN,
    SUSPECTS_MAX,
)
from holdfast.adapters.postgres.numbers import SEQ_MAX
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.postgres.rows import RowLike, facts_parameters
from holdfast.adapters.postgres.store import LOAD
from holdfast.domain.format import READS
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.worker.quarantine import QUARANTINE_AFTER
from holdfast_lab.bench.pgbench import HISTORY_READ, TALKING

COMMIT: Final = commit_query(CommitForm.PLAIN)
PARTS: Final = '[{"kind":"text","text":"hello, this is what is said"}]'

COMMON: Final[dict[str, Any]] = facts_parameters(TALKING) | {
    "answer_seq": None, "answer_queued_id": None, "format": 1,
    "m_ending": "complete", "m_visibility": "both", "m_parts": PARTS, "m_model": None,
    "m_effort": None, "m_prefix": None, "m_author": None, "m_usage": None, "m_cost": None,
    "m_takeover": None, "answer_turn_seq": None, "m_turn_seq": None, "m_attempt": None,
    "m_key": None, "tools": None,
    "touches": True, "lists": True, "bytes_added": len(PARTS),
}  # fmt: skip


async def _fetch(pool: Pool, query: Query, values: dict[str, Any]) -> RowLike | None:
    return await pool.fetchrow(query.text, *query.values(values))


async def turn(pool: Pool, chat_id: UUID, worker_id: UUID, key: str, ring: UUID) -> int:
    """How many turns were finished: one, or none if others had taken all there was."""
    row = await _fetch(pool, LOAD, {"chat_id": chat_id, "client_key": key})
    assert row is not None, "the chat was made beforehand"
    version, seq = row["version"], row["last_seq"]
    facts = COMMON | {
        "chat_id": chat_id, "expected_version": version, "expected_stamp": row["stamp"],
        "fence_worker": None,
        "fence_epoch": None, "begins_under": None, "releases": False, "status": "running",
        "history_version": version + 1, "queue_version": row["queue_version"],
        "last_seq": seq + 1, "attempt": 0, "owes_reply": True, "m_seq": seq + 1,
        "m_role": "user", "client_key": key, "digest": b"\x00\x11\x22\x33",
    }  # fmt: skip
    await _fetch(pool, COMMIT, facts)
    asked = {
        "worker_id": worker_id, "limit": 1, "ring_start": ring, "owners_max": OWNERS_VISITED_MIN,
        "interrupts_max": INTERRUPTS_MAX, "reads": READS, "aside_for": ASIDE_FOR,
        "suspects_max": SUSPECTS_MAX, "alone_from": QUARANTINE_AFTER, "only": None,
    }  # fmt: skip
    row = await _fetch(pool, ACQUIRE, asked)
    if row is None or row["id"] is None:
        return 0
    page = {
        "chat_id": row["id"], "before": SEQ_MAX, "as_of": None, "limit": HISTORY_READ,
        "bytes_max": PAGE_BYTES_MAX,
    }  # fmt: skip
    await pool.fetch(PAGE.text, *PAGE.values(page))
    version, seq = row["version"], row["last_seq"]
    facts = COMMON | {
        "chat_id": row["id"], "expected_version": version, "expected_stamp": row["stamp"],
        "fence_worker": worker_id,
        "fence_epoch": row["epoch"], "begins_under": None,
        "releases": True, "status": "idle", "attempt": 0,
        "history_version": version + 1, "queue_version": row["queue_version"],
        "last_seq": seq + 1, "owes_reply": False, "m_seq": seq + 1, "m_role": "assistant",
        "client_key": None, "digest": None,
    }  # fmt: skip
    return 0 if await _fetch(pool, COMMIT, facts) is None else 1
