"""The statements, each named where it stands: `-- name --` on a line of its own."""

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast


def load_query(name: str) -> LiteralString:
    """A statement of ours, by name. Nothing from outside is ever part of one."""
    return cast(LiteralString, _all_queries()[name])


def query_names() -> frozenset[str]:
    return frozenset(_all_queries())


@cache
def _all_queries() -> dict[str, str]:
    queries: dict[str, str] = {}
    for path in files(__name__).iterdir():
        if not path.name.endswith(".sql"):
            continue
        sections = re.split(r"^-- (\w+) --$", path.read_text(), flags=re.MULTILINE)
        for name, statement in zip(sections[1::2], sections[2::2], strict=True):
            assert name not in queries, f"two statements are named {name}"
            queries[name] = statement.strip()
    return queries
