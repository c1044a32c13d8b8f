"""Seals of frames: the MAC of the standard, over the topic and the frame."""

import hmac

import pytest

from holdfast.adapters.bus.seal import SEAL_BYTES, FrameMac, FrameSeal
from holdfast.adapters.bus.wire import RUNNABLE, topic_name
from holdfast.ports.bus import BusCounters
from tests.support.builders import CHAT

KEY = bytes(range(32))


@pytest.mark.parametrize("frame", [b"", b"h", b"x" * 10_000, bytes(range(256))])
def test_a_mac_is_that_of_the_standard(frame: bytes) -> None:
    for topic in (CHAT, RUNNABLE):
        said = topic_name(topic).encode() + b"\n" + frame
        assert (
            FrameMac(KEY).of(topic, frame) == hmac.digest(KEY, said, "sha256")[:16].hex().encode()
        )


def test_a_seal_is_opened_and_a_broken_one_is_counted() -> None:
    counters = BusCounters()
    seal = FrameSeal(KEY, counters)
    sealed = seal.sealed(CHAT, b"frame")
    assert len(sealed) == SEAL_BYTES + 5
    assert seal.opened(CHAT, sealed) == b"frame"
    assert counters.refused_frames == 0
    broken = [sealed[:n] for n in range(len(sealed))] + [
        bytes([*sealed[:n], sealed[n] ^ 1, *sealed[n + 1 :]]) for n in range(len(sealed))
    ]
    assert {seal.opened(CHAT, each) for each in broken} == {None}
    assert seal.opened(RUNNABLE, sealed) is None
    assert counters.refused_frames == len(broken) + 1


def test_without_a_key_frames_are_as_they_were() -> None:
    seal = FrameSeal(None, BusCounters())
    assert seal.opened(CHAT, seal.sealed(CHAT, b"frame")) == b"frame"
