"""Numbers of the system calls that the filter has something to say about, for each architecture.

From number 424 on all architectures count alike. `None`: the architecture has no such call.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NEWEST_KNOWN: Final = 462
"""`mseal`. Whatever has a higher number was made after this table: it answers as on a kernel that
does not have it. On x86-64 the x32 twins of all calls lie above it, too."""


@dataclass(frozen=True, slots=True)
class Architecture:
    audit: int
    """As the kernel names it to a filter (`AUDIT_ARCH_…`)."""
    numbers: Mapping[str, int]


_COMMON: Final[Mapping[str, int]] = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "fchmodat2": 452,
    "lsm_set_self_attr": 460,
}

# Name, x86-64, arm64.
_TABLE: Final[tuple[tuple[str, int, int | None], ...]] = (
    ("acct", 163, 89),
    ("add_key", 248, 217),
    ("adjtimex", 159, 171),
    ("bpf", 321, 280),
    ("chmod", 90, None),
    ("chroot", 161, 51),
    ("clock_adjtime", 305, 266),
    ("clock_settime", 227, 112),
    ("clone", 56, 220),
    ("creat", 85, None),
    ("delete_module", 176, 106),
    ("fanotify_init", 300, 262),
    ("fchmod", 91, 52),
    ("fchmodat", 268, 53),
    ("finit_module", 313, 273),
    ("init_module", 175, 105),
    ("ioctl", 16, 29),
    ("ioperm", 173, None),
    ("iopl", 172, None),
    ("kcmp", 312, 272),
    ("kexec_file_load", 320, 294),
    ("kexec_load", 246, 104),
    ("keyctl", 250, 219),
    ("mknod", 133, None),
    ("mknodat", 259, 33),
    ("modify_ldt", 154, None),
    ("mount", 165, 40),
    ("open", 2, None),
    ("open_by_handle_at", 304, 265),
    ("openat", 257, 56),
    ("perf_event_open", 298, 241),
    ("pivot_root", 155, 41),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("ptrace", 101, 117),
    ("quotactl", 179, 60),
    ("reboot", 169, 142),
    ("request_key", 249, 218),
    ("setdomainname", 171, 162),
    ("sethostname", 170, 161),
    ("setns", 308, 268),
    ("settimeofday", 164, 170),
    ("socket", 41, 198),
    ("socketpair", 53, 199),
    ("swapoff", 168, 225),
    ("swapon", 167, 224),
    ("syslog", 103, 116),
    ("umount2", 166, 39),
    ("unshare", 272, 97),
    ("userfaultfd", 323, 282),
    ("vhangup", 153, 58),
)

ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture(0xC000_003E, {**_COMMON, **{name: x86 for name, x86, _ in _TABLE}}),
    "aarch64": Architecture(
        0xC000_00B7, {**_COMMON, **{name: arm for name, _, arm in _TABLE if arm is not None}}
    ),
}
"""By `platform.machine()`."""
