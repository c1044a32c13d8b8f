# Made of holdfast_client/aio/socket.py by scripts/generate_sync.py. Do not edit.
"""A WebSocket that only listens: the protocol of `websockets` on a connection of our own.

Its own sync client runs a helper beside the caller's code; this needs none.
"""

import ssl
from collections.abc import Generator, Mapping
from typing import Final
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event
from websockets.uri import parse_uri

from holdfast_client.errors import ConnectionLost
from holdfast_client.sync.ground import Wire
from holdfast_client.sync.http import error_in

MESSAGE_BYTES_MAX: Final = 64 * 2**20
CONNECT_S: Final = 10.0


def messages_of(url: str, headers: Mapping[str, str], quiet_s: float) -> Generator[bytes | None]:
    """None once it stands, then text messages. Raises `ConnectionLost`, OSError, or a problem."""
    wire = _wire_to(url, min(CONNECT_S, quiet_s))
    try:
        protocol = ClientProtocol(parse_uri("ws" + url[4:]), max_size=MESSAGE_BYTES_MAX)
        request = protocol.connect()
        request.headers.update(headers)
        protocol.send_request(request)
        pieces: list[bytes] = []
        while True:
            for event in _heard(protocol, wire, quiet_s):
                if isinstance(event, Response):
                    yield None
                elif (message := _message(event, pieces)) is not None:
                    yield message
            if protocol.close_expected():
                raise ConnectionLost
    finally:
        wire.close()


def _wire_to(url: str, timeout_s: float) -> Wire:
    address = urlsplit(url)
    assert address.hostname is not None
    secure = address.scheme == "https"
    tls = ssl.create_default_context() if secure else None
    return Wire.open(address.hostname, address.port or (443 if secure else 80), tls, timeout_s)


def _heard(protocol: ClientProtocol, wire: Wire, quiet_s: float) -> list[Event]:
    """Say what the protocol has to say, and read once. A refused handshake is raised."""
    for data in protocol.data_to_send():
        wire.send(data)
    received = wire.receive(quiet_s)
    if received:
        protocol.receive_data(received)
    else:
        protocol.receive_eof()
    events = protocol.events_received()
    if protocol.handshake_exc is not None:
        raise _refusal(protocol.handshake_exc)
    if not received:
        raise ConnectionLost
    return events


def _message(frame: object, pieces: list[bytes]) -> bytes | None:
    """The message that a frame completes."""
    if not isinstance(frame, Frame) or frame.opcode not in (Opcode.TEXT, Opcode.CONT):
        return None
    pieces.append(bytes(frame.data))
    if not frame.fin:
        return None
    message = b"".join(pieces)
    pieces.clear()
    return message


def _refusal(error: Exception) -> Exception:
    if isinstance(error, InvalidStatus):
        answer = error.response
        return error_in(answer.status_code, bytes(answer.body), answer.headers)
    return ConnectionLost(str(error)) if isinstance(error, InvalidHandshake) else error
