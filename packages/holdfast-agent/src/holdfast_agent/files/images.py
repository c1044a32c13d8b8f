"""Images: known by their first bytes, whatever they are called, and sent whole or not at all."""

import base64
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from holdfast_agent.faults import Refused
from holdfast_agent.files.beneath import OpenFile, Place, read_all
from holdfast_agent.wire import FaultCode, Image, Lines

MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
IMAGE_BYTES_MAX: Final = 720 * 1024
"""In base64 it must fit into the megabyte that a chat stores of one result."""
_HEADS: Final[Mapping[bytes, MediaType]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def media_type(beginning: bytes) -> MediaType | None:
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for head, kind in _HEADS.items() if beginning.startswith(head)), None)


def image_of(file: OpenFile, place: Place, kind: MediaType) -> Lines:
    size = file.stat.st_size
    if size > IMAGE_BYTES_MAX:
        message = (
            f"`{place.shown}` is an image ({kind}) of {size:,} bytes; at most {IMAGE_BYTES_MAX:,}"
            " can be shown. Make a smaller copy with a command and read that."
        )
        raise Refused(FaultCode.TOO_LARGE, message)
    data = read_all(file, place, IMAGE_BYTES_MAX)
    return Lines(
        path=place.shown,
        text="",
        first_line=1,
        last_line=0,
        lines_total=0,
        bytes_total=len(data),
        more=False,
        image=Image(media_type=kind, base64=base64.b64encode(data).decode()),
    )
