"""How large the built page is, as a browser fetches it: scripts and styles, gzipped."""

import gzip
from typing import Any, Final

import orjson

from holdfast.api.ui_files import STATIC

INDEX: Final = "index.html"
CHAT: Final = "src/app/chat.tsx"


def shell_kb() -> float:
    """What is there before anything lazy: signing in, the list, the frame."""
    return _kb(_files(_manifest(), INDEX))


def chat_route_kb() -> float:
    """What a chat needs beside the shell."""
    manifest = _manifest()
    return _kb(_files(manifest, CHAT) - _files(manifest, INDEX))


def _manifest() -> dict[str, Any]:
    return orjson.loads((STATIC / "manifest.json").read_bytes())


def _files(manifest: dict[str, Any], name: str) -> set[str]:
    """Of a chunk and all that it imports at once."""
    found: set[str] = set()
    pending, known = [name], {name}
    while pending:
        chunk = manifest[pending.pop()]
        found |= {chunk["file"], *chunk.get("css", [])}
        new = set(chunk.get("imports", [])) - known
        known |= new
        pending += new
    return found


def _kb(files: set[str]) -> float:
    return sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in files) / 1024
