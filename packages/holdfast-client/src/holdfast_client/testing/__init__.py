"""A real server with a simulated model, for tests of programs that use this package.

    with running_server() as server, Client(server.url, api_key=server.api_key) as client:
        reply = client.chats.run('[[sim: say "hello"]]')

For pytest, in conftest.py: `from holdfast_client.testing import holdfast_server`.
"""

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from holdfast_client.config import Target, environment_without_ours, read_config
from holdfast_client.errors import ConfigurationError

if TYPE_CHECKING:
    from holdfast_client.testing.fixtures import holdfast_server

__all__ = ["RunningServer", "holdfast_server", "running_server"]

CONTEXT: Final = "dev"
STOP_S: Final = 30.0
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class RunningServer:
    url: str
    api_key: str = field(repr=False)


@contextmanager
def running_server(
    *, database_url: str | None = None, timeout: float = 120.0
) -> Generator[RunningServer]:
    """A server and a simulated model on free ports, with a key of an admin.

    It has a private PostgreSQL in a temporary folder, which needs the programs of PostgreSQL on
    this machine; `database_url` names an empty database to use in its place. Needs the package
    `holdfast`. The text between `[[sim:` and `]]` in a message tells the model what to answer.
    """
    if find_spec("holdfast") is None or find_spec("holdfast_simulator") is None:
        raise ConfigurationError("running_server needs the server itself: pip install holdfast")
    with TemporaryDirectory(prefix="hf-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # for root, PostgreSQL runs as another user
        log = folder / "log"
        with log.open("wb") as output, _process(folder, database_url, output.fileno()) as process:
            target = _ready(process, folder, log, timeout)
            yield RunningServer(target.url, target.api_key or "")


@contextmanager
def _process(
    folder: Path, database_url: str | None, output: int
) -> Generator[subprocess.Popen[bytes]]:
    given = {} if database_url is None else {"HOLDFAST_DATABASE_URL": database_url}
    command = [sys.executable, "-m", "holdfast", "dev", "--port=0", f"--data={folder / 'data'}"]
    process = subprocess.Popen(  # noqa: S603 - our own server
        command,
        env=environment_without_ours(HOLDFAST_CONFIG_DIR=str(folder / "config"), **given),
        stdout=output,
        stderr=output,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ready(process: subprocess.Popen[bytes], folder: Path, log: Path, timeout: float) -> Target:
    """What it wrote for the command line, once it has: it listens then."""
    from holdfast_client.sync.client import Client

    deadline = time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < deadline:
        target = read_config(folder / "config" / "config.toml").contexts.get(CONTEXT)
        if target is not None:
            with Client(target.url, api_key=target.api_key, timeout=timeout) as client:
                client.me()
            return target
        time.sleep(_LOOK_S)
    said = log.read_text(encoding="utf-8", errors="replace").strip()
    raise ConfigurationError(f"The server did not start: {said}")


def __getattr__(name: str) -> object:
    """The fixture once it is asked for: only it needs pytest."""
    if name != "holdfast_server":
        raise AttributeError(name)
    from holdfast_client.testing.fixtures import holdfast_server

    return holdfast_server
