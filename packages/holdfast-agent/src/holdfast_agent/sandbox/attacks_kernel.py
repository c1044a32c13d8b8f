"""The second half of the attacks: those on the kernel; then all are run, and the results told.

It is not imported by what runs inside: `check.py` puts both files together.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import time
from pathlib import Path

from holdfast_agent.sandbox.attacks import (
    ATTACKS,
    LIBC,
    WORKSPACE,
    Facts,
    attack,
    call,
    check,
    in_child,
    in_own_namespaces,
    making,
    opening_to_write,
    reading,
)


@attack("seccomp")
def mounts_something(facts: Facts) -> str | None:
    return in_own_namespaces(lambda: check(LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None)))


@attack("seccomp")
def mounts_in_the_new_way(facts: Facts) -> str | None:
    return in_own_namespaces(lambda: call(430, 430, b"tmpfs", 0))


@attack("seccomp")
def copies_a_mount(facts: Facts) -> str | None:
    return in_own_namespaces(lambda: call(428, 428, -100, b"/", 0x8000 | 1))


@attack("seccomp")
def unmounts_what_hides_things(facts: Facts) -> str | None:
    def mounts_and_unmounts() -> None:
        check(LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None))
        check(LIBC.umount2(b"/tmp", 2))

    return in_own_namespaces(mounts_and_unmounts)


@attack("namespaces")
def makes_a_user_namespace(facts: Facts) -> str | None:
    return in_child(lambda: check(LIBC.unshare(0x10000000)))


@attack("namespaces")
def makes_other_namespaces(facts: Facts) -> str | None:
    return in_child(lambda: check(LIBC.unshare(0x40020000)))


@attack("namespaces")
def makes_a_namespace_with_clone(facts: Facts) -> str | None:
    def clone() -> None:
        if call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
            os._exit(0)

    return in_child(clone)


@attack("namespaces")
def makes_a_namespace_with_clone3(facts: Facts) -> str | None:
    asked = struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)

    def clone() -> None:
        if call(435, 435, asked, len(asked)) == 0:
            os._exit(0)

    return in_child(clone)


@attack("seccomp")
def joins_the_namespaces_of_process_1(facts: Facts) -> str | None:
    def join() -> None:
        for kind in ("mnt", "user", "pid"):
            with open(f"/proc/1/ns/{kind}") as file:
                check(LIBC.setns(file.fileno(), 0))

    return in_child(join)


@attack("seccomp")
def changes_its_root(facts: Facts) -> str | None:
    return in_own_namespaces(lambda: os.chroot("/tmp"))


@attack("seccomp")
def opens_a_file_by_handle(facts: Facts) -> str | None:
    handle = struct.pack("Ii8x", 8, 1)
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        call(304, 265, root, handle, os.O_RDONLY)
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
    finally:
        os.close(root)
    return "open_by_handle_at was let through"


@attack("seccomp")
def uses_io_uring(facts: Facts) -> str | None:
    os.close(call(425, 425, 1, ctypes.create_string_buffer(120)))
    return "io_uring was let through"


@attack("seccomp")
def uses_the_kernels_keys(facts: Facts) -> str | None:
    call(250, 219, 0, -3, 1)
    return "keyctl was let through"


@attack("seccomp")
def loads_a_bpf_program(facts: Facts) -> str | None:
    asked = struct.pack("IIIII", 1, 4, 8, 1, 0) + bytes(108)
    try:
        os.close(call(321, 280, 0, asked, len(asked)))
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
    return "bpf was let through"


@attack("seccomp")
def watches_the_processor(facts: Facts) -> str | None:
    asked = struct.pack("IIQ", 1, 112, 1) + bytes(96)
    os.close(call(298, 241, asked, 0, -1, -1, 0))
    return "perf_event_open was let through"


@attack("seccomp")
def handles_page_faults(facts: Facts) -> str | None:
    os.close(call(323, 282, 1))
    return "userfaultfd was let through"


@attack("seccomp")
def loads_a_module(facts: Facts) -> str | None:
    try:
        call(175, 105, b"", 0, b"")
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise
    return "init_module was let through"


@attack("seccomp")
def reads_the_kernels_log(facts: Facts) -> str | None:
    call(103, 116, 3, ctypes.create_string_buffer(64), 64)
    return "syslog was let through"


@attack("seccomp")
def uses_a_call_that_nobody_has_checked(facts: Facts) -> str | None:
    for number in (0x4000_0000 | 39, *range(463, 480)):
        try:
            call(number, number, -1, 0, 0, 0, 0, 0)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                continue
        return f"call {number} was let through"
    return None


@attack("seccomp")
def types_into_the_terminal(facts: Facts) -> str | None:
    def types() -> None:
        _, terminal = pty.openpty()
        os.setsid()
        fcntl.ioctl(terminal, 0x540E, 0)
        fcntl.ioctl(terminal, 0x5412, b"x")

    return in_child(types)


@attack("proc")
def sets_the_core_pattern(facts: Facts) -> str | None:
    return opening_to_write("/proc/sys/kernel/core_pattern")


@attack("proc")
def opens_the_emergency_keys(facts: Facts) -> str | None:
    return opening_to_write("/proc/sysrq-trigger")


@attack("proc")
def reads_the_machines_memory(facts: Facts) -> str | None:
    return reading("/proc/kcore")


@attack("files")
def sees_sys(facts: Facts) -> str | None:
    return "sees /sys" if os.path.exists("/sys/kernel") else None


@attack("namespaces")
def sees_the_control_groups_of_the_host(facts: Facts) -> str | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.split(":", 2)[2] != "/":
            return f"sees {line}"
    return None


@attack("namespaces")
def becomes_root(facts: Facts) -> str | None:
    was = os.getuid()

    def becomes() -> None:
        Path("/proc/self/uid_map").write_text(f"0 {was} 1")
        os.setuid(0)

    return in_own_namespaces(becomes)


@attack("namespaces")
def has_capabilities(facts: Facts) -> str | None:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("CapEff", "CapPrm", "CapBnd", "CapAmb") and int(value, 16):
            return f"{name} is {value.strip()}"
        if name == "NoNewPrivs" and value.strip() != "1":
            return "suid programs still give rights"
    return None


def normal_work() -> list[str]:
    """What must work, or else a wall that stops everything would look like a good one."""
    broken: list[str] = []
    for folder in (WORKSPACE, "/tmp", os.environ.get("HOME", "/home/user")):
        try:
            making(f"{folder}/.holdfast-work-{os.getpid()}")
        except OSError as error:
            broken.append(f"{folder} cannot be written: {error}")
    for path, mode in (("/bin/sh", os.X_OK), ("/dev/null", os.W_OK), ("/dev/urandom", os.R_OK)):
        if not os.access(path, mode):
            broken.append(f"{path} cannot be used")
    return broken


def main() -> None:
    facts: Facts = json.loads(sys.argv[1])
    began = time.monotonic()
    results: list[dict[str, str | None]] = []
    for name, layer, function in ATTACKS:
        try:
            got = function(facts)
        except (OSError, KeyError, AttributeError):
            got = None
        results.append({"attack": name, "layer": layer, "got": got})
    took_s = time.monotonic() - began
    answer = {"results": results, "broken": normal_work(), "took_s": took_s}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
