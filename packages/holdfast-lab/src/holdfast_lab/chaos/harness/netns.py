"""Network namespaces: a mainland of our own, and islands whose links can be taken down.

    unshare --net python -m holdfast_lab.chaos.faults.network.netns_process ...

The mainland is a namespace too: an attack that is played there touches no interface of the
machine's, needs no root where people may make namespaces, and leaves nothing behind. What is sent
over a link that is down is dropped, not refused.
"""

import asyncio
import ctypes
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from holdfast_lab.chaos.attack import CannotTry

Link = Literal["database", "bus", "rest"]
LINKS: Final[tuple[Link, ...]] = get_args(Link)
NEW_NETWORK: Final = 0x40000000
"""CLONE_NEWNET."""
APART_S: Final = 20.0
PROGRAMS: Final = ("unshare", "ip", "nsenter")


def move_to(island: str) -> None:
    """This thread, and every thread that it starts; open sockets stay where they are."""
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(island, os.O_RDONLY)
    try:
        if libc.setns(namespace, NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"setns {island}")
    finally:
        os.close(namespace)


@dataclass(frozen=True)
class Island:
    """A network of its own, with a link to the mainland for each thing that it needs."""

    number: int
    path: str

    def mainland(self, link: Link) -> str:
        """Where the island finds this thing."""
        return f"{self._net(link)}.1"

    def home(self, link: Link) -> str:
        return f"{self._net(link)}.2"

    async def cut(self, link: Link) -> None:
        await _ip("link", "set", self.port(link), "down")

    async def heal(self, link: Link) -> None:
        await _ip("link", "set", self.port(link), "up")

    def port(self, link: Link) -> str:
        return f"hf{self.number}{link}"

    def _net(self, link: Link) -> str:
        return f"10.79.{self.number * len(LINKS) + LINKS.index(link)}"


async def run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    if process.returncode:
        raise OSError(f"{' '.join(command)}: {said.decode().strip()}")


async def _ip(*words: str) -> None:
    await run("ip", *words)


@asynccontextmanager
async def an_island(number: int) -> AsyncGenerator[Island]:
    """On the mainland; gone afterwards, and its links with it."""
    keeper = await asyncio.create_subprocess_exec("unshare", "--net", "sleep", "infinity")
    island = Island(number, f"/proc/{keeper.pid}/ns/net")
    try:
        await _until_apart(keeper.pid)
        for link in LINKS:
            await _connect(island, keeper.pid, link)
        yield island
    finally:
        keeper.kill()
        await keeper.wait()


async def _until_apart(pid: int) -> None:
    async with asyncio.timeout(APART_S):
        while _network_of(pid) == _network_of(os.getpid()):  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.005)


def _network_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


async def _connect(island: Island, pid: int, link: Link) -> None:
    port, inside = island.port(link), ("nsenter", f"--net={island.path}", "ip")
    await _ip("link", "add", port, "type", "veth", "peer", "name", "up0", "netns", str(pid))
    await run(*inside, "link", "set", "up0", "name", f"to{link}")
    await _ip("address", "add", f"{island.mainland(link)}/24", "dev", port)
    await run(*inside, "address", "add", f"{island.home(link)}/24", "dev", f"to{link}")
    await _ip("link", "set", port, "up")
    await run(*inside, "link", "set", f"to{link}", "up")


def mainland_command() -> list[str]:
    """What is put before a command, so that it runs on a mainland of its own."""
    if os.geteuid() == 0:
        return ["unshare", "--net"]
    # As ourselves: PostgreSQL refuses to run as root, also as one that is none outside.
    return ["unshare", "--user", "--map-current-user", "--keep-caps", "--net"]


async def refuse_without_networks() -> None:
    """Raises `CannotTry` where no network can be made."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        raise CannotTry(f"{', '.join(missing)} is not installed")
    try:
        trial = ("ip", "link", "add", "hftry", "type", "veth", "peer", "name", "hftry2")
        await run(*mainland_command(), *trial)
    except OSError as why:
        raise CannotTry(f"no network namespaces here: {why}") from why
