"""What has ended is gone at once, without a collector that must find it.

Cycles would stay until it comes, and it comes seldom to what has lived for a while: a server would
seem to grow with every reader that it had.
"""

import asyncio
import gc
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from tests.requirements import requirement
from tests.support.waits import HANG_S
from tests.support.web import Cell, server_of
from tests.support.workers import until

SAYS = '[[sim: say "One, two, three." | rate=200]]'
TURNS = 3


@contextmanager
def uncollected() -> Generator[Counter[str]]:
    """What of ours only the collector would have found; counted when this ends."""
    found = Counter[str]()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage)
        found.update(name for name in names if name.startswith("holdfast."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def watched_turn(cell: Cell, chat_id: str, *, to_its_end: bool) -> None:
    """Somebody watches it by a stream that they leave, in the middle or at the end."""
    async with cell.admin.stream(chat_id) as events, asyncio.timeout(HANG_S):
        sent = await cell.admin.post(f"chats/{chat_id}/messages", {"text": SAYS})
        assert sent.status == 202
        async for event in events:
            if event["type"] == "preview.delta" and not to_its_end:
                break
            if event["type"] == "chat.state" and event["data"]["status"] == "idle":
                break
    await cell.admin.until(chat_id, "idle")


async def no_readers(cell: Cell) -> None:
    """The server hears that a reader left when the connection is gone."""
    hub = server_of(cell).hub
    assert hub is not None
    await until(lambda: hub.counters.readers == 0, HANG_S)
    assert (await cell.admin.get("me")).status == 200  # and what ended with them has ended


@requirement("F28")
async def test_a_turn_and_its_readers_leave_nothing_for_the_collector(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat(SAYS)
    await cell.admin.until(chat_id, "idle")
    await watched_turn(cell, chat_id, to_its_end=True)  # what is made once is made now
    with uncollected() as found:
        for number in range(TURNS):
            await watched_turn(cell, chat_id, to_its_end=number % 2 == 0)
        await no_readers(cell)
    assert found == {}
