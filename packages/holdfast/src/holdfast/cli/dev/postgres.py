"""A private PostgreSQL server, in a folder that only its owner can reach.

It listens only on a socket inside its data folder, which only its owner may enter. It is not a
child process, so that Ctrl-C in a terminal does not end it before us: we stop it when we end, and
the next start stops a server that a killed one left behind.
"""

import asyncio
import locale
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

from holdfast.cli.dev.binaries import Binaries, find_binaries
from holdfast.domain.errors import HoldfastError

USER: Final = "holdfast"
PORT: Final = 5432
SOCKET_PATH_BYTES_MAX: Final = 103
"""As long as the path of a socket may be on macOS; Linux takes four more."""
COMMAND_S: Final = 120
ACCOUNTS: Final = ("postgres", "nobody")
"""Accounts to run it as when we are root: PostgreSQL refuses to run as root."""
MAY_ENTER: Final = ("/bin/sh", "-c", 'test -x "$0"')
LOG: Final = "server.log"
LOG_LINES_TOLD: Final = 5
SETTINGS: Final = f"""
# Written by `holdfast dev`: no network, and a socket in this folder, which is its owner's alone.
listen_addresses = ''
unix_socket_directories = '.'
port = {PORT}
"""


class PostgresFailed(HoldfastError):
    """It does not start, or cannot be where it should; says why."""


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class PrivatePostgres:
    data: Path
    binaries: Binaries
    account: Account | None
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """For this start, beside those in its folder."""

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@{quote(str(self.data), safe='')}:{PORT}/postgres"

    @property
    def socket(self) -> Path:
        return self.data / f".s.PGSQL.{PORT}"

    async def create(self) -> None:
        """Its files, in one step: killed in between, the next start begins anew."""
        new = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        if self.account is not None:
            os.chown(new, self.account.uid, self.account.gid)
        await self._run(
            "initdb", "-D", str(new), "-U", USER, "-A", "trust", "-E", "UTF8", *_where()
        )
        with (new / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        new.rename(self.data)

    async def start(self) -> None:
        if await asyncio.to_thread(self.answers):
            await self.stop()  # left by one that was killed, and maybe about to end
        log = self.data / LOG
        try:
            given = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
            await self._control("-l", str(log), "-o", given, "start")
        except PostgresFailed:
            raise PostgresFailed(f"PostgreSQL did not start: {_last_lines(log)}") from None

    async def stop(self) -> None:
        await self._control("-m", "fast", "stop")

    def answers(self) -> bool:
        """Whether a server is there. Its pid file cannot say: after a crash of the machine that
        number may belong to any process."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
            return True

    async def _control(self, *arguments: str) -> None:
        await self._run(
            "pg_ctl", "-D", str(self.data), "-w", "-s", "-t", str(COMMAND_S), *arguments
        )

    async def _run(self, program: str, *arguments: str) -> None:
        command = (self.binaries[program], *arguments)
        done = await asyncio.to_thread(_finished, command, self.account)
        if done.returncode:
            raise PostgresFailed(
                f"`{program}` failed: {done.stderr.strip() or done.stdout.strip()}"
            )


@asynccontextmanager
async def private_postgres(
    folder: Path,
    settings: Mapping[str, str] | None = None,
    *,
    library: str = "",
) -> AsyncGenerator[PrivatePostgres]:
    """Running; stopped afterwards. The same folder has the same data again. `library` is loaded at
    its start, if this PostgreSQL has it."""
    data = folder / "postgres"
    there = await asyncio.to_thread(data.exists)
    major = int((data / "PG_VERSION").read_text()) if there else None
    binaries = await asyncio.to_thread(find_binaries, major)
    given = dict(settings or {})
    if library and await asyncio.to_thread(binaries.has_library, library):
        given["shared_preload_libraries"] = library
    server = PrivatePostgres(data, binaries, _account(data), given)
    await asyncio.to_thread(_check_reach, server)
    if not there:
        await server.create()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def _account(data: Path) -> Account | None:
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat().st_uid):
        found = pwd.getpwuid(owner)
        return Account(found.pw_name, found.pw_uid, found.pw_gid)
    for name in ACCOUNTS:
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            return Account(name, found.pw_uid, found.pw_gid)
    raise PostgresFailed(
        "PostgreSQL does not run as root, and there is no user `postgres` to run it as."
        " Start `holdfast dev` as another user."
    )


def _check_reach(server: PrivatePostgres) -> None:
    if len(os.fsencode(server.socket)) > SOCKET_PATH_BYTES_MAX:
        raise PostgresFailed(
            f"{server.data} is too long a path for a socket in it. Give a shorter one with --data."
        )
    account = server.account
    for place in (server.data.parent, server.binaries.folder):
        if account and _finished((*MAY_ENTER, str(place)), account).returncode:
            raise PostgresFailed(
                f"PostgreSQL does not run as root, so it would run as {account.name!r}, who may not"
                f" enter {place}. Give a folder that all users may enter with --data, such as"
                " /var/lib/holdfast, or start `holdfast dev` as another user."
            )


def _finished(
    command: tuple[str, ...], account: Account | None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - PostgreSQL's own programs, and MAY_ENTER
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        start_new_session=True,  # Ctrl-C in a terminal is for us alone
        user=account and account.uid,
        group=account and account.gid,
        extra_groups=[] if account else None,
    )


def _where() -> tuple[str, ...]:
    """A locale that is the same everywhere and knows all letters, if the system has it."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return ("--no-locale",)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    return ("--locale=C.UTF-8",)


def _last_lines(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"{log}: {error.strerror}"
    return " | ".join(lines[-LOG_LINES_TOLD:]) or f"{log} is empty"
