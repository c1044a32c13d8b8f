"""The app on a socket: uvicorn, on the loop that is there, stopped by us and not by signals."""

import logging
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from fastapi import FastAPI

from holdfast.api.connections import ConnectionCounters, Connections
from holdfast.api.forwarded import Forwarded
from holdfast.api.protocol import BoundedSocketProtocol, HeadOptions, bounded_protocol

CONNECTIONS_WAITING_MAX: Final = 2048
SOCKET_BYTES_MAX: Final = 64 * 2**10
"""What a client may say over a WebSocket at once; it is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    host: str = "127.0.0.1"
    port: int = 8080
    trusted_proxies: str = "127.0.0.1"
    """Whose word about the client's address is taken: addresses, with commas between."""
    stalled_s: float = 60.0
    """How long a client may take nothing of what was sent to it, or not say that it is there."""
    connections_max: int = 0
    connections_per_address_max: int = 0
    """Of the process, and of one peer that is no trusted proxy. 0: no bound."""
    head: HeadOptions = field(default_factory=HeadOptions)
    stop_s: int = 10
    """How long requests that are under way may take to end."""


def bind(options: ServingOptions) -> socket.socket:
    """A socket that is heard on once the app is served; raises `OSError`."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # The protocol by its name: only then does asyncio's own loop send small writes at once, on all
    # that is accepted. Else an answer's body waits until its headers are acknowledged, 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            # What is accepted inherits it. The kernel then ends the connection of a reader that
            # never reads, with all that waits for it: no timer of ours for each write (R5).
            stalled_ms = int(options.stalled_s * 1000)
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stalled_ms)
        bound.bind((options.host, options.port))
    except BaseException:
        bound.close()
        raise
    return bound


def _denied_is_no_error(record: logging.LogRecord) -> bool:
    """uvicorn takes a WebSocket that was refused, with a whole answer, for one that was forgotten;
    strangers could fill the log with it."""
    return "without completing handshake" not in record.getMessage()


class Serving(uvicorn.Server):
    """`await serve(sockets=[bound])` until `stop()`: then nothing new is accepted, and what is
    under way ends."""

    def __init__(self, config: uvicorn.Config, counters: ConnectionCounters) -> None:
        super().__init__(config)
        self.counters = counters

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are the command's, which stops more than this."""
        yield

    def stop(self) -> None:
        self.should_exit = True


def serving(app: FastAPI, options: ServingOptions) -> Serving:
    logging.getLogger("uvicorn.error").addFilter(_denied_is_no_error)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    connections = Connections(
        options.connections_max, options.connections_per_address_max, options.trusted_proxies
    )
    return Serving(
        uvicorn.Config(
            Forwarded(app, options.trusted_proxies),
            http=bounded_protocol(connections, options.head),
            ws=BoundedSocketProtocol,
            ws_max_size=SOCKET_BYTES_MAX,
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=CONNECTIONS_WAITING_MAX,
            proxy_headers=False,  # `Forwarded` does it
            timeout_graceful_shutdown=options.stop_s,
        ),
        connections.counters,
    )
