"""What the commands of one workspace share: a network with `lo` alone and one door to our proxy,
one `/tmp` and one home directory.

All commands of a workspace are in the same network namespace, so that a server started by one can
be asked by the next. The proxy (`egress.py`) runs out here, but the socket that it accepts on was
opened in there (`holder.py`): no process and no unix socket of ours has to be inside.

`/tmp` and the home directory are file systems in memory, of a bounded size, that are mounted only
in the mount namespace of the holder, and end with it.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_agent.sandbox.person import Person

PROXY_PORT: Final = 3128
_HOLDER: Final = Path(__file__).with_name("holder.py")
_READY_S: Final = 20.0


class NoNetwork(Exception):
    """The kernel gives us no namespace of our own: its words."""


@dataclass(frozen=True, slots=True)
class Network:
    holder_pid: int
    door: socket.socket
    """Listens at `PROXY_PORT` in there."""

    @property
    def is_there(self) -> bool:
        """A holder that was killed leaves no namespace to join."""
        return Path(f"/proc/{self.holder_pid}/ns/net").exists()


@asynccontextmanager
async def open_network(person: Person, tmp_bytes_max: int) -> AsyncGenerator[Network]:
    """Raises `NoNetwork`."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            holder = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_HOLDER)),
                *map(str, (person.uid, person.gid, PROXY_PORT, tmp_bytes_max)),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C in the agent's terminal must not end it
            )
        try:
            door = await asyncio.to_thread(_door_from, ours)
            with door:
                yield Network(holder.pid, door)
        finally:
            ours.close()  # its end: `cat` has nothing more to read
            await holder.wait()


def _door_from(ours: socket.socket) -> socket.socket:
    ours.settimeout(_READY_S)
    try:
        said, handles, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
    except TimeoutError:
        raise NoNetwork(f"no answer within {_READY_S:.0f} s") from None
    if not handles:
        raise NoNetwork(said.decode(errors="replace") or "the process that makes it has died")
    door = socket.socket(fileno=handles[0])
    door.settimeout(0)
    return door
