"""The bare engine: pgbench running the very statements of a turn, with values in their places."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote
from uuid import UUID

from holdfast.adapters.postgres.commits import CommitForm, commit_query
from holdfast.adapters.postgres.history import PAGE
from holdfast.adapters.postgres.leases import (
    ACQUIRE,
    INTERRUPTS_MAX,
    OWNERS_VISITED_MIN,
    SUSPECTS_MAX,
)
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.postgres.rows import facts_parameters
from holdfast.adapters.postgres.store import LOAD
from holdfast.domain.chat import Chat
from holdfast.domain.errors import HoldfastError
from holdfast.domain.format import READS
from holdfast.domain.ids import ChatId, OrgId, UserId
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.worker.quarantine import QUARANTINE_AFTER

CHATS_PER_CLIENT: Final = 60
HISTORY_READ: Final = 20
"""Messages: as many as a chat of ten turns has in the end."""
CHAT: Final = (
    "('00000000-0000-7000-8000-'"
    " || lpad(to_hex(:client_id::bigint * 1000 + :n::bigint), 12, '0'))::uuid"
)
WORKER: Final = "('00000000-0000-7000-9000-' || lpad(to_hex(:client_id::bigint), 12, '0'))::uuid"
KEY: Final = "'k' || :k::text"


def literal(value: object) -> str:
    """A parameter as SQL; where it is assigned, its column gives it a type."""
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case str():
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        case _:
            raise TypeError(f"no literal of {type(value).__name__}")


NIL: Final = UUID(int=0)
TALKING: Final = Chat(
    chat_id=ChatId(NIL), org_id=OrgId(NIL), owner_id=UserId(NIL), compactable=True
)
COMMON: Final = {name: literal(value) for name, value in facts_parameters(TALKING).items()} | {
    "answer_seq": "null::integer",
    "answer_queued_id": "null::bigint", "format": "1::smallint", "m_ending": "'complete'",
    "m_visibility": "'both'", "m_model": "null::text", "m_effort": "null::text",
    "m_parts": "'[{\"kind\":\"text\",\"text\":\"hello, this is what is said\"}]'",
    "m_author": "null::uuid", "m_usage": "null::json", "m_cost": "null::bigint",
    "m_takeover": "null::json", "answer_turn_seq": "null::integer", "m_turn_seq": "null::integer",
    "m_attempt": "null::integer", "m_key": "null::text",
    "tools": "null::json", "first_words": "null::text", "m_web": "null::boolean",
    "m_plan_mode": "null::boolean",
    "m_prefix": "null::text", "touches": "true", "lists": "true",
    "bytes_added": "54::bigint",
}  # fmt: skip


def fill(query: Query, values: Mapping[str, str]) -> str:
    """The statement with each parameter replaced by an expression of pgbench's."""
    names = query.names
    return re.sub(r"\$(\d+)", lambda found: f"({values[names[int(found[1]) - 1]]})", query.text)


def seen(name: str, kind: str) -> str:
    """What an acquire returned; null where it found nothing."""
    return f"nullif(:a_{name}, '')::{kind}"


def send() -> str:
    seq = ":last_seq::integer + 1"
    values = COMMON | {
        "chat_id": CHAT, "expected_version": ":version::bigint",
        "expected_stamp": ":stamp::bigint", "fence_worker": "null::uuid",
        "fence_epoch": "null::bigint", "begins_under": "null::bigint",
        "releases": "false", "status": "'running'",
        "history_version": ":version::bigint + 1", "queue_version": ":queue_version::bigint",
        "last_seq": seq, "attempt": "0", "owes_reply": "true", "m_seq": seq, "m_role": "'user'",
        "client_key": KEY, "digest": "'\\x00112233'::bytea",
    }  # fmt: skip
    return fill(commit_query(CommitForm.PLAIN), values)


def read() -> str:
    """What the model is told."""
    values = {
        "chat_id": seen("id", "uuid"), "before": "2147483647", "as_of": "null::bigint",
        "limit": str(HISTORY_READ), "bytes_max": str(PAGE_BYTES_MAX),
    }  # fmt: skip
    return fill(PAGE, values)


def finish() -> str:
    seq = seen("last_seq", "integer") + " + 1"
    values = COMMON | {
        "chat_id": seen("id", "uuid"), "expected_version": seen("version", "bigint"),
        "expected_stamp": seen("stamp", "bigint"),
        "fence_worker": WORKER, "fence_epoch": seen("epoch", "bigint"),
        "begins_under": "null::bigint", "releases": "true",
        "status": "'idle'", "history_version": seen("version", "bigint") + " + 1",
        "queue_version": seen("queue_version", "bigint"), "last_seq": seq, "attempt": "0",
        "owes_reply": "false", "m_seq": seq, "m_role": "'assistant'",
        "client_key": "null::text", "digest": "null::bytea",
    }  # fmt: skip
    return fill(commit_query(CommitForm.PLAIN), values)


def acquire() -> str:
    values = {
        "worker_id": WORKER, "limit": "1", "ring_start": "md5(:k::text)::uuid",
        "owners_max": str(OWNERS_VISITED_MIN), "interrupts_max": str(INTERRUPTS_MAX),
        "reads": str(READS), "aside_for": "'10 minutes'", "suspects_max": str(SUSPECTS_MAX),
        "alone_from": str(QUARANTINE_AFTER), "only": "null::uuid[]",
    }  # fmt: skip
    # pgbench wants one row from a statement whose values it keeps: an acquire of nothing has one.
    return fill(ACQUIRE, values)


def turn_script() -> str:
    """Send with a key (load, commit), acquire, read the history, commit the reply and finish: five
    statements."""
    load = fill(LOAD, {"chat_id": CHAT, "client_key": KEY})
    return "\n".join(
        [
            f"\\set n (:n + 1) % {CHATS_PER_CLIENT}",
            "\\set k random(1, 1000000000000000)",
            f"{load} \\gset",
            f"{send()};",
            f"{acquire()} \\gset a_",
            f"{read()};",
            f"{finish()};",
        ]
    )


class PgbenchFailed(HoldfastError):
    """It did not run; says why."""


def turns_per_s(program: str, url: str, folder: Path, *, clients: int, seconds: int) -> float:
    """`program`: where pgbench is."""
    script = folder / "turn.sql"
    script.write_text(turn_script())
    # As our pool asks of each of its connections: see db/pool.py.
    options = quote("-c plan_cache_mode=force_generic_plan -c jit=off")
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [program, "-n", "-M", "prepared", "-c", str(clients), "-j", "2",
         "-T", str(seconds), "-D", "n=0", "-f", str(script),
         f"{url}{'&' if '?' in url else '?'}options={options}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    if done.returncode or found is None or "aborted" in done.stderr:
        raise PgbenchFailed(f"pgbench failed: {done.stderr[-2000:]}")
    return float(found[1])
