"""The socket that a server is heard on, and what those that it accepts inherit."""

import asyncio
import socket

from holdfast.api.serving import ServingOptions, bind

STALLED_S = 7.0


async def test_what_is_written_is_sent_at_once_and_whoever_never_reads_is_left() -> None:
    """Else the body of every answer waits for the acknowledgement of its headers, 40 ms later;
    uvloop, on which servers run, sees to it itself, the loop of whoever embeds one does not."""
    accepted = asyncio.get_running_loop().create_future()

    def heard(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked: socket.socket = writer.get_extra_info("socket")
        options = (socket.TCP_NODELAY, socket.TCP_USER_TIMEOUT)
        accepted.set_result([asked.getsockopt(socket.IPPROTO_TCP, each) for each in options])
        writer.close()

    bound = bind(ServingOptions(port=0, stalled_s=STALLED_S))
    async with await asyncio.start_server(heard, sock=bound):
        _, writer = await asyncio.open_connection(*bound.getsockname()[:2])
        try:
            assert await asyncio.wait_for(accepted, 60) == [1, STALLED_S * 1000]
        finally:
            writer.close()
