"""Which system calls a command may make: everything, but what leads out or is only good for that.

A filter is a program for the kernel's packet-filter machine. Ours is made here, without libseccomp:
it is a list of "this call, with such arguments, fails with this error", and a call that is younger
than our table is answered as if the kernel did not have it, which a library's list cannot say.

    wrong architecture → the process is killed
    number above NEWEST_KNOWN → ENOSYS
    a rule's call and all its tests hold → the rule's error
    anything else → allowed
"""

import errno
import platform
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias

from holdfast_agent.sandbox.syscalls import ARCHITECTURES, NEWEST_KNOWN, Architecture

Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant: a `struct sock_filter`."""


class UnknownArchitecture(Exception):
    """There is no table of this machine's system calls."""


@dataclass(frozen=True, slots=True)
class Test:
    """About the low 32 bits of an argument: all that the kernel itself looks at in these calls."""

    argument: int
    is_so: Literal["is", "is not one of", "has a bit of"]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    call: str
    error: int
    tests: tuple[Test, ...] = ()
    """All must hold."""


_NAMESPACES: Final = 0x7E02_0000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_SETS_ID: Final = 0o6000
_CREATES: Final = 0x40_0040
"""O_CREAT and O_TMPFILE's own bit: only then does open() look at the mode."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_NEVER: Final = (
    # Other processes' memory and descriptors.
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"),
    # Namespaces and mounts.
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at"),
    # Wide doors of the kernel that ordinary programs do without.
    *("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "modify_ldt", "lsm_set_self_attr"),
    # Keys outlive namespaces.
    *("add_key", "request_key", "keyctl"),
    # The machine.
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"),
    *("swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup", "iopl"),
    *("ioperm", "sethostname", "setdomainname", "settimeofday", "clock_settime"),
    *("clock_adjtime", "adjtimex"),
)

RULES: Final[tuple[Rule, ...]] = (
    *(Rule(call, errno.EPERM) for call in _NEVER),
    # Programs ask for these first and know what to do without them.
    Rule("io_uring_setup", errno.ENOSYS),
    Rule("io_uring_enter", errno.ENOSYS),
    Rule("io_uring_register", errno.ENOSYS),
    # Their arguments lie in memory, where a filter cannot look; libraries fall back to older calls.
    Rule("clone3", errno.ENOSYS),
    Rule("openat2", errno.ENOSYS),
    Rule("clone", errno.EPERM, (Test(0, "has a bit of", (_NAMESPACES,)),)),
    # Typing into the terminal that started the agent.
    Rule("ioctl", errno.EPERM, (Test(1, "is", (_TIOCSTI,)),)),
    Rule("ioctl", errno.EPERM, (Test(1, "is", (_TIOCLINUX,)),)),
    # A setuid file would be found outside later, and run with its owner's rights.
    Rule("chmod", errno.EPERM, (Test(1, "has a bit of", (_SETS_ID,)),)),
    Rule("fchmod", errno.EPERM, (Test(1, "has a bit of", (_SETS_ID,)),)),
    Rule("fchmodat", errno.EPERM, (Test(2, "has a bit of", (_SETS_ID,)),)),
    Rule("fchmodat2", errno.EPERM, (Test(2, "has a bit of", (_SETS_ID,)),)),
    Rule("creat", errno.EPERM, (Test(1, "has a bit of", (_SETS_ID,)),)),
    Rule("mknod", errno.EPERM, (Test(1, "has a bit of", (_SETS_ID,)),)),
    Rule("mknodat", errno.EPERM, (Test(2, "has a bit of", (_SETS_ID,)),)),
    Rule(
        "open",
        errno.EPERM,
        (Test(1, "has a bit of", (_CREATES,)), Test(2, "has a bit of", (_SETS_ID,))),
    ),
    Rule(
        "openat",
        errno.EPERM,
        (Test(2, "has a bit of", (_CREATES,)), Test(3, "has a bit of", (_SETS_ID,))),
    ),
    # Not a network namespace, but this list, keeps a command from the hypervisor (AF_VSOCK).
    *(
        Rule(
            call,
            errno.EAFNOSUPPORT,
            (Test(0, "is not one of", (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)),),
        )
        for call in ("socket", "socketpair")
    ),
    # Of netlink only routes: libc asks there which addresses there are.
    Rule(
        "socket",
        errno.EPROTONOSUPPORT,
        (Test(0, "is", (_AF_NETLINK,)), Test(2, "is not one of", (0,))),
    ),
)

# Of the packet-filter machine.
_LOAD, _JUMP_EQUAL, _JUMP_GREATER, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _ERROR, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000


def compile_filter(machine: str | None = None, rules: Sequence[Rule] = RULES) -> bytes:
    """The program for `bwrap --seccomp`. Raises `UnknownArchitecture`."""
    machine = machine or platform.machine()
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise UnknownArchitecture(machine)
    instructions = tuple(_program(architecture, rules))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _program(architecture: Architecture, rules: Sequence[Rule]) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE_AT)
    yield (_JUMP_EQUAL, 1, 0, architecture.audit)
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _NUMBER_AT)
    yield (_JUMP_GREATER, 0, 1, NEWEST_KNOWN)
    yield (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    for call, its_rules in groupby(sorted(rules, key=lambda rule: rule.call), lambda r: r.call):
        number = architecture.numbers.get(call)
        if number is not None:
            yield from _about_call(number, tuple(its_rules))
    yield (_RETURN, 0, 0, _ALLOW)


def _about_call(number: int, rules: Sequence[Rule]) -> Iterator[Instruction]:
    block = [instruction for rule in rules for instruction in _about_rule(rule)]
    if rules[-1].tests:
        block.append((_RETURN, 0, 0, _ALLOW))
    yield (_JUMP_EQUAL, 0, len(block), number)
    yield from block


def _about_rule(rule: Rule) -> Sequence[Instruction]:
    """Made from its end: each test knows how far it is to the instruction after the rule."""
    made: list[Instruction] = [(_RETURN, 0, 0, _ERROR | rule.error)]
    for test in reversed(rule.tests):
        made = [*_about_test(test, past_rule=len(made)), *made]
    return made


def _about_test(test: Test, *, past_rule: int) -> Sequence[Instruction]:
    load: Instruction = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * test.argument)
    match test.is_so:
        case "is":
            return (load, (_JUMP_EQUAL, 0, past_rule, test.values[0]))
        case "has a bit of":
            return (load, (_JUMP_BITS, 0, past_rule, test.values[0]))
        case "is not one of":
            last = len(test.values) - 1
            return (
                load,
                *((_JUMP_EQUAL, past_rule + last - i, 0, v) for i, v in enumerate(test.values)),
            )
