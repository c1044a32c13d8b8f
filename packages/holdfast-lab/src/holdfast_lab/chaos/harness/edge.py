"""The thinnest possible edge: a socket that streams a chat as server-sent events.

A reader says `<chat> <cursor>\\n`, with `-` for no cursor, and is told the rest.
"""

import asyncio
import socket
from contextlib import suppress
from uuid import UUID

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId
from holdfast.stream.cursor import Cursor
from holdfast.stream.hub import Hub

KERNEL_BYTES = 16 * 1024
"""What the kernel takes off us for a reader. Left to itself it takes megabytes, and a reader that
never reads seems to cost nothing."""


async def open_edge(hub: Hub, host: str) -> asyncio.Server:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Unavailable: the reader comes back.
        with suppress(ConnectionError, Unavailable):
            try:
                asked = (await reader.readline()).decode().split()
                if len(asked) != 2:
                    return
                chat, cursor = asked
                after = None if cursor == "-" else Cursor.parse(cursor)
                async with hub.follow(ChatId(UUID(chat)), after) as events:
                    async for event in events:
                        writer.write(event.sse())
                        await writer.drain()
            finally:
                writer.close()

    server = await asyncio.start_server(serve, host, 0)
    for each in server.sockets:  # accepted connections inherit it
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
    return server
