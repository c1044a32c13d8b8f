"""The folder that `holdfast dev` lives in: one process at a time, secrets for its owner alone."""

import base64
import fcntl
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import platformdirs

from holdfast.domain.errors import HoldfastError

AS_ROOT: Final = Path("/var/lib/holdfast")
"""Other users may enter it: PostgreSQL does not run as root, and root's home is closed."""
EMAIL: Final = "admin@localhost.localdomain"
PASSWORD_BYTES: Final = 18


class FolderRefused(HoldfastError):
    """A folder that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    @property
    def key_file(self) -> Path:
        return self.path / "key"

    @property
    def admin_file(self) -> Path:
        return self.path / "admin.json"

    @property
    def master_key_file(self) -> Path:
        """Made if it is not there."""
        path = self.path / "master.key"
        if not path.exists():
            key = base64.b64encode(secrets.token_bytes(32))
            write_private(path, b"# Seals the secrets in the database beside it.\n" + key + b"\n")
        return path

    @property
    def workspaces(self) -> Path:
        return self.path / "workspaces"

    def key(self) -> str:
        try:
            return self.key_file.read_text().strip()
        except FileNotFoundError:
            return ""

    def keep_key(self, key: str) -> None:
        write_private(self.key_file, f"{key}\n".encode())

    def password(self) -> str:
        """The admin's. Made here and kept before there is an admin: killed in between, the next
        start can still sign in."""
        with suppress(FileNotFoundError):
            return str(orjson.loads(self.admin_file.read_bytes())["password"])
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        told = orjson.dumps({"email": EMAIL, "password": password}, option=orjson.OPT_INDENT_2)
        write_private(self.admin_file, told + b"\n")
        return password


def default_folder() -> Path:
    """XDG_DATA_HOME goes first on every system, also for root."""
    set_by_system = os.environ.get("XDG_DATA_HOME", "")  # noqa: TID251 - no setting of ours
    given = Path(set_by_system.strip())
    if given.is_absolute():
        return given / "holdfast"
    return AS_ROOT if os.geteuid() == 0 else platformdirs.user_data_path("holdfast")


@contextmanager
def own_folder(path: Path) -> Generator[Folder]:
    """Made if it is not there, and ours until we end, however we end. Raises `FolderRefused`."""
    path = path.expanduser().absolute()
    try:
        # As root, another user runs PostgreSQL in it and must pass.
        path.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise FolderRefused(
            f"{path} cannot be used: {error.strerror}. Give another folder with --data."
        ) from None
    try:
        _lock(lock, path)
        yield Folder(path)
    finally:
        os.close(lock)


def _lock(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode(errors="replace").strip()
        raise FolderRefused(
            f"`holdfast dev` runs already in {path} (process {holder}). Stop that one, or give"
            " another folder with --data."
        ) from None
    os.truncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())


def write_private(path: Path, data: bytes) -> None:
    """Whole or not at all, and never readable by others, not for a moment."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
