"""Frames are authenticated: a program that can write to the bus cannot put words into a chat.

    m<32 hex digits> <frame>      128 bits of HMAC-SHA256 over the topic's name and the frame

The topic is included: a frame of one chat is refused on the topic of another. A frame that is sent
again is not refused: versions and sequence numbers make that harmless, as on a bus that repeats.

A refused frame is delivered as a gap, like any that cannot be read: its readers read the truth. So
nothing is lost while replicas of a version without authentication run beside this one. They take
our frames for gaps, too.
"""

import hashlib
import hmac
import logging
from typing import Final

from holdfast.adapters.bus.wire import Topic, topic_name
from holdfast.ports.bus import BusCounters

MAC_BYTES: Final = 16
SEAL_BYTES: Final = len(b"m ") + 2 * MAC_BYTES
"""What a seal adds to a frame."""
_LOG: Final = logging.getLogger(__name__)


class FrameMac:
    """HMAC-SHA256 of RFC 2104, its key hashed once: `hmac.digest` takes twice as long for each
    frame."""

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(hashlib.sha256().block_size, b"\0")
        assert len(padded) == hashlib.sha256().block_size, "a longer key would have to be hashed"
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def of(self, topic: Topic, frame: bytes) -> bytes:
        """The first `MAC_BYTES`, in hexadecimal digits."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(b"%b\n%b" % (topic_name(topic).encode(), frame))
        outer.update(inner.digest())
        return outer.digest()[:MAC_BYTES].hex().encode()


class FrameSeal:
    """`key`: of the deployment. None: frames are neither sealed nor checked, for buses of tests and
    benchmarks that have no database."""

    def __init__(self, key: bytes | None, counters: BusCounters) -> None:
        assert key is None or len(key) >= MAC_BYTES
        self._mac = None if key is None else FrameMac(key)
        self._counters = counters

    def sealed(self, topic: Topic, frame: bytes) -> bytes:
        if self._mac is None:
            return frame
        return b"m%b %b" % (self._mac.of(topic, frame), frame)

    def opened(self, topic: Topic, sealed: bytes) -> bytes | None:
        """The frame; None if no process of the deployment made it for this topic."""
        if self._mac is None:
            return sealed
        frame = sealed[SEAL_BYTES:]
        seal = b"m%b " % self._mac.of(topic, frame)
        if hmac.compare_digest(seal, sealed[:SEAL_BYTES]):
            return frame
        if not self._counters.refused_frames:
            _LOG.warning(
                "bus: a frame that is not from this deployment was refused. While replicas of an"
                " older version run, this is expected. Else another program writes to the bus: see"
                " the metric holdfast_bus_refused_frames_total"
            )
        self._counters.refused_frames += 1
        return None
