"""A ledger with local dispatch in front of it, as in a process that both serves and drives."""

from holdfast.chats.ledger import Ledger
from holdfast.ports.bus import Hints
from holdfast.ports.clock import Clock
from holdfast.ports.store import Store
from holdfast.worker.idle_cache import IdleCache, NotingStore
from holdfast.worker.local_dispatch import LocalDispatch
from holdfast.worker.slots import OfferedSlots, WorkerSlots


def dispatch_on(
    store: Store, hints: Hints, clock: Clock, slots: WorkerSlots | None = None
) -> LocalDispatch:
    """`slots`: without them no commit acquires its chat, and chats at rest are remembered."""
    idle = IdleCache()
    ledger = Ledger(NotingStore(store, idle), hints, clock)
    return LocalDispatch(ledger, slots or OfferedSlots(), idle)
