"""Protections of a fleet, removed in the process that needs them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final


def _any_server() -> None:
    """A standby is as good as a primary, and a connection is kept whatever it said.

    Two walls: a pool that asks for a primary never gets a connection to a standby, and one that got
    one drops it at the first refused write.
    """
    from holdfast.db import pool

    def never(error: BaseException) -> bool:
        return False

    _connect_anywhere()
    pool.leads_elsewhere = never


def _always_ready() -> None:
    """`/readyz` asks only whether the database can be read, which a standby answers, too."""
    from holdfast.bootstrap import adapters

    async def surely(_pool: Any) -> None:
        pass

    _connect_anywhere()
    adapters.check_writable = surely


def _connect_anywhere() -> None:
    from asyncpg.connect_utils import SessionAttribute

    from holdfast.db import pool

    init: Any = pool.BoundedPool.__init__

    def anywhere(self: Any, *given: Any, **more: Any) -> None:
        init(self, *given, **{**more, "target_session_attrs": SessionAttribute.any})

    pool.BoundedPool.__init__ = anywhere


def _cursors_without_a_stamp() -> None:
    """A version is a version, whichever commit has it now."""
    from holdfast.stream.cursor import Cursor

    def surely(self: Any, history_stamp: Any) -> bool:
        return True

    Cursor.may_be_of = surely


def _whole_batches() -> None:
    """An acquire that took effect fails for one row that it cannot read."""
    from holdfast.db.leases import PostgresLeases
    from holdfast.domain.errors import FormatUnknown

    acquire = PostgresLeases.acquire

    async def whole(self: Any, *given: Any, **more: Any) -> Any:
        acquired = await acquire(self, *given, **more)
        if acquired.unreadable:
            raise FormatUnknown(acquired.unreadable[0].why)
        return acquired

    PostgresLeases.acquire = whole


def _crew_of_one_fate() -> None:
    """A background task that fails ends its siblings and the block, as in any task group."""
    from holdfast.tasks import Crew

    def create_task(
        self: Any, coro: Any, *, name: Any = None, context: Any = None, ends_block: bool = True
    ) -> Any:
        return asyncio.TaskGroup.create_task(self, coro, name=name, context=context)

    def keep_up(self: Any, work: Callable[[], Any], *, name: str) -> Any:
        return asyncio.TaskGroup.create_task(self, work(), name=name)

    Crew.create_task = create_task
    Crew.keep_up = keep_up


def _never_gives_up() -> None:
    """A worker keeps a lease under which it can commit nothing."""
    from holdfast.worker.health import CommitHealth

    async def never(self: Any, length_s: float) -> None:
        await asyncio.Event().wait()

    CommitHealth.until_failed_for = never


def _boundless_heads() -> None:
    """uvicorn's own protocol, which limits neither bytes nor time."""
    from holdfast.web import serving
    from holdfast.web.protocol import HttpToolsProtocol

    def boundless(connections: Any, head: Any) -> Any:
        return HttpToolsProtocol

    serving.bounded_protocol = boundless


WEAKENED: Final[Mapping[str, Callable[[], None]]] = {
    "a standby is taken for a primary": _any_server,
    "ready without writes": _always_ready,
    "cursors without a stamp": _cursors_without_a_stamp,
    "a batch is decoded whole": _whole_batches,
    "a task ends its process": _crew_of_one_fate,
    "a worker never gives up its lease": _never_gives_up,
    "heads without a bound": _boundless_heads,
}
