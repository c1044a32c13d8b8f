"""`just bench-plans`: the plan of every statement on a large database; none may read a whole table,
or for one chat more than one partition.

The same functions serve a smaller database in tests/integration/postgres/test_plans.py.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final
from uuid import UUID

import asyncpg

from benchmarks.plan_nodes import COUNT_PARTITIONS, Connection, Plan, explain
from benchmarks.plans_identity import GENERATE_IDENTITY, IDENTITY_TABLES, identity_statements
from benchmarks.plans_workspaces import GENERATE_WORKSPACES, workspace_statements
from benchmarks.report import stamp, write_json, write_page
from holdfast.adapters.postgres import history, leases, store
from holdfast.adapters.postgres.commits import CommitForm, every_commit
from holdfast.adapters.postgres.migrate import migrate
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.postgres.riders import rider_parameters
from holdfast.adapters.postgres.rows import facts_parameters
from holdfast.domain.chat import Chat, Status
from holdfast.domain.format import READS
from holdfast.domain.ids import ChatId, OrgId, QueuedId, UserId, VersionStamp
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.worker.quarantine import QUARANTINE_AFTER
from holdfast_lab.chaos.harness.private_postgres import private_postgres

LARGE_TABLES: Final = (
    *("chats", "messages", "queued_messages", "receipts", "workspaces"),
    *IDENTITY_TABLES,
)
ORG: Final = UUID(int=1)
CHAT: Final = UUID(int=(0x7000_8000 << 48) + 77)
RUNNING_CHAT: Final = UUID(int=(0x7000_8000 << 48) + 1)
QUEUED_CHAT: Final = UUID(int=(0x7000_8000 << 48) + 5)
"""Runs, and has messages in its queue."""
ABANDONED_CHAT: Final = UUID(int=(0x7000_8000 << 48) + 10)
"""The same; the lease of its worker has lapsed."""
WAITING: Final = Query.compile(
    "select * from queued_messages where chat_id = :chat_id and removed_revision is null"
)
"""What the function `waiting_messages` of the schema runs; a plan does not show it."""
LAPSED: Final = UUID(int=(0x7000_9000 << 48) + 51)
WORKER: Final = UUID(int=(0x7000_9000 << 48) + 1)


@dataclass(frozen=True)
class Size:
    chats: int
    messages_per_chat: int
    users: int
    running: int  # of which some wait for an owner, most of them one noisy user's
    waiting: int


LARGE: Final = Size(1_000_000, 20, 10_000, 5_000, 1_000)
SMALL: Final = Size(20_000, 10, 500, 500, 100)

GENERATE: Final = """
set session_replication_role = replica;  -- rows made by a formula need no checking against rows
insert into organisations (id, name) values ('{org}', 'org');
insert into users (id, org_id, name)
select {user_id}, '{org}', 'user' from generate_series(0, {users} - 1) as u (u);
insert into workers (id, name, lease_until)
select {worker_id}, 'w', clock_timestamp() + interval '1 day' from generate_series(1, 50) as w (w);
insert into chats (
    id, org_id, owner_id, status, version, history_version, queue_version, last_seq,
    last_queued_id, queue_length, owes_reply, compactable, compaction_requested, open_calls,
    worker_id, epoch, attempt, attempts_forgiven, runnable_since, client_key, client_digest
)
select
    {chat_id}, '{org}',
    case when n between {running} - {waiting} * 9 / 10 and {running} - 1
        then {noisy} else {owner_id} end,
    case when n < {running} then 'running' else 'idle' end,
    {per_chat}, {per_chat}, 0, {per_chat}, 0, 0, n < {running}, true, false, '[]',
    case when n < {running} - {waiting} then {owner_worker} end, 1, 0, 0,
    case when n < {running} then clock_timestamp() - (n || ' ms')::interval end,
    'key ' || n, '\\x00'
from generate_series(0, {chats} - 1) as n (n);
insert into workers (id, name, lease_until) values ('{lapsed}', 'w', clock_timestamp());
update chats set worker_id = '{lapsed}' where id = '{abandoned}';
insert into messages (
    chat_id, seq, revision, epoch, role, ending, visibility, format, parts
)
select
    {chat_id}, seq, seq, 1, case when seq % 2 = 1 then 'user' else 'assistant' end, 'complete',
    'both', 1, '[{{"kind": "text", "text": "what was said, at some length, in message"}}]'
from generate_series(0, {chats} - 1) as n (n), generate_series(1, {per_chat}) as seq (seq);
insert into receipts (chat_id, client_key, digest, version)
select {chat_id}, 'key', '\\x00', 1 from generate_series(0, {chats} - 1) as n (n);
insert into queued_messages (
    chat_id, id, position, urgent, revision, removed_revision, fate, format, parts
)
select
    {chat_id}, q, q, false, 1, case when n >= {running} then 2 end,
    case when n >= {running} then 'deleted' end, 1, '[]'
from generate_series(0, {chats} - 1, 5) as n (n), generate_series(1, 3) as q (q);
update chats set queue_length = 3, last_queued_id = 3
where id in (select distinct chat_id from queued_messages where removed_revision is null);
{identity}
{workspaces}
reset session_replication_role;
"""


def _uuid(high: str, number: str) -> str:
    return f"('00000000-0000-7000-{high}-' || lpad(to_hex({number}), 12, '0'))::uuid"


def generate_script(size: Size) -> str:
    return GENERATE.format(
        identity=GENERATE_IDENTITY.format(
            org=ORG,
            users=size.users,
            chats=size.chats,
            user_id=_uuid("a000", "u"),
            chat_id=_uuid("8000", "n"),
            reader_id=_uuid("a000", f"(n + 1) % {size.users}"),
        ),
        workspaces=GENERATE_WORKSPACES.format(
            org=ORG,
            chats=size.chats,
            chat_id=_uuid("8000", "n"),
            reader_id=_uuid("a000", f"(n + 1) % {size.users}"),
        ),
        org=ORG,
        users=size.users,
        chats=size.chats,
        per_chat=size.messages_per_chat,
        running=size.running,
        waiting=size.waiting,
        user_id=_uuid("a000", "u"),
        worker_id=_uuid("9000", "w"),
        chat_id=_uuid("8000", "n"),
        owner_id=_uuid("a000", f"n % {size.users}"),
        noisy=_uuid("a000", "0"),
        owner_worker=_uuid("9000", "n % 50 + 1"),
        lapsed=LAPSED,
        abandoned=ABANDONED_CHAT,
    )


async def generate(connection: Connection, size: Size) -> None:
    await connection.execute(generate_script(size))
    await connection.execute("vacuum analyze")


RUNNING: Final = Chat(
    chat_id=ChatId(RUNNING_CHAT),
    org_id=OrgId(ORG),
    owner_id=UserId(ORG),
    status=Status.RUNNING,
    last_queued_id=QueuedId(3),
    owes_reply=True,
    compactable=True,
    stamp=VersionStamp(1),
    history_stamp=VersionStamp(1),
)
FACTS: Final[dict[str, Any]] = facts_parameters(RUNNING) | {
    "chat_id": RUNNING_CHAT, "tools": None, "releases": False, "taker": None,
    "touches": True, "lists": True, "expected_stamp": 0, "bytes_added": 2, "fence_worker": None,
    "fence_epoch": None,
    "begins_under": 7, "first_words": None,
    "client_key": "new", "digest": b"", "answer_seq": 1, "answer_queued_id": None,
    "answer_turn_seq": 1, "format": 1,
    "q_format": 1, "m_role": "user", "m_ending": "complete", "m_visibility": "both",
    "m_parts": "[]", "m_model": None, "m_effort": None, "m_web": None, "m_plan_mode": None,
    "m_prefix": None, "m_author": None,
    "m_usage": None, "m_cost": None, "m_takeover": None, "m_turn_seq": 1, "m_attempt": 1,
    "m_key": None, "shared_seq": 4,
    "q_ids": [4], "q_positions": [4], "q_urgent": [False],
    "q_parts": ["[]"], "q_bytes": [2], "q_heads": [None], "q_models": [None],
    "q_efforts": [None], "q_webs": [None], "q_plan_modes": [None],
    "q_authors": [None], "q_keys": [None],
    "left_ids": [1], "left_fates": ["taken"], "left_seqs": [None], "moved_ids": [2],
    "moved_positions": [7], "moved_urgent": [True], "past_version": 5,
    "audit_org": ORG, "audit_at": datetime(2026, 1, 1, tzinfo=UTC), "audit_actor": None,
    "audit_action": "call.approved", "audit_entry": "{}",
}  # fmt: skip


def statements(size: Size) -> dict[str, tuple[Query, dict[str, Any]]]:
    """Every statement of the hot paths with values such as they meet there."""
    last = size.messages_per_chat
    one = {"chat_id": CHAT, "bytes_max": PAGE_BYTES_MAX}
    owner = _owner(size, 77)
    return {
        "load": (store.LOAD, {"chat_id": QUEUED_CHAT, "client_key": "key"}),
        "load target": (store.LOAD_TARGET, {**one, "target": 3, "client_key": "key"}),
        "waiting messages": (WAITING, {"chat_id": QUEUED_CHAT}),
        "load many": (
            store.LOAD_MANY,
            {"chat_ids": [CHAT, QUEUED_CHAT], "client_keys": ["key", None]},
        ),
        "load past": (store.LOAD_PAST, {**one, "version": 5}),
        "load origin": (store.LOAD_ORIGIN, {**one, "version": last, "upto": last}),
        "create": (store.CREATE, _create(size)),
        "fork": (store.FORK, _fork(size)),
        "keep receipt": (
            store.KEEP_RECEIPT, FACTS | {"chat_id": CHAT, "expected_version": last},
        ),
        "stored bytes": (store.STORED_BYTES, {"owner_id": owner}),
        "find created": (
            store.FIND_CREATED,
            {"owner_id": owner, "client_key": "key 77"},
        ),
        "page": (history.PAGE, {**one, "before": last, "limit": 50, "as_of": None}),
        "page after": (history.PAGE_AFTER, {**one, "after": 7, "limit": 50, "as_of": None}),
        "page as of": (history.PAGE, {**one, "before": last, "limit": 50, "as_of": 7}),
        "pages": (
            history.PAGES,
            {
                "chat_ids": [CHAT, RUNNING_CHAT], "as_ofs": [last, last], "limit": 50,
                "bytes_max": PAGE_BYTES_MAX,
            },
        ),
        "prompt bytes": (history.PROMPT_BYTES, {**one, "as_of": last}),
        "changes": (history.CHANGES, {**one, "version": last - 2, "limit": 100, "as_of": None}),
        "heads": (history.HEADS, {"chat_ids": [one["chat_id"], RUNNING_CHAT]}),
        "moved": (
            history.MOVED,
            {"chat_ids": [one["chat_id"], RUNNING_CHAT], "versions": [1, 1], "stamps": [0, 0]},
        ),
        "older paths": (history.OLDER_PATHS, {**one, "before": None, "limit": 20}),
        "queued": (history.QUEUED, {"chat_id": RUNNING_CHAT, "queued_id": 1}),
        **_lease_statements(size),
        **_commit_statements(size),
        **identity_statements(ORG, owner, CHAT),
        **workspace_statements(ORG, owner, CHAT),
    }  # fmt: skip


def _lease_statements(size: Size) -> dict[str, tuple[Query, dict[str, Any]]]:
    ring = UUID(int=(0x7000_A000 << 48) + size.users // 2)
    return {
        "heartbeat": (leases.HEARTBEAT, {"worker_id": WORKER, "ttl": timedelta(seconds=10)}),
        "acquire": (
            leases.ACQUIRE,
            {"worker_id": WORKER, "limit": 32, "ring_start": ring, "owners_max": 32,
             "interrupts_max": 16, "reads": READS,
             "aside_for": leases.ASIDE_FOR, "suspects_max": leases.SUSPECTS_MAX,
             "alone_from": QUARANTINE_AFTER, "only": None},
        ),
        "acquire only": (
            leases.ACQUIRE,
            {"worker_id": WORKER, "limit": 1, "ring_start": ring, "owners_max": 8,
             "interrupts_max": 16, "reads": READS,
             "aside_for": leases.ASIDE_FOR, "suspects_max": leases.SUSPECTS_MAX,
             "alone_from": None, "only": [ABANDONED_CHAT]},
        ),
        "release": (
            leases.RELEASE, {"worker_id": WORKER, "chat_ids": [RUNNING_CHAT], "undriven": []},
        ),
        "set aside": (
            leases.SET_ASIDE,
            {"worker_id": WORKER, "chat_ids": [RUNNING_CHAT], "whys": ["why"], "reads": READS},
        ),
        "release all but": (
            leases.RELEASE_ALL_BUT, {"worker_id": WORKER, "kept": [RUNNING_CHAT]},
        ),
        "forget workers": (leases.FORGET, {"lapsed_for": timedelta(days=1)}),
        "leave": (leases.LEAVE, {"worker_id": WORKER}),
        "expired awaits": (
            leases.EXPIRED_AWAITS,
            {"limit": 100, "reads": READS, "aside_for": leases.ASIDE_FOR},
        ),
    }  # fmt: skip


def _commit_statements(size: Size) -> dict[str, tuple[Query, dict[str, Any]]]:
    last = size.messages_per_chat
    facts = FACTS | {
        "expected_version": last, "history_version": last + 1, "last_seq": last + 2,
        "m_seq": last + 1, "hidden_from": 5, "last_seq_before": last, **_two_messages(last + 1),
    }  # fmt: skip
    facts = rider_parameters(()) | facts | {"p_seq": last + 3, "p_queued_id": 1}
    taken = {"chat_id": CHAT, "taker": WORKER}
    return {
        f"commit, {form.value} form": (query, facts | (taken if form is CommitForm.TAKEN else {}))
        for form, query in every_commit().items()
    }


def _create(size: Size) -> dict[str, Any]:
    return FACTS | {
        "chat_id": UUID(int=9), "org_id": ORG, "owner_id": _owner(size, 77), "status": "idle",
        "owes_reply": False, "history_version": 1, "last_seq": 2, "tools": "[]", "taker": None,
        "chats_max": 100_000,
        "titled_as": None, "title": "t", "labels": ["l"], "metadata": "{}", **_two_messages(1),
    }  # fmt: skip


def _fork(size: Size) -> dict[str, Any]:
    last = size.messages_per_chat
    taken = {
        "source_id": CHAT, "source_version": last, "upto": last, "last_seq": last,
        "titled_as": CHAT,
    }  # fmt: skip
    return _create(size) | taken


def _two_messages(seq: int) -> dict[str, Any]:
    return {
        "seqs": [seq, seq + 1], "roles": ["user", "user"], "endings": ["complete"] * 2,
        "visibilities": ["both"] * 2, "parts": ["[]"] * 2, "models": [None] * 2,
        "efforts": [None] * 2, "webs": [None] * 2, "plan_modes": [None] * 2, "authors": [None] * 2,
        "usages": [None] * 2, "costs": [None] * 2,
        "prefixes": [None] * 2, "takeovers": [None] * 2, "turn_seqs": [seq, seq + 1],
        "attempts": [None] * 2, "message_keys": [None] * 2,
    }  # fmt: skip


def _owner(size: Size, number: int) -> UUID:
    return UUID(int=(0x7000_A000 << 48) + number % size.users)


async def plans(connection: Connection, size: Size, *, times: int) -> list[Plan]:
    """Explain and run each statement, rolled back; the median of its times."""
    await connection.execute("set plan_cache_mode = force_generic_plan; set jit = off")
    return [
        await _plan(connection, name, query, values, times)
        for name, (query, values) in statements(size).items()
    ]


async def _plan(
    connection: Connection, name: str, query: Query, values: dict[str, Any], times: int
) -> Plan:
    given = query.values(values)
    root = await explain(connection, query, given)
    taken: list[float] = []
    for _ in range(times):
        transaction = connection.transaction()
        await transaction.start()
        started = time.perf_counter()
        await connection.fetch(query.text, *given)
        taken.append((time.perf_counter() - started) * 1000)
        await transaction.rollback()
    return Plan(name, root, median(taken))


async def measure(size: Size) -> tuple[list[Plan], int]:
    """The plans, and the number of partitions."""
    settings = {
        "shared_buffers": "2GB", "max_wal_size": "8GB", "maintenance_work_mem": "512MB",
        # To load sooner. What is measured is rolled back, and waits for no disk.
        "fsync": "off", "autovacuum": "off", "checkpoint_timeout": "30min",
    }  # fmt: skip
    async with private_postgres(settings) as server:
        await migrate(server.url)
        connection = await asyncpg.connect(server.url)
        try:
            started = time.monotonic()
            await generate(connection, size)
            print(f"generated in {time.monotonic() - started:.0f} s")
            found = await plans(connection, size, times=21)
            return found, await connection.fetchval(COUNT_PARTITIONS)
        finally:
            await connection.close()


def report(size: Size, found: list[Plan], partitions: int) -> None:
    rows = "\n".join(
        f"| {plan.name} | {plan.ms:.2f} | {_said(plan.whole_tables(LARGE_TABLES))}"
        f" | {_said(plan.unpruned)} |"
        for plan in found
    )
    texts = "\n".join(f"### {plan.name}\n\n```\n{plan.text}\n```\n" for plan in found)
    page = PAGE.format(
        stamp=stamp(), chats=size.chats, messages=size.chats * size.messages_per_chat,
        running=size.running, waiting=size.waiting, rows=rows, plans=texts,
        partitions=partitions,
    )  # fmt: skip
    write_page("plans", page)
    acquire = next(plan for plan in found if plan.name == "acquire")
    figures = {
        "chats": size.chats,
        "messages": size.chats * size.messages_per_chat,
        "statements": len(found),
        "partitions": partitions,
        "whole_table_scans": sum(len(plan.whole_tables(LARGE_TABLES)) for plan in found),
        "unpruned_statements": sum(bool(plan.unpruned) for plan in found),
        "acquire_ms": round(acquire.ms, 3),
    }
    write_json("plans", figures)


def _said(tables: list[str]) -> str:
    return ", ".join(tables) or "none"


PAGE = """# Plans on a large database

{stamp} Written by `just bench-plans`.

{chats:,} chats, {messages:,} messages; {running:,} chats run, {waiting:,} of them wait for an owner
and nine in ten of those are one noisy user's. Every statement is explained and run with the generic
plan that the server uses, and rolled back; "ms" is the median of 21 times as a client on the same
machine sees it. The acquire asks for 32 chats.

`messages`, `queued_messages` and `receipts` have {partitions} partitions each. "Unpruned":
tables of which the statement reads more than one partition for one chat. `verify` is not here: it
reads all rows.

| statement | ms | whole tables read | unpruned |
|---|---:|---|---|
{rows}

`workers` is read whole on purpose: it has a row per process, and an index on the lease's end would
make every heartbeat write to it.

## The plans

{plans}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the size that the tests use")
    parser.add_argument("--chats", type=int, default=LARGE.chats, help="20 messages each")
    options = parser.parse_args()
    size = SMALL if options.small else replace(LARGE, chats=options.chats)
    found, partitions = asyncio.run(measure(size))
    if not options.small:
        report(size, found, partitions)
    for plan in found:
        wrong = [*plan.whole_tables(LARGE_TABLES), *plan.unpruned]
        print(f"{plan.name:45} {plan.ms:8.2f} ms  {wrong or ''}")


if __name__ == "__main__":
    main()
