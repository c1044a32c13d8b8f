"""The settings generation: counted by every change of what processes keep in memory."""

from functools import cache
from typing import Final

from holdfast.adapters.postgres.policy import filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.store import fetch_row
from holdfast.domain.policy import AccessRule, TargetKind

NEWEST: Final = load_query("newest_generation")
_AUDITED: Final = ("audit_append", "count_generation", "audit_select")


@cache
def counted(*change: str) -> Query:
    """A change of settings, its entry in the audit log, and its generation. Needs `stops`."""
    return load_query(*change, *_AUDITED)


@cache
def counted_if(kind: TargetKind, rule: AccessRule, begin: str, end: str) -> Query:
    """The same, of what the rule allows to be changed."""
    return filtered(kind, rule, begin, end, *_AUDITED)


async def newest_generation(pool: Pool) -> int:
    row = await fetch_row(pool, NEWEST)
    assert row is not None, "it is one number"
    return row["n"]
