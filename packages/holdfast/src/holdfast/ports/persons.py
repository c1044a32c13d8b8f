"""For which person the running task asks, so that the database can be shared fairly among people.

Only the task that said so asks for that person: what it starts (a feed that others read too, a turn
that a worker drives) asks for the server.
"""

import asyncio
from contextvars import ContextVar
from typing import Any, Final
from weakref import ref

from holdfast.domain.ids import UserId

_PERSON: Final[ContextVar[tuple["ref[asyncio.Task[Any]]", UserId] | None]] = ContextVar(
    "person", default=None
)
"""The task weakly: its own context, which holds this, is held by it."""


def ask_for(user_id: UserId) -> None:
    """From now on the running task asks for this person."""
    task = asyncio.current_task()
    assert task is not None, "a request runs in a task"
    _PERSON.set((ref(task), user_id))


def asking_person() -> UserId | None:
    """None: the server asks for itself."""
    asking = _PERSON.get()
    return None if asking is None or asking[0]() is not asyncio.current_task() else asking[1]
