"""The system-call filter, run by a small machine of our own: what it answers to each call."""

import errno
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from holdfast_agent.sandbox.seccomp import RULES, Rule, UnknownArchitecture, compile_filter
from holdfast_agent.sandbox.syscalls import ARCHITECTURES, NEWEST_KNOWN

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
MACHINES: Final = tuple(ARCHITECTURES)


def answer(program: bytes, machine: str, number: int, *arguments: int) -> int | str:
    """`errno` of the refusal, `allowed` or `killed`."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<iIQ6Q", number, ARCHITECTURES[machine].audit, 0, *padded)
    result = _run(tuple(struct.iter_unpack("<HBBI", program)), data)
    if result == ALLOW:
        return "allowed"
    return "killed" if result == KILL else result & 0xFFFF


def _run(program: Sequence[tuple[int, int, int, int]], data: bytes) -> int:
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, constant)[0]
            case 0x15:
                at += if_true if accumulator == constant else if_false
            case 0x25:
                at += if_true if accumulator > constant else if_false
            case 0x45:
                at += if_true if accumulator & constant else if_false
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"an instruction that we do not make: {code:#x}")


def calls(machine: str, rules: Sequence[Rule] = RULES) -> Iterator[tuple[str, int]]:
    numbers = ARCHITECTURES[machine].numbers
    return ((rule.call, numbers[rule.call]) for rule in rules if rule.call in numbers)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_never_allowed_is_refused_whatever_its_arguments_are(machine: str) -> None:
    program = compile_filter(machine)
    never = [rule for rule in RULES if not rule.tests]

    assert len(never) > 40
    for rule in never:
        number = ARCHITECTURES[machine].numbers.get(rule.call)
        if number is not None:
            for arguments in ((), (0xFFFF_FFFF_FFFF_FFFF,) * 6):
                assert answer(program, machine, number, *arguments) == rule.error, rule.call


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_without_a_rule_is_allowed(machine: str) -> None:
    program = compile_filter(machine)
    ruled = {number for _, number in calls(machine)}

    for number in set(range(NEWEST_KNOWN + 1)) - ruled:
        assert answer(program, machine, number, *(0xFFFF_FFFF,) * 6) == "allowed", number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", [NEWEST_KNOWN + 1, 500, 0x4000_0000, 0x4000_0027, 0xFFFF_FFFF])
def test_a_call_that_nobody_has_checked_is_unknown_here(machine: str, number: int) -> None:
    signed = number - (1 << 32) if number >= 1 << 31 else number

    assert answer(compile_filter(machine), machine, signed) == errno.ENOSYS


def test_a_call_of_another_architecture_kills() -> None:
    program = compile_filter("x86_64")

    assert answer(program, "aarch64", 0) == "killed"


HIGH: Final = 1 << 32
"""A bit that the kernel ignores in these arguments: it must not hide the others."""


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("clone", (0x11,), "allowed"),
        ("clone", (0x3D0F00,), "allowed"),  # a thread
        ("clone", (0x1000_0011,), errno.EPERM),
        ("clone", (0x0002_0011,), errno.EPERM),
        ("clone", (0x4000_0011 | HIGH,), errno.EPERM),
        ("ioctl", (0, 0x5413), "allowed"),
        ("ioctl", (0, 0x5412), errno.EPERM),
        ("ioctl", (0, 0x5412 | HIGH), errno.EPERM),
        ("ioctl", (0, 0x541C), errno.EPERM),
        ("fchmod", (3, 0o755), "allowed"),
        ("fchmod", (3, 0o1777), "allowed"),
        ("fchmod", (3, 0o4755), errno.EPERM),
        ("fchmodat", (3, 0, 0o2755), errno.EPERM),
        ("fchmodat2", (3, 0, 0o4000, 0), errno.EPERM),
        ("mknodat", (3, 0, 0o104755), errno.EPERM),
        ("mknodat", (3, 0, 0o100644), "allowed"),
        ("openat", (3, 0, 0o102, 0o644), "allowed"),
        ("openat", (3, 0, 0o102, 0o4755), errno.EPERM),
        ("openat", (3, 0, 0x41_0002, 0o4755), errno.EPERM),
        ("openat", (3, 0, 0, 0o4755), "allowed"),  # creates nothing: the mode is not looked at
        ("socket", (1, 1, 0), "allowed"),
        ("socket", (2, 1, 6), "allowed"),
        ("socket", (10, 2, 0), "allowed"),
        ("socket", (16, 3, 0), "allowed"),
        ("socket", (16, 3, 12), errno.EPROTONOSUPPORT),
        ("socket", (17, 3, 0), errno.EAFNOSUPPORT),
        ("socket", (38, 5, 0), errno.EAFNOSUPPORT),
        ("socket", (40, 1, 0), errno.EAFNOSUPPORT),
        ("socket", (40 | HIGH, 1, 0), errno.EAFNOSUPPORT),
        ("socketpair", (1, 1, 0), "allowed"),
        ("socketpair", (40, 1, 0), errno.EAFNOSUPPORT),
    ],
)
@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide(
    machine: str, call: str, arguments: tuple[int, ...], expected: int | str
) -> None:
    number = ARCHITECTURES[machine].numbers[call]

    assert answer(compile_filter(machine), machine, number, *arguments) == expected


def test_each_rule_refuses_something_that_is_allowed_without_it() -> None:
    """No rule is there for nothing: taken away, something more is allowed."""
    for machine in MACHINES:
        whole = compile_filter(machine)
        for rule in RULES:
            if rule.call in ARCHITECTURES[machine].numbers:
                without = compile_filter(machine, [each for each in RULES if each is not rule])
                assert without != whole, rule


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(UnknownArchitecture, match="riscv64"):
        compile_filter("riscv64")


HEADER: Final = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's header for x86-64 is not installed")
def test_the_numbers_are_the_kernels() -> None:
    known: dict[str, int] = {}
    for line in HEADER.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR_"):
            known[words[1].removeprefix("__NR_")] = int(words[2])
    ours = ARCHITECTURES["x86_64"].numbers

    assert {name: known[name] for name in ours if name in known} == {
        name: number for name, number in ours.items() if name in known
    }
    assert set(ours) - set(known) <= {"fchmodat2", "lsm_set_self_attr"}  # younger than some headers
