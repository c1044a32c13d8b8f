"""A wall to stand behind: a workspace that belongs to an ordinary user, and commands run in it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from holdfast_agent.launching import Command, Launcher
from holdfast_agent.sandbox.bubblewrap import Bubblewrap, Ground
from holdfast_agent.sandbox.opening import open_bubblewrap
from holdfast_agent.sandbox.options import SandboxOptions

ORDINARY_USER: Final = 61234
"""The user that commands run as under root; other users run them as themselves."""


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    reason: str | None


@contextmanager
def workspace() -> Generator[Path]:
    """Not below pytest's own folder, which only its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-"))
    try:
        folder.chmod(0o755)
        root = folder / "workspace"
        root.mkdir()
        (folder / "state").mkdir(mode=0o700)
        give(root)
        yield root
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def give(path: Path) -> None:
    if os.geteuid() == 0:
        for each in (path, *path.rglob("*")):
            os.chown(each, ORDINARY_USER, ORDINARY_USER, follow_symlinks=False)


def options_for(root: Path, **changes: Any) -> SandboxOptions:
    options = SandboxOptions(root=root, state=root.parent / "state", disk_free_bytes_min=0)
    return replace(options, **changes)


@asynccontextmanager
async def open_wall(**changes: Any) -> AsyncGenerator[Bubblewrap]:
    with workspace() as root:
        async with open_bubblewrap(options_for(root, **changes)) as wall:
            yield wall


def ground_of(wall: Bubblewrap) -> Ground:
    assert isinstance(wall.ground, Ground), wall.ground
    return wall.ground


@asynccontextmanager
async def begun(
    wall: Launcher, script: str, key: str = "key", env: Mapping[str, str] | None = None
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A command that runs; whatever is left of it at the end is killed."""
    with wall.launch(Command(argv=("sh", "-c", script), env=env or {}), key) as launch:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run(
    wall: Launcher,
    script: str,
    key: str = "key",
    *,
    env: Mapping[str, str] | None = None,
    within_s: float = 60,
) -> Ran:
    async with asyncio.timeout(within_s), begun(wall, script, key, env) as process:
        out, _ = await process.communicate()
    code = process.returncode
    assert code is not None
    return Ran(code, out.decode(errors="replace"), wall.ended(key))
