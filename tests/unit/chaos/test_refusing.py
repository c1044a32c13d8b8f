"""The line that refuses statements tells commits of one text apart."""

import struct
from collections.abc import Sequence

import pytest

from holdfast_lab.chaos.faults.fleet.refusing import COMMITS, Refusing, nulls


def bind(parameters: Sequence[bytes | None]) -> bytes:
    """A Bind message of the PostgreSQL protocol, with one format for all parameters."""
    body = b"portal\0name\0" + struct.pack("!HHH", 1, 1, len(parameters))
    for each in parameters:
        body += struct.pack("!i", -1) if each is None else struct.pack("!i", len(each)) + each
    body += struct.pack("!HH", 1, 1)
    return b"B" + struct.pack("!I", len(body) + 4) + body


@pytest.mark.parametrize(
    ("parameters", "found"),
    [([], ""), ([b"1", None, b""], "010"), ([None, b"\0\0\0\1", None], "101")],
)
def test_nulls_of_a_statement_are_read(parameters: Sequence[bytes | None], found: str) -> None:
    assert nulls(bind(parameters)) == found


def test_commits_with_other_nulls_are_refused_once_each() -> None:
    line = Refusing("127.0.0.1", 5432)
    line.begin("40001")
    shapes = [f"{COMMITS} [10]", f"{COMMITS} [01]"]
    assert [line.refuses(each) for each in (*shapes, *shapes)] == [True, True, False, False]
