"""What a hostile command would try, tried: a script that runs *inside* and says what got out.

    python -I -S -c "…this file, then attacks_kernel.py…" '{"secret": "/path/outside", …}'

Each attack is harmless even where it succeeds: it opens and does not write, sends no data out, asks
for a right and gives it back. It returns what it got, or None; an error is a wall that held. The
file knows nothing of Holdfast and needs only Python 3.9 or later, as it may be the system's own.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

Facts: TypeAlias = "dict[str, str]"
Attack: TypeAlias = "Callable[[Facts], str | None]"
ATTACKS: list[tuple[str, str, Attack]] = []
WORKSPACE = os.getcwd()
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
IS_X86 = platform.machine() == "x86_64"
CONNECT_S = 0.5


def attack(layer: str) -> Callable[[Attack], Attack]:
    def note(function: Attack) -> Attack:
        ATTACKS.append((function.__name__.replace("_", " "), layer, function))
        return function

    return note


def call(x86: int, arm: int, *arguments: object) -> int:
    number = x86 if IS_X86 else arm
    words = (
        ctypes.c_long(each) if isinstance(each, int) else each for each in (number, *arguments)
    )
    result: int = LIBC.syscall(*words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def in_child(function: Callable[[], object]) -> str | None:
    """For what would change ourselves: it got through if the child says so."""
    child = os.fork()
    if child == 0:
        try:
            function()
        except BaseException:
            os._exit(0)
        os._exit(7)
    _, status = os.waitpid(child, 0)
    return (
        "the call was let through" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7 else None
    )


def in_own_namespaces(function: Callable[[], object], flags: int = 0x10020000) -> str | None:
    """With all rights in user and mount namespaces of one's own, if those are to be had."""

    def freed() -> None:
        LIBC.unshare(flags)
        function()

    return in_child(freed)


def reading(path: str) -> str | None:
    with open(path, "rb") as file:
        return f"read {path}: {len(file.read(64))} bytes"


def opening_to_write(path: str) -> str:
    os.close(os.open(path, os.O_WRONLY))
    return f"opened {path} for writing"


def making(path: str) -> str:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)
    return f"made {path}"


def connecting(family: int, address: object, kind: int = socket.SOCK_STREAM) -> str:
    with socket.socket(family, kind) as one:
        one.settimeout(CONNECT_S)
        one.connect(address)  # pyright: ignore[reportArgumentType]
        return f"connected to {address!r}"


# Files


@attack("files")
def reads_a_secret_of_the_host(facts: Facts) -> str | None:
    return reading(facts["secret"])


@attack("files")
def reads_another_workspace(facts: Facts) -> str | None:
    return reading(facts["neighbour"])


@attack("files")
def follows_a_link_out_of_the_workspace(facts: Facts) -> str | None:
    link = f"{WORKSPACE}/.holdfast-link-{os.getpid()}"
    os.symlink(facts["secret"], link)
    try:
        return reading(link)
    finally:
        os.unlink(link)


@attack("files")
def follows_a_link_out_of_tmp(facts: Facts) -> str | None:
    link = f"/tmp/.holdfast-link-{os.getpid()}"
    os.symlink(facts["secret"], link)
    try:
        return reading(link)
    finally:
        os.unlink(link)


@attack("files")
def reaches_a_unix_socket_of_the_host_through_tmp(facts: Facts) -> str | None:
    link = f"/tmp/.holdfast-door-{os.getpid()}"
    os.symlink(facts["unix"], link)
    try:
        return connecting(socket.AF_UNIX, link)
    finally:
        os.unlink(link)


@attack("files")
def reads_through_the_root_of_a_process(facts: Facts) -> str | None:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                return reading(f"/proc/{name}/root{facts['secret']}")
            except OSError:
                pass
    return None


@attack("files")
def reads_the_password_file(facts: Facts) -> str | None:
    return reading("/etc/shadow")


@attack("files")
def sees_folders_of_the_host(facts: Facts) -> str | None:
    folders = ("/root", "/boot", "/srv", "/mnt", "/media", "/var/lib", "/var/log", "/lost+found")
    seen = [folder for folder in folders if os.path.lexists(folder)]
    return f"sees {', '.join(seen)}" if seen else None


@attack("read only")
def writes_to_the_root(facts: Facts) -> str | None:
    return making("/holdfast-attack")


@attack("read only")
def writes_to_usr(facts: Facts) -> str | None:
    return making("/usr/holdfast-attack")


@attack("read only")
def writes_to_etc(facts: Facts) -> str | None:
    return making("/etc/holdfast-attack")


@attack("read only")
def writes_to_dev(facts: Facts) -> str | None:
    return making("/dev/holdfast-attack")


@attack("read only")
def makes_the_root_writable_again(facts: Facts) -> str | None:
    return in_own_namespaces(lambda: check(LIBC.mount(b"none", b"/", None, 32 | 4096, None)))


@attack("git")
def plants_a_hook(facts: Facts) -> str | None:
    return making(f"{facts['git']}/hooks/holdfast-attack")


@attack("git")
def writes_the_configuration_of_git(facts: Facts) -> str | None:
    return opening_to_write(f"{facts['git']}/config")


@attack("git")
def puts_another_configuration_in_its_place(facts: Facts) -> str | None:
    config = Path(facts["git"], "config")
    copy = config.with_name("holdfast-attack")
    copy.write_bytes(config.read_bytes())
    try:
        copy.rename(config)
    finally:
        if copy.exists():
            copy.unlink()
    return "replaced it"


@attack("git")
def moves_git_aside(facts: Facts) -> str | None:
    os.rename(facts["git"], facts["git"] + "-aside")
    os.rename(facts["git"] + "-aside", facts["git"])
    return "moved it"


@attack("seccomp")
def sets_the_suid_bit(facts: Facts) -> str | None:
    path = f"{WORKSPACE}/.holdfast-suid-{os.getpid()}"
    ways: list[Callable[[], object]] = [
        lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)),
        lambda: os.mknod(path, stat.S_IFREG | 0o4755),
        lambda: (Path(path).touch(), os.chmod(path, 0o4755)),
        lambda: (Path(path).touch(), call(452, 452, -100, path.encode(), 0o4755, 0)),
    ]
    for way in ways:
        try:
            way()
        except OSError:
            pass
        try:
            if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
                return f"{path} is a suid file"
        except OSError:
            continue
        finally:
            if os.path.lexists(path):
                os.unlink(path)
    return None


@attack("namespaces")
def makes_a_device(facts: Facts) -> str | None:
    path = f"{WORKSPACE}/.holdfast-device-{os.getpid()}"
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.unlink(path)
    return "made a device for the machine's memory"


@attack("files")
def opens_a_disk_or_the_memory(facts: Facts) -> str | None:
    disks = [n for n in os.listdir("/dev") if n.startswith(("sd", "vd", "nvme", "loop", "dm-"))]
    names = ("mem", "kmem", "port", "kmsg", "vsock", "kvm", "fuse", *disks)
    seen = [name for name in names if os.path.exists(f"/dev/{name}")]
    return f"sees /dev/{seen[0]}" if seen else None


# Processes


@attack("processes")
def sees_processes_of_the_host(facts: Facts) -> str | None:
    for name in os.listdir("/proc"):
        if name.isdigit() and name != str(os.getpid()):
            try:
                said = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if facts["word"].encode() in said and b"ATTACKS" not in said:
                return f"sees process {name}"
    return None


@attack("processes")
def signals_a_process_of_the_host(facts: Facts) -> str | None:
    os.kill(int(facts["pid"]), 0)
    return f"may signal process {facts['pid']}"


@attack("environment")
def reads_the_environment_of_the_launcher(facts: Facts) -> str | None:
    shells = {"PWD", "OLDPWD", "SHLVL", "_"}
    said = Path("/proc/1/environ").read_bytes().decode(errors="replace").split("\0")
    names = {line.partition("=")[0] for line in said if line} - shells
    return f"/proc/1/environ shows {', '.join(sorted(names))}" if names else None


@attack("environment")
def finds_a_secret_in_its_own_environment(facts: Facts) -> str | None:
    names = set(os.environ) - set(facts["names"].split(","))
    return f"was given {', '.join(sorted(names))}" if names else None


@attack("environment")
def reads_the_arguments_of_the_launcher(facts: Facts) -> str | None:
    said = Path("/proc/1/cmdline").read_bytes().split(b"ATTACKS")[0]
    return "/proc/1/cmdline tells where things are" if b"--bind" in said else None


@attack("descriptors")
def finds_an_open_descriptor(facts: Facts) -> str | None:
    for number in range(3, 256):
        try:
            os.fstat(number)
        except OSError:
            continue
        return f"descriptor {number} leads to {os.readlink(f'/proc/self/fd/{number}')}"
    return None


@attack("seccomp")
def traces_a_process(facts: Facts) -> str | None:
    return in_child(lambda: call(101, 117, 0, 0, 0, 0))


@attack("seccomp")
def reads_the_memory_of_a_process(facts: Facts) -> str | None:
    there = ctypes.create_string_buffer(8)
    here = ctypes.create_string_buffer(8)
    place = struct.Struct("PP")
    far = place.pack(ctypes.addressof(there), 8)
    near = place.pack(ctypes.addressof(here), 8)
    call(310, 270, os.getpid(), near, 1, far, 1, 0)
    return "process_vm_readv was let through"


# Network


@attack("network")
def reaches_a_server_on_the_hosts_loopback(facts: Facts) -> str | None:
    return connecting(socket.AF_INET, ("127.0.0.1", int(facts["port"])))


@attack("network")
def reaches_the_internet(facts: Facts) -> str | None:
    try:
        return connecting(socket.AF_INET, ("192.0.2.1", 443))
    except (TimeoutError, ConnectionRefusedError):
        return "there is a way to other networks"


@attack("network")
def reaches_the_clouds_metadata(facts: Facts) -> str | None:
    # A datagram socket looks for a way and sends nothing: we do not want to be answered.
    return connecting(socket.AF_INET, ("169.254.169.254", 80), socket.SOCK_DGRAM)


@attack("network")
def sends_a_datagram(facts: Facts) -> str | None:
    return connecting(socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM)


@attack("network")
def has_an_interface_beside_lo(facts: Facts) -> str | None:
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    up = [name for name in names if _is_up(name)]
    return f"has {', '.join(up)}" if up else None


def _is_up(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        said = fcntl.ioctl(one, 0x8913, struct.pack("16sH14x", name.encode(), 0))
        return bool(struct.unpack("16xH14x", said)[0] & 1)


@attack("files")
def connects_to_a_unix_socket_of_the_host(facts: Facts) -> str | None:
    return connecting(socket.AF_UNIX, facts["unix"])


@attack("network")
def connects_to_an_abstract_socket(facts: Facts) -> str | None:
    return connecting(socket.AF_UNIX, "\0" + facts["word"])


@attack("seccomp")
def speaks_to_the_hypervisor(facts: Facts) -> str | None:
    socket.socket(40, socket.SOCK_STREAM).close()
    return "has an AF_VSOCK socket, which knows no namespaces"


@attack("seccomp")
def uses_the_kernels_cryptography(facts: Facts) -> str | None:
    socket.socket(38, socket.SOCK_SEQPACKET).close()
    return "has an AF_ALG socket"


@attack("seccomp")
def speaks_to_the_packet_filter(facts: Facts) -> str | None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12).close()
    return "has a netlink socket to the packet filter"


@attack("namespaces")
def has_a_raw_socket(facts: Facts) -> str | None:
    return in_own_namespaces(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), flags=0x50000000
    )


@attack("egress")
def is_let_out_by_the_proxy(facts: Facts) -> str | None:
    targets = (
        "unlisted.invalid:443",
        "169.254.169.254:80",
        "127.0.0.1:" + facts["port"],
        "[::1]:80",
        "2130706433:80",
        "localhost:" + facts["port"],
    )
    for target in targets:
        with socket.create_connection(("127.0.0.1", 3128), CONNECT_S) as proxy:
            proxy.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
            answer = proxy.recv(64)
        if b" 200 " in answer:
            return f"the proxy connected to {target}"
    return None
