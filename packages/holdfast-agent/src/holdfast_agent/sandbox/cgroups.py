"""How much a workspace may use: processes, memory (with its tmpfs) and a share of the processor.

One control group for the workspace carries the limits; each command has a group of its own beneath,
so that what happened to it can be told. Both generations of the kernel's interface are known: one
tree for everything (v2), or one tree for each controller (v1). What a machine does not offer, or
does not let us have, is left out and named in `missing`.

    v2: OWN/holdfast-…/cN            v1: pids:OWN/holdfast-…/cN, memory:OWN/holdfast-…/cN, cpu:OWN/…

Groups are made beneath the one that the agent is in: what was set for it holds for all of them.
"""

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from holdfast_agent.sandbox.options import MIB, SandboxOptions

Kind: TypeAlias = Literal["pids", "memory", "cpu"]
KINDS: Final[tuple[Kind, ...]] = ("pids", "memory", "cpu")
_LOG: Final = logging.getLogger(__name__)
_AGENT: Final = "holdfast-agent"


@dataclass(frozen=True, slots=True)
class Tree:
    """A group of the kernel's that we may make others beneath."""

    version: Literal[1, 2]
    own: Path
    kinds: frozenset[Kind]


@dataclass(slots=True)
class _Held:
    """A command's groups, and what the workspace's had counted when it began."""

    name: str
    pids_refused_before: int


class Cgroups:
    def __init__(self, trees: Sequence[Tree], options: SandboxOptions) -> None:
        digest = hashlib.sha256(os.fsencode(options.root)).hexdigest()[:12]
        self._name = f"holdfast-{digest}"
        self._options = options
        self._trees: list[Tree] = []
        self._held: dict[str, _Held] = {}
        self._leaving: list[str] = []
        self._count = 0
        for tree in trees:
            self._adopt(tree)

    @property
    def missing(self) -> tuple[Kind, ...]:
        there = {kind for tree in self._trees for kind in tree.kinds}
        return tuple(kind for kind in KINDS if kind not in there)

    @property
    def folders(self) -> Sequence[Path]:
        """The workspace's own."""
        return [tree.own / self._name for tree in self._trees]

    def enter(self, key: str) -> Sequence[Path]:
        """The groups that a command of this key goes into, made. Raises OSError."""
        self._sweep()
        self._count += 1
        name = f"c{self._count}"
        self._held[key] = _Held(name, self._counted("pids", "pids.events", "max"))
        groups: list[Path] = []
        for tree in self._trees:
            group = tree.own / self._name
            if tree.kinds & {"pids", "memory"}:
                group /= name
                group.mkdir()
                if tree.version == 2:
                    _write(group / "memory.oom.group", "1")
            groups.append(group)
        return groups

    def running(self) -> Mapping[str, Sequence[int]]:
        """The processes of each command that has not ended; none are known without groups."""
        return {key: self.pids(key) for key in self._held}

    def pids(self, key: str) -> Sequence[int]:
        """The processes of a command; none where we have no groups."""
        held = self._held.get(key)
        if held is None:
            return ()
        with suppress(OSError):
            for tree in self._of("pids"):
                listed = (tree.own / self._name / held.name / "cgroup.procs").read_text()
                return tuple(int(word) for word in listed.split())
        return ()

    def ended(self, key: str) -> str | None:
        """Why, if a limit had to do with it; and its groups are no more."""
        held = self._held.pop(key, None)
        if held is None:
            return None
        reason = self._reason(held)
        self._leaving.append(held.name)
        self._sweep()
        return reason

    def close(self) -> bool:
        """Whether nothing is left: what was killed just now may be in its group for a moment."""
        self._leaving.extend(held.name for held in self._held.values())
        self._held.clear()
        self._sweep()
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders)

    def _adopt(self, tree: Tree) -> None:
        """Where a group is made but takes no limits, nothing is gained: then it is left alone."""
        group = tree.own / self._name
        try:
            group.mkdir(exist_ok=True)
            for left in _folders(group):
                with suppress(OSError):
                    left.rmdir()  # of an agent that was killed
            for kind in sorted(tree.kinds):
                for name, value in _limits(tree.version, kind, self._options):
                    (group / name).write_text(value)
            if tree.version == 2:
                (group / "cgroup.subtree_control").write_text(_enabling(tree.kinds))
        except OSError as error:
            _LOG.info("sandbox: cgroup %s sets no limits: %s", group, error)
            with suppress(OSError):
                group.rmdir()
            return
        for name in ("memory.swap.max", "memory.memsw.limit_in_bytes"):
            _write(
                group / name, "0" if name.endswith("max") else str(self._options.memory_bytes_max)
            )
        self._trees.append(tree)

    def _of(self, kind: Kind) -> Iterator[Tree]:
        return (tree for tree in self._trees if kind in tree.kinds)

    def _reason(self, held: _Held) -> str | None:
        killed = max(
            self._counted("memory", "memory.events", "oom_kill", held.name),
            self._counted("memory", "memory.oom_control", "oom_kill", held.name),
        )
        if killed:
            mib = self._options.memory_bytes_max // MIB
            return f"out of memory: this workspace may use {mib} MiB, files in /tmp included"
        refused = max(
            self._counted("pids", "pids.events", "max", held.name),
            self._counted("pids", "pids.events", "max") - held.pids_refused_before,
        )
        if refused:
            return f"too many processes: this workspace may have {self._options.pids_max} at once"
        return None

    def _counted(self, kind: Kind, file: str, word: str, command: str = "") -> int:
        for tree in self._of(kind):
            with suppress(OSError):
                for line in (tree.own / self._name / command / file).read_text().splitlines():
                    name, _, number = line.partition(" ")
                    if name == word:
                        return int(number)
        return 0

    def _sweep(self) -> None:
        """A killed process leaves its group a moment after it has left its parent."""
        self._leaving = [name for name in self._leaving if not self._removed(name)]

    def _removed(self, name: str) -> bool:
        gone = True
        for tree in self._trees:
            group = tree.own / self._name / name
            try:
                group.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                gone = False
        return gone


def find_trees() -> Sequence[Tree]:
    """What this machine offers, seen from the group that we are in."""
    own = _own_groups(Path("/proc/self/cgroup").read_text())
    mounts = tuple(_mounts(Path("/proc/self/mountinfo").read_text()))
    trees: list[Tree] = []
    for kind in KINDS:
        for version, options, root, point in mounts:
            if version == 1 and kind in options and kind in own:
                path = Path(point + own[kind].removeprefix(root.rstrip("/")))
                trees.append(Tree(1, path, frozenset({kind})))
    for version, _, root, point in mounts:
        if version == 2 and "" in own:
            path = Path(point + own[""].removeprefix(root.rstrip("/")))
            trees.extend(_tree_v2(path))
    return trees


def _tree_v2(own: Path) -> Iterator[Tree]:
    """A group either has processes or hands its controllers on; so we move into one beneath."""
    try:
        offered = set((own / "cgroup.controllers").read_text().split())
        kinds: frozenset[Kind] = frozenset(kind for kind in KINDS if kind in offered)
        if not kinds:
            return
        handed_on = set((own / "cgroup.subtree_control").read_text().split())
        if not kinds <= handed_on:
            (own / _AGENT).mkdir(exist_ok=True)
            (own / _AGENT / "cgroup.procs").write_text(str(os.getpid()))
            (own / "cgroup.subtree_control").write_text(_enabling(kinds))
    except OSError as error:
        _LOG.info("sandbox: cgroup %s sets no limits: %s", own, error)
        return
    yield Tree(2, own, kinds)


def _limits(version: int, kind: Kind, options: SandboxOptions) -> Iterator[tuple[str, str]]:
    match version, kind:
        case _, "pids":
            yield "pids.max", str(options.pids_max)
        case 1, "memory":
            yield "memory.limit_in_bytes", str(options.memory_bytes_max)
        case _, "memory":
            yield "memory.max", str(options.memory_bytes_max)
        case 1, "cpu":
            yield "cpu.shares", str(max(2, round(1024 * options.cpu_share)))
        case _, "cpu":
            yield "cpu.weight", str(min(10_000, max(1, round(100 * options.cpu_share))))


def _enabling(kinds: frozenset[Kind]) -> str:
    return " ".join(f"+{kind}" for kind in sorted(kinds))


def _own_groups(text: str) -> Mapping[str, str]:
    """Controller → path; the path in v2's tree under no name."""
    own: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    return own


def _mounts(text: str) -> Iterator[tuple[int, frozenset[str], str, str]]:
    """Version, controllers, which part of the tree, where it is mounted."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")[:3]
        if kind in ("cgroup", "cgroup2"):
            _, _, _, root, point, *_ = before.split(" ")
            yield (1 if kind == "cgroup" else 2), frozenset(options.split(",")), root, point


def _folders(group: Path) -> Iterator[Path]:
    return (each for each in group.iterdir() if each.is_dir())


def _write(file: Path, value: str) -> None:
    """Where the kernel has it: some of these came late, some are compiled out."""
    with suppress(OSError):
        if file.exists():
            file.write_text(value)
