"""Where feeds read, and what all of a hub share."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from holdfast.ports.bus import Bus
from holdfast.ports.history import History
from holdfast.ports.store import Store
from holdfast.stream.options import HubOptions, StreamCounters

Later: TypeAlias = Callable[[float, Callable[[], Coroutine[Any, Any, None]]], asyncio.TimerHandle]


@dataclass(slots=True)
class Patience:
    """With a bus that hangs; shared, since thousands of chats would else wait for it in turn."""

    again_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Sources:
    store: Store
    history: History
    bus: Bus
    options: HubOptions
    counters: StreamCounters
    doubt: asyncio.Event
    """Set when the bus may have lost something: let the poll look now."""
    later: Later
    """To do something after so many seconds, in a task of the hub's."""
    patience: Patience
