"""Walls with one protection taken away each, to see which attacks then get out."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final

from typing_extensions import override

from holdfast_agent.launching import Command, Launch
from holdfast_agent.sandbox import profile
from holdfast_agent.sandbox.bubblewrap import Bubblewrap, Ground, Hand
from holdfast_agent.sandbox.check import Attacked, attack
from holdfast_agent.sandbox.egress import EgressRules
from holdfast_lab.chaos.faults.sandbox.wall import ground_of


class Breached(Bubblewrap):
    """Some of bubblewrap's words are left out, some are said in place of others."""

    without: ClassVar[Sequence[str]] = ()
    instead: ClassVar[Sequence[tuple[Sequence[str], Sequence[str]]]] = ()

    @override
    def wall(self, ground: Ground, key: str, hand: Hand) -> Iterator[str]:
        words = list(super().wall(ground, key, hand))
        for old, new in (*(((word,), ()) for word in self.without), *self.instead):
            words = _replaced(words, list(old), list(new))
        return iter(words)


def _replaced(words: list[str], old: list[str], new: list[str]) -> list[str]:
    for at in range(len(words)):
        if words[at : at + len(old)] == old:
            return [*words[:at], *new, *words[at + len(old) :]]
    raise AssertionError(f"{old} is not said: the mutant changes nothing")


class Unfiltered(Breached):
    """No seccomp."""

    @override
    def wall(self, ground: Ground, key: str, hand: Hand) -> Iterator[str]:
        words = list(super().wall(ground, key, hand))
        assert words[-2] == "--seccomp"
        return iter(words[:-2])


class Writable(Breached):
    """The root, /dev and /proc are not made read only."""

    instead = ((("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"), ()),)


class OpenGit(Breached):
    """The repository is not guarded."""

    @override
    def wall(self, ground: Ground, key: str, hand: Hand) -> Iterator[str]:
        words = list(super().wall(ground, key, hand))
        for name in ("/config", "/hooks", ""):
            to = words.index(f"{profile.WORKSPACE}/.git{name}")
            del words[to - 2 : to + 1]
        return iter(words)


class WholeDisk(Breached):
    """The machine's own root, /dev and /proc, where they are."""

    @override
    def wall(self, ground: Ground, key: str, hand: Hand) -> Iterator[str]:
        yield from profile.namespaces()
        yield from ("--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc")
        yield from ("--seccomp", str(hand(ground.filter)))

    @override
    def inner(self, command: Command, folder: str) -> Iterator[str]:
        yield from profile.environment(command)
        yield from ("--chdir", str(self.options.root))

    @override
    def entering(self, ground: Ground) -> Sequence[str]:
        return [word for word in super().entering(ground) if word != "-m"]


class SharedProcesses(Breached):
    """No process namespace; with it goes the /proc of its own."""

    without = ("--unshare-pid",)
    instead = ((("--proc", "/proc"), ("--ro-bind", "/proc", "/proc")),)


class SharedCgroups(Breached):
    without = ("--unshare-cgroup-try",)


class Privileged(Unfiltered):
    """All rights within its namespaces, and further namespaces."""

    without = ("--disable-userns",)
    instead = ((("--cap-drop", "ALL"), ("--cap-add", "ALL")),)


class Nesting(Unfiltered):
    """May make user namespaces, which the filter would forbid, too."""

    without = ("--disable-userns",)


class HostNetwork(Breached):
    @override
    def entering(self, ground: Ground) -> Sequence[str]:
        return [word for word in super().entering(ground) if word != "-n"]


class Chatty(Breached):
    """The launcher's environment is the agent's (F6)."""

    @override
    def environment(self) -> Mapping[str, str]:
        return {"HOLDFAST_SECRET": "found"}


class Careless(Breached):
    """The command gets the agent's environment."""

    instead = ((("--clearenv",), ("--setenv", "HOLDFAST_SECRET", "found")),)


class Plain(Breached):
    """Arguments on the command line instead of in a descriptor."""

    @contextmanager
    def launch(self, command: Command, key: str) -> Generator[Launch]:
        with super().launch(command, key) as launch:
            at = launch.argv.index("--args")
            number = int(launch.argv[at + 1])
            words = os.pread(number, 1 << 20, 0).decode().split("\0")[:-1]
            argv = (*launch.argv[:at], *words, *launch.argv[at + 2 :])
            yield Launch(argv=argv, env=launch.env, cwd=launch.cwd, pass_fds=launch.pass_fds)


class Leaky(Breached):
    """A descriptor too many."""

    @contextmanager
    def launch(self, command: Command, key: str) -> Generator[Launch]:
        one = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        try:
            with super().launch(command, key) as launch:
                fds = (*launch.pass_fds, one)
                yield Launch(argv=launch.argv, env=launch.env, cwd=launch.cwd, pass_fds=fds)
        finally:
            os.close(one)


class Bare(Breached):
    """No wall at all: an ordinary user of the machine."""

    @contextmanager
    def launch(self, command: Command, key: str) -> Generator[Launch]:
        ground = ground_of(self)
        with super().launch(command, key) as launch:
            at = launch.argv.index(ground.bwrap)
            enter = launch.argv.index(ground.nsenter)
            argv = (*launch.argv[:enter], *launch.argv[at + 4 :])
            yield Launch(argv=argv, env={"HOLDFAST_SECRET": "found"}, cwd=str(self.options.root))


class _Anywhere(EgressRules):
    @override
    async def addresses_of(self, host: str, port: int) -> Sequence[str]:
        return [host.strip("[]")]


MUTANTS: Final[Mapping[str, type[Breached]]] = {
    each.__name__: each
    for each in (
        *(Unfiltered, Writable, OpenGit, SharedProcesses, SharedCgroups, Privileged, Nesting),
        *(WholeDisk, HostNetwork, Chatty, Careless, Plain, Leaky, Bare),
    )
}


async def attacked_through(wall: Bubblewrap, mutant: type[Bubblewrap]) -> Attacked:
    ground = ground_of(wall)
    return await attack(lambda options: mutant(options, ground), wall.options, ground.person)


async def attacked_with_open_proxy(wall: Bubblewrap) -> Attacked:
    proxy = ground_of(wall).proxy
    kept, proxy.rules = proxy.rules, _Anywhere()
    try:
        return await attacked_through(wall, Bubblewrap)
    finally:
        proxy.rules = kept
