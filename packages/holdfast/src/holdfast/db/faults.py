"""Classifies errors of the driver: mistakes of this program, and a database that cannot serve now.

The default is the database. Only classes 22 (data), 23 (constraints) and 42 (syntax, access) speak
about the statement itself; every other SQLSTATE, known or not, is a reason to ask again later.
"""

from typing import Final

import asyncpg

from holdfast.domain.errors import Contended, DatabaseReadOnly, Unavailable

DATABASE_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # A backend that is killed while its connection is idle leaves the driver in the middle of an
    # operation that no caller began; the next caller gets the error.
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that the driver raises for a statement or a connection."""

OUR_CLASSES: Final = frozenset({"22", "23", "42"})
OPERATORS: Final = frozenset({"42501"})
"""Privileges are granted and revoked by the operator, while the server runs."""
CONTENTION: Final = frozenset({"40001", "40P01", "55P03"})
"""Another transaction was in the way. Nothing was done, and the database itself is well."""
AILING_CLASSES: Final = frozenset({"08", "53", "57"})
"""Connections, resources and operators: these concern every statement alike."""
WRONG_SERVER_CLASSES: Final = frozenset({"08", "28"})
WRONG_SERVER: Final = frozenset({"25006", "57P01", "57P02", "57P03", "3D000"})
"""A read-only node, one that shuts down or starts, one without the database: after a failover the
connection leads to the wrong server, and no later statement on it can succeed."""
READ_ONLY: Final = "25006"


def sqlstate_of(error: BaseException) -> str:
    """The SQLSTATE; empty if the error comes from the driver or from the network."""
    return (
        getattr(error, "sqlstate", None) or "" if isinstance(error, asyncpg.PostgresError) else ""
    )


def is_our_mistake(error: BaseException) -> bool:
    if isinstance(error, asyncpg.PostgresError):
        state = sqlstate_of(error)
        return state[:2] in OUR_CLASSES and state not in OPERATORS
    # The driver's word for a closed connection, but also for arguments of ours that do not fit.
    return isinstance(error, asyncpg.InterfaceError) and "clos" not in str(error)


def is_undone(error: BaseException) -> bool:
    """Whether the server refused a transaction for a reason of one of its statements: nothing of it
    was done, and the other statements may succeed without that one."""
    state = sqlstate_of(error)
    if state in CONTENTION:
        return True  # a lock that did not come is one commit's; the others need not give up
    ailing = state[:2] in AILING_CLASSES or leads_elsewhere(error)
    return isinstance(error, asyncpg.PostgresError) and not ailing


def leads_elsewhere(error: BaseException) -> bool:
    """Whether the connection that said this must not be used again."""
    state = sqlstate_of(error)
    return state in WRONG_SERVER or state[:2] in WRONG_SERVER_CLASSES


def unavailable(error: Exception) -> Unavailable:
    """The error for callers; raises `error` itself if it is our mistake.

    When the answer to a commit is lost the change may well be there: no caller may take this for a
    refusal (F1: 40 of 40 were there).
    """
    if is_our_mistake(error):
        raise error
    state, said = sqlstate_of(error), f"the database did not answer: {reason_of(error)}"
    if state == READ_ONLY or isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return DatabaseReadOnly(said)
    # Said of this statement alone: a damaged page or a trigger of the operator must not make a
    # worker give up other chats. A privilege that is missing is missing for all of them.
    return Contended(said) if is_undone(error) and state not in OPERATORS else Unavailable(said)


def reason_of(error: BaseException) -> str:
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "it takes no writes: it is read-only, or a standby"
    return str(error) or type(error).__name__
