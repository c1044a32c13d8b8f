"""The declared facts of a chat: every field of `Chat` has one place, and the statements have it."""

from dataclasses import fields

import pytest

from holdfast.adapters.postgres.columns import BY_HAND, COLUMNS, NAMES
from holdfast.adapters.postgres.leases import ACQUIRE
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.rows import facts_parameters
from holdfast.adapters.postgres.store import CREATE, FORK, LOAD, LOAD_MANY, LOAD_TARGET
from holdfast.adapters.statements import Statements
from holdfast.domain.chat import Chat
from tests.support.builders import a_chat

READING = {"load": LOAD, "load many": LOAD_MANY, "load target": LOAD_TARGET, "acquire": ACQUIRE}
WRITING = {"create": CREATE, "fork": FORK, "commit": load_query("commit_begin")}


def test_every_fact_of_a_chat_is_declared_once() -> None:
    assert sorted((*NAMES, *BY_HAND)) == sorted(field.name for field in fields(Chat))


@pytest.mark.parametrize("query", READING.values(), ids=READING)
def test_a_statement_that_reads_a_chat_reads_every_declared_fact(query: Query) -> None:
    assert [name for name in NAMES if f"c.{name}," not in query.source] == []


@pytest.mark.parametrize("query", WRITING.values(), ids=WRITING)
def test_a_statement_that_writes_a_chat_writes_every_declared_fact(query: Query) -> None:
    assert [name for name in NAMES if name not in query.names] == []


def test_codecs_come_in_pairs() -> None:
    """What is encoded must be decoded again; a fact that needs neither has none."""
    assert [each.name for each in COLUMNS if (each.decode is None) != (each.encode is None)] == []


def test_no_codec_sees_a_null() -> None:
    parameters = facts_parameters(a_chat())
    assert {parameters[name] for name in ("model", "effort", "error", "backoff")} == {None}


def test_a_placeholder_without_a_text_is_refused() -> None:
    statements = Statements("holdfast.adapters.postgres.queries")
    with pytest.raises(KeyError, match="fact_assignments"):
        statements.load_query("commit_begin")
