"""What the plan of a statement says: tables that it reads whole, and partitions of other chats.

The plan is the generic one, which is what the server runs (`adapters.postgres.pool`). It comes from
`explain execute`: a plain `explain` with parameters is planned for their values.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from holdfast.adapters.postgres.queries import Query

PARTITIONED: Final = ("messages", "queued_messages", "receipts")
PARTITION: Final = re.compile(rf"({'|'.join(PARTITIONED)})_\d+")
COUNT_PARTITIONS: Final = """
    select count(*) from pg_inherits where inhparent = 'messages'::regclass
"""
_SETS: Final = frozenset({"Append", "Merge Append"})
_SCHEMA_FREE: Final = {"pg_catalog", "public"}

Connection = Any  # asyncpg's own, pooled or not
Node = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    name: str
    root: Node
    ms: float = 0.0

    def whole_tables(self, large: Sequence[str]) -> list[str]:
        """The large tables that it reads row by row."""
        scans = (node for node in nodes(self.root) if node["Node Type"] == "Seq Scan")
        tables = map(table_of, scans)
        return [table for table in tables if table is not None and table in large]

    @property
    def unpruned(self) -> list[str]:
        """The partitioned tables of which it reads more than one partition for one chat.

        Each round of an append is for one chat, so its partitions together may be read as often as
        there are rounds. An append that the run did not come to must be pruned before the run.
        """
        found = list[str]()
        for node in nodes(self.root):
            if node["Node Type"] not in _SETS:
                continue
            members = (each for each in node["Plans"] if each["Parent Relationship"] == "Member")
            parts = [each for each in members if _partitions(each)]
            rounds = node["Actual Loops"]
            read = sum(part["Actual Loops"] for part in parts) if rounds else len(parts)
            if read > max(rounds, 1):
                found += sorted({table for part in parts for table in _partitions(part)})
        return found

    @property
    def text(self) -> str:
        return "\n".join(_lines(self.root, 0))


def nodes(root: Node) -> Iterator[Node]:
    yield root
    for child in root.get("Plans", ()):
        yield from nodes(child)


def table_of(node: Node) -> str | None:
    """The table that a node reads; of a partition, the table that it is a part of."""
    name = node.get("Relation Name")
    if name is None:
        return None
    partition = PARTITION.fullmatch(name)
    return partition[1] if partition else name


def _partitions(node: Node) -> set[str]:
    return {
        found[1]
        for each in nodes(node)
        if (found := PARTITION.fullmatch(each.get("Relation Name") or ""))
    }


def _lines(node: Node, depth: int) -> Iterator[str]:
    """As `explain` prints it, without the partitions that were not read."""
    label = " ".join(
        word
        for word in (
            node.get("Subplan Name", ""),
            node.get("Operation", "") if node["Node Type"] == "ModifyTable" else node["Node Type"],
            f"using {node['Index Name']}" if "Index Name" in node else "",
            f"on {node['Relation Name']}" if "Relation Name" in node else "",
            f"on {node['CTE Name']}" if "CTE Name" in node else "",
        )
        if word
    )
    ran = f"rows={node['Actual Rows']} loops={node['Actual Loops']}"
    yield f"{'  ' * depth}{label} ({ran if node['Actual Loops'] else 'never executed'})"
    children = node.get("Plans", [])
    kept = [each for each in children if each["Actual Loops"] or node["Node Type"] not in _SETS]
    removed = node.get("Subplans Removed", 0) + len(children) - len(kept)
    if removed:
        yield f"{'  ' * (depth + 1)}partitions left out: {removed}"
    for child in kept:
        yield from _lines(child, depth + 1)


async def explain(connection: Connection, query: Query, values: Sequence[object]) -> Node:
    """Run a statement with its generic plan, in a transaction that is undone."""
    prepared = await connection.prepare(query.text)
    literals = [
        await connection.fetchval(f"select quote_nullable($1::{_type_name(kind)}::text)", value)
        for kind, value in zip(prepared.get_parameters(), values, strict=True)
    ]
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("set local plan_cache_mode = force_generic_plan; set local jit = off")
    await connection.execute(f"prepare explained as {query.text}")
    try:
        given = f"({', '.join(literals)})" if literals else ""
        found = await connection.fetchval(
            f"explain (analyze, costs off, timing off, format json) execute explained{given}"
        )
    finally:
        await transaction.rollback()
        await connection.execute("deallocate explained")
    return orjson.loads(found)[0]["Plan"]


def _type_name(kind: Any) -> str:  # noqa: ANN401 - asyncpg's own
    assert kind.schema in _SCHEMA_FREE
    return kind.name
