"""A reader that never reads: its connection ends, and nothing waits for it any longer."""

import asyncio
import socket
from urllib.parse import urlsplit

from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.waits import HANG_S
from tests.support.web import Cell, a_cell, server_of

LONG = "[[sim: words=60000 | deltas=24 | rate=200000]]"


def stall(cell: Cell, chat_id: str) -> socket.socket:
    """Asks for the stream, and takes next to nothing of it."""
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    address = urlsplit(cell.urls[0])
    lazy.connect((address.hostname, address.port))
    asked = f"GET /api/v1/chats/{chat_id}/events HTTP/1.1\r\nhost: x\r\n"
    lazy.sendall(f"{asked}authorization: {cell.admin.headers['authorization']}\r\n\r\n".encode())
    return lazy


async def until_readers(cell: Cell, number: int) -> None:
    hub = server_of(cell).hub
    assert hub is not None
    async with asyncio.timeout(HANG_S):
        while hub.counters.readers != number:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@requirement("R5")
async def test_a_reader_that_never_reads_is_let_go(empty: Replicas) -> None:
    async with a_cell(empty, stalled_s=1) as cell:
        chat_id = await cell.admin.new_chat()
        with stall(cell, chat_id):
            await until_readers(cell, 1)
            await cell.admin.post(f"chats/{chat_id}/messages", {"text": LONG})
            await cell.admin.until(chat_id, "idle", within_s=HANG_S)

            await until_readers(cell, 0)


@requirement("R5")
async def test_a_reader_that_has_nothing_to_read_is_not(empty: Replicas) -> None:
    async with a_cell(empty, stalled_s=1) as cell:
        chat_id = await cell.admin.new_chat()
        async with cell.admin.stream(chat_id) as events:
            async for event in events:
                if event["type"] == "chat.state":
                    break
            # Real time: nothing is sent for longer than a reader may stall.
            await asyncio.sleep(2.5)
            await cell.admin.post(f"chats/{chat_id}/messages", {"text": "hello"})
            async with asyncio.timeout(HANG_S):
                async for event in events:
                    if event["type"] == "message.created":
                        return
    raise AssertionError("the stream ended without the message")
