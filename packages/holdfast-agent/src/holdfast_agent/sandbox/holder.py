"""Makes what all commands of a workspace share, and keeps it while the agent lives: a network with
nothing in it but `lo`, with a door to the proxy, and one `/tmp` and one home directory in memory.

Run as a script by `network.py`, with standard input as the one connection to the agent:
`python -I -S holder.py UID GID PORT TMP_BYTES_MAX`. It goes into a user, a network and a mount
namespace of its own, listens there, hands the listening socket out through standard input, and
becomes `cat`: that costs next to nothing, holds no rights, and ends when the agent does. With it
the namespaces end, and with them the files: nothing is left to clean up, also after a crash.

The files are mounted over `/sys`, in this mount namespace only: a directory that every machine has,
every user may enter, and no command sees. Imports the standard library only.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWNS = 0x1000_0000, 0x4000_0000, 0x0002_0000
_MS_NOSUID, _MS_NODEV = 0x2, 0x4
_PR_SET_DUMPABLE = 4
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_WAITING_MAX: Final = 128
_KEPT: Final = "/sys"
_KEPT_MODES: Final = {"tmp": "1777", "home": "0700"}


def main() -> None:
    uid, gid, port, tmp_bytes_max = (int(word) for word in sys.argv[1:5])
    agent = socket.socket(fileno=os.dup(0))
    try:
        become(uid, gid)
        enter_namespaces(uid, gid)
        raise_loopback()
        mount_kept(tmp_bytes_max)
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


def enter_namespaces(uid: int, gid: int) -> None:
    _checked(_libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWNS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))[0]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def mount_kept(bytes_max: int) -> None:
    """A file system for each, so that a full `/tmp` leaves room at home; `bytes_max`: of each."""
    _mount(_KEPT, "mode=0755,size=64k")
    for name, mode in _KEPT_MODES.items():
        os.mkdir(f"{_KEPT}/{name}")
        _mount(f"{_KEPT}/{name}", f"mode={mode},size={bytes_max}")


def _mount(at: str, options: str) -> None:
    flags = _MS_NOSUID | _MS_NODEV
    _checked(_libc().mount(b"tmpfs", at.encode(), b"tmpfs", flags, options.encode()))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
