"""A new migration neither rewrites nor locks for long the tables that every turn writes to."""

import re
from importlib.resources import files
from typing import Final

import pytest

from tests.requirements import requirement

BASE: Final = "0001-base.sql"
"""It makes the tables, so there is no row to rewrite and no reader to block."""
PARTITIONED: Final = r"(?:messages|queued_messages|receipts)"
LARGE: Final = rf'(?:public\.)?"?(?:chats|{PARTITIONED}(?:_\d+)?)"?(?![\w.])'
ALTER: Final = rf"alter table (?:if exists )?(?:only )?{LARGE}"
RULES: Final = {
    "an index without `concurrently`": (
        rf"create (?:unique )?index (?!concurrently\b).*?\bon (?:only (?=\"?chats)|){LARGE}"
    ),
    "`concurrently` on a partitioned table, which PostgreSQL refuses": (
        rf'create (?:unique )?index concurrently .*?\bon (?:only )?(?:public\.)?"?{PARTITIONED}\b'
    ),
    "another type of a column": rf"{ALTER}.*\balter (?:column )?\S+ (?:set data )?type\b",
    "`set not null`": rf"{ALTER}.*\bset not null\b",
    "a constraint without `not valid`": (
        rf"{ALTER}.*\badd (?:constraint|check|foreign|unique|primary|exclude)\b"
        r"(?!.*\bnot valid\b)(?!.*\busing index\b)"
    ),
    "a column that is computed for each row": (
        rf"{ALTER}.*\badd (?:column )?.*\b(?:default [^,]*\(|generated\b|\w*serial\b|references\b)"
    ),
    "a rewrite of the table": rf"{ALTER}.*\bset (?:un)?(?:logged|tablespace|access)\b"
    rf"|(?:cluster|vacuum full|lock(?: table)?|truncate(?: table)?) (?:only )?{LARGE}",
    "an update of all rows": rf"(?:update|delete from) (?:only )?{LARGE}(?!.*\bwhere\b)",
}


def broken(script: str) -> list[str]:
    """The rules that a migration breaks when it is applied."""
    head, _, body = script.partition("-- migrate: apply")
    text = re.sub(r"--[^\n]*", "", body.partition("-- migrate: rollback")[0]).lower()
    statements = [" ".join(each.split()) for each in text.split(";")]
    found = [
        rule
        for rule, pattern in RULES.items()
        if any(re.search(pattern, each) for each in statements)
    ]
    inside = "-- transaction: false" not in head
    if inside and any("index concurrently" in each for each in statements):
        found.append("`concurrently` in a transaction")
    return found


MIGRATIONS = sorted(
    (
        each
        for each in files("holdfast.adapters.postgres").joinpath("migrations").iterdir()
        if each.name.endswith(".sql") and each.name != BASE
    ),
    key=lambda each: each.name,
)


@requirement("L152")
def test_every_new_migration_keeps_the_rules() -> None:
    assert {
        each.name: broken(each.read_text()) for each in MIGRATIONS if broken(each.read_text())
    } == {}


REFUSED = [
    "create index x on chats (owner_id)",
    "create unique index if not exists x\n    on public.messages (chat_id)",
    "create index x on only chats (owner_id)",
    "create index x on messages_03 (seq)",
    "create index x on queued_messages (revision)",
    "alter table chats alter column listed type bigint",
    "alter table messages alter seq set data type bigint",
    "alter table chats alter column title set not null",
    "alter table messages add constraint positive check (seq > 0)",
    "alter table chats add column a uuid default gen_random_uuid()",
    "alter table chats add column a bigserial",
    "alter table chats add column a uuid references users (id)",
    "alter table chats add column a int generated always as (listed + 1) stored",
    "alter table messages set unlogged",
    "lock table chats in exclusive mode",
    "update chats set listed = 1",
    "update receipts set version = 1",
]
ALLOWED = [
    "create index x on workspaces (chat_id)",
    "create index x on chats_archive (owner_id)",
    "create index x on account_receipts (made_id)",
    "create index x on only messages (created_at)",
    "alter index x attach partition x_03",
    "alter table chats add column a integer not null default 0",
    "alter table chats add column a json not null default '[]'",
    "alter table messages add constraint positive check (seq > 0) not valid",
    "alter table messages validate constraint positive",
    "alter table workspaces alter column ttl_s type bigint",
    "create table x (chat_id uuid references chats (id))",
    "-- alter table chats alter column listed type bigint",
]


@requirement("L152")
@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_that_locks_or_rewrites_is_refused(statement: str) -> None:
    assert broken(f"-- x\n-- migrate: apply\n{statement};\n-- migrate: rollback\n")


@pytest.mark.parametrize("statement", ALLOWED)
def test_a_statement_that_takes_a_short_lock_is_not(statement: str) -> None:
    rolled_back = "update chats set listed = 1;"
    script = f"-- x\n-- migrate: apply\n{statement};\n-- migrate: rollback\n{rolled_back}"
    assert broken(script) == []


def test_an_index_is_made_concurrently_outside_of_a_transaction() -> None:
    script = "-- migrate: apply\ncreate index concurrently x on chats (owner_id);"
    assert broken(script)
    assert broken(f"-- transaction: false\n{script}") == []


def test_an_index_of_a_partitioned_table_is_made_partition_by_partition() -> None:
    begin = "-- transaction: false\n-- migrate: apply\ncreate index concurrently x on"
    assert broken(f"{begin} messages (seq);")
    assert broken(f"{begin} messages_03 (seq);") == []
