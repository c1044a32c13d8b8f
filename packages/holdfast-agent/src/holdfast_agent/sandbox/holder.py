"""Makes a network with nothing in it but `lo`, opens a door there, keeps it while the agent lives.

Run as a script by `network.py`, with standard input as the one connection to the agent:
`python -I -S holder.py UID GID PORT`. It goes into a user and a network namespace of its own,
listens there, hands the listening socket out through standard input, and becomes `cat`: that costs
next to nothing, holds no rights, and ends when the agent does. Imports the standard library only.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_PR_SET_DUMPABLE = 4
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_WAITING_MAX: Final = 128


def main() -> None:
    uid, gid, port = (int(word) for word in sys.argv[1:4])
    agent = socket.socket(fileno=os.dup(0))
    try:
        become(uid, gid)
        enter_network(uid, gid)
        door = socket.create_server(("127.0.0.1", port), backlog=_WAITING_MAX)
    except OSError as error:
        agent.sendall(f"{error}".encode())
        raise SystemExit(1) from error
    socket.send_fds(agent, [b"ok"], [door.fileno()])
    door.close()
    agent.close()
    os.execv("/bin/cat", ["cat"])  # noqa: S606 - no shell is what we want


def become(uid: int, gid: int) -> None:
    if (os.getuid(), os.getgid()) == (uid, gid):
        return
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # After a change of user a process is not dumpable, and no command could join it.
    _checked(_libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))


def enter_network(uid: int, gid: int) -> None:
    _checked(_libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))[0]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
