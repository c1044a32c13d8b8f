"""The built page: its size as a browser fetches it (scripts and styles, gzipped); a test build."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson
import pytest

from holdfast.api.ui_files import STATIC

UI: Final = Path(__file__).parents[2] / "ui"
INDEX: Final = "index.html"
CHAT: Final = "src/app/routes/chat/chat.tsx"


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


@asynccontextmanager
async def page_with_gallery() -> AsyncGenerator[None]:
    """Serve a test build, which has `/dev/gallery`, from servers that start meanwhile."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        await _build("--mode", "test", "--outDir", folder, "--emptyOutDir")
        patch.setattr("holdfast.api.app.STATIC", Path(folder))
        yield


async def _build(*options: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *("npx", "vite", "build", *options),
        cwd=UI,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
