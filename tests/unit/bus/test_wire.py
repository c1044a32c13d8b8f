"""Replicas of different versions share a bus: what cannot be read is a gap."""

from uuid import UUID

import pytest

from holdfast.adapters.bus.postgres import NOTE_BYTES_MAX
from holdfast.adapters.bus.seal import SEAL_BYTES
from holdfast.adapters.bus.wire import RUNNABLE, SETTINGS, decode, encode_hint, encode_part
from holdfast.domain.ids import OrgId, VersionStamp
from holdfast.ports.bus import GAP, SettingsHint
from tests.support.builders import CHAT
from tests.support.buses import EPISODE, hint, part


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\n",
        b"x 1 2 3\n",
        b"p 1 2\n",
        b"p 1 2 x\n",
        b"p 1 2 3 4\n",
        b"p 1 2 3 4 x\n",
        b"p 1 2 3 4 5 6\n",
        b"h\n",
        b"h zz 1 idle 0\n",
        encode_hint(hint(1)).replace(b"running", b"dancing"),
    ],
)
def test_what_cannot_be_read_is_a_gap(frame: bytes) -> None:
    assert decode(CHAT, frame) is GAP


def test_what_is_written_is_read() -> None:
    stamped = EPISODE._replace(history_stamp=VersionStamp(2**63 - 1))
    for item in (part(3, b"a\nb"), part(4), part(5, at=stamped)):
        assert decode(CHAT, encode_part(item)) == item
    for said in (hint(3), hint(4, runnable=True, inline=b"\n\0")):
        assert decode(CHAT, encode_hint(said)) == said
        assert decode(RUNNABLE, encode_hint(said)) == said


def test_hint_about_settings_is_read_on_its_own_topic_only() -> None:
    said = SettingsHint(OrgId(UUID(int=5)), 12)
    assert decode(SETTINGS, encode_hint(said)) == said
    assert decode(CHAT, encode_hint(said)) is GAP
    assert decode(RUNNABLE, encode_hint(said)) is GAP
    assert decode(SETTINGS, encode_hint(said).replace(b"\n", b" more\n")) is GAP


def test_a_part_without_a_chat_is_a_gap() -> None:
    assert decode(RUNNABLE, encode_part(part(1))) is GAP


def test_a_note_fits_into_what_postgresql_takes() -> None:
    assert NOTE_BYTES_MAX + SEAL_BYTES < 8_000
