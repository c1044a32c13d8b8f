"""What a command sees and may do, as arguments of bubblewrap.

    /usr, its links, a few files of /etc   read only, as outside
    /workspace                             the workspace's folder (and see gitguard.py)
    /tmp, /home/user, /dev/shm             empty, in memory, gone with the command
    /proc                                  of its own processes only
    all else                               is not there, and cannot be made: / is read only

Namespaces of its own: users (with no way to a further one), processes, mounts, IPC, host name,
cgroups; the network is the workspace's (`network.py`). No capabilities, no new privileges.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from holdfast_agent.launching import Command
from holdfast_agent.sandbox.network import PROXY_PORT
from holdfast_agent.sandbox.options import SandboxOptions

WORKSPACE: Final = "/workspace"
HOME: Final = "/home/user"
KEPT: Final = "/sys"
KEPT_TMP: Final = f"{KEPT}/tmp"  # noqa: S108 - a mount of the holder
KEPT_HOME: Final = f"{KEPT}/home"
"""In the mount namespace of the holder (`holder.py`), from which bubblewrap starts."""
_UID: Final = "1000"
_LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC: Final = (
    # No key, no password and no token is in any of these.
    *("alternatives", "ca-certificates", "ca-certificates.conf", "debian_version", "fonts"),
    *("gai.conf", "host.conf", "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("locale.alias", "localtime", "magic", "mime.types", "os-release", "perl"),
    *("pki/ca-trust/extracted", "pki/tls/certs", "protocols", "python3*", "rpc", "services"),
    *("ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "xml"),
)
STUBS: Final[Mapping[str, str]] = {
    "/etc/passwd": (
        f"user:x:{_UID}:{_UID}:user:{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    ),
    "/etc/group": f"user:x:{_UID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost workspace\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/resolv.conf": "",
    # A commit needs an author; a name in the repository's configuration takes precedence.
    "/etc/gitconfig": (
        "[user]\n\tname = Holdfast\n\temail = holdfast@localhost\n"
        "[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n"
    ),
}
_PROXY: Final = f"http://127.0.0.1:{PROXY_PORT}"
_LOCAL: Final = "localhost,127.0.0.1,::1"
ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
"""Unless the command brings its own."""
FIXED: Final[Mapping[str, str]] = {
    "HOME": HOME,
    "USER": "user",
    "LOGNAME": "user",
    "TMPDIR": "/tmp",  # noqa: S108 - the workspace's
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _PROXY),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), _LOCAL),
    "NODE_USE_ENV_PROXY": "1",
}
"""How it is in here, whatever the command brings."""


def system_view() -> Sequence[str]:
    """The machine's programs. Made once: what is installed later in `/usr` is there, too."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _LINKS:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for pattern in _ETC:
        for path in sorted(Path("/etc").glob(pattern)):
            words += ["--ro-bind-try", str(path), str(path)]
    return words


def namespaces() -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts")
    yield from ("--unshare-cgroup-try", "--disable-userns", "--cap-drop", "ALL")
    yield from ("--new-session", "--die-with-parent", "--clearenv", "--hostname", "workspace")
    yield from ("--uid", _UID, "--gid", _UID)


def view(options: SandboxOptions, system: Sequence[str], stubs: Mapping[str, int]) -> Iterator[str]:
    """What there is to see. `stubs`: descriptors that hold the files of that name."""
    yield from system
    for path, descriptor in stubs.items():
        yield from ("--perms", "0444", "--file", str(descriptor), path)
    size = str(options.tmp_bytes_max)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", size, "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--bind", KEPT_TMP, "/tmp")  # noqa: S108 - the workspace's
    yield from ("--symlink", "/tmp", "/var/tmp", "--dir", "/run")  # noqa: S108
    yield from ("--bind", KEPT_HOME, HOME)
    for path in options.readable:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--bind", str(options.root), WORKSPACE)


def closed() -> Iterator[str]:
    """After everything is in its place: nothing can be added. /proc, too: parts of it would obey
    root (`core_pattern`), and a command of an agent that runs as root is root to the kernel."""
    yield from ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")


def environment(command: Command) -> Iterator[str]:
    for name, value in {**ENVIRONMENT, **command.env, **FIXED}.items():
        yield from ("--setenv", name, value)
