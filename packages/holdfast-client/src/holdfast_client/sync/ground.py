"""What the two halves do differently, so that all else can be the same. Twin: aio/ground.py."""

import inspect
import socket
import ssl
import time

from holdfast_client.models import Json


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def finish(result: object) -> Json:
    """What a tool's function gave. There is no loop here on which an async one could run."""
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("an async function as a tool needs the AsyncClient")
    return result


class Wire:
    """Bytes both ways. Raises OSError, of which TimeoutError is one."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    @classmethod
    def open(cls, host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float) -> "Wire":
        plain = socket.create_connection((host, port), timeout_s)
        if tls is None:
            return cls(plain)
        try:
            return cls(tls.wrap_socket(plain, server_hostname=host))
        except BaseException:
            plain.close()
            raise

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def receive(self, timeout_s: float) -> bytes:
        """Empty at the end."""
        self._connection.settimeout(max(timeout_s, 0.001))  # 0 would mean: do not wait at all
        return self._connection.recv(65_536)

    def close(self) -> None:
        self._connection.close()
