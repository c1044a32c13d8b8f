"""Files and tool outputs as pieces that a wire can spell: text, image or document.

A tool's output is text, any JSON, or an object with a `content` list of typed blocks:
`{"type": "text", "text": …}` and `{"type": "image", "data" (base64) or "file_id", "mimeType",
"caption"}`. Images go as images, never as base64 text; a broken one becomes its caption (L39).
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import orjson

from holdfast.adapters.providers.types import Call, FileResolver, ModelFacts
from holdfast.domain.parts import File, JsonValue, Text, ToolResult

EMPTY: Final = "(no output)"
FAILED: Final = "Error: "
"""Begins a failed result on a wire that has no field for it."""
_PDF: Final = "application/pdf"
_MAGIC: Final[Mapping[str, tuple[bytes, ...]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    media_type: str
    base64: str

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class Paper:
    """A PDF."""

    name: str
    base64: str

    @property
    def url(self) -> str:
        return f"data:{_PDF};base64,{self.base64}"


Piece: TypeAlias = Words | Picture | Paper


def asked_pieces(part: Text | File, call: Call) -> Piece:
    """What the user said or attached, in the form that the model takes."""
    if isinstance(part, Text):
        return Words(part.text)
    return _file_piece(part, call.files, call.model)


def _file_piece(file: File, files: FileResolver, model: ModelFacts) -> Piece:
    name = file.name or file.file_id
    data = files(file.file_id)
    if data is None:
        return Words(f"[The file {name} is no longer available.]")
    kind = image_type(data)
    if kind is not None and model.images:
        return Picture(kind, base64.b64encode(data).decode())
    if file.media_type == _PDF and model.documents and data.startswith(b"%PDF"):
        return Paper(name, base64.b64encode(data).decode())
    # Text of whatever type the transport would refuse is simply said (L38).
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Words(f"[The file {name} ({file.media_type}) cannot be shown to this model.]")
    if "\x00" in text:
        return Words(f"[The file {name} ({file.media_type}) cannot be shown to this model.]")
    return Words(f'<file name="{name}">\n{text}\n</file>')


def image_type(data: bytes) -> str | None:
    """The image type that the bytes themselves show, whatever they are called."""
    for media_type, heads in _MAGIC.items():
        if data.startswith(heads):
            return None if media_type == "image/webp" and data[8:12] != b"WEBP" else media_type
    return None


def output_pieces(output: JsonValue, call: Call) -> list[Piece]:
    """A tool's output; never empty, never blank."""
    if isinstance(output, str):
        return [Words(output if output and not output.isspace() else EMPTY)]
    if isinstance(output, Mapping):
        blocks = output.get("content")
        if isinstance(blocks, list) and all(_is_block(block) for block in cast(list[Any], blocks)):
            pieces = [_block_piece(block, call) for block in cast(list[dict[str, Any]], blocks)]
            pieces = [p for p in pieces if not (isinstance(p, Words) and not p.text.strip())]
            return pieces or [Words(EMPTY)]
    return [Words(orjson.dumps(output, default=_plain).decode())]


def marked_pieces(result: ToolResult, call: Call) -> list[Piece]:
    """A result's output for a wire that has no field for failure: the text says it."""
    pieces = output_pieces(result.output, call)
    if not result.failed:
        return pieces
    match pieces[0]:
        case Words(text):
            return pieces if text.startswith(FAILED) else [Words(FAILED + text), *pieces[1:]]
        case _:
            return [Words(FAILED.rstrip()), *pieces]


def output_text(pieces: list[Piece]) -> str:
    """The words among the pieces, for wires whose tool results are text only."""
    words = [piece.text for piece in pieces if isinstance(piece, Words)]
    return "\n".join(words) or "[The result is in the images that follow.]"


def _is_block(block: object) -> bool:
    return isinstance(block, dict) and isinstance(cast(dict[str, Any], block).get("type"), str)


def _block_piece(block: dict[str, Any], call: Call) -> Piece:
    match block:
        case {"type": "text", "text": str(text)}:
            return Words(text)
        case {"type": "image"}:
            caption = block.get("caption")
            shown = _image(block, call) if call.model.images else None
            return shown or Words(caption if isinstance(caption, str) and caption else "[image]")
        case _:
            return Words(orjson.dumps(block, default=_plain).decode())


def _image(block: dict[str, Any], call: Call) -> Picture | None:
    file_id, encoded = block.get("file_id"), block.get("data")
    if isinstance(file_id, str):
        data = call.files(file_id)
    elif isinstance(encoded, str):
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return None
    else:
        return None
    kind = image_type(data) if data else None
    return Picture(kind, base64.b64encode(data).decode()) if data and kind else None


def _plain(value: object) -> object:
    """Read-only views of stored JSON, as the encoder likes them."""
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, object], value))
    if isinstance(value, (tuple, frozenset, set)):
        return list(cast(tuple[object], value))
    return str(value)
