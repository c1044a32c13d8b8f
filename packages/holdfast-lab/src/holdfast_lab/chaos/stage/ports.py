"""Ports for servers of our own."""

import random
import socket
from contextlib import suppress


def quiet_port() -> int:
    """A free port that no outgoing connection will take before the server does, or while it is
    stopped: a client that calls a port of the kernel's own range may even reach itself."""
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")
