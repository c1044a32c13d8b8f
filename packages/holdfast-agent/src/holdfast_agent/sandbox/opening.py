"""Makes the ground for a wall, or finds out why there can be none, and takes it away again."""

import asyncio
import platform
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from holdfast_agent.sandbox import profile
from holdfast_agent.sandbox.bubblewrap import Bubblewrap, Ground, Unusable
from holdfast_agent.sandbox.cgroups import Cgroups, find_trees
from holdfast_agent.sandbox.check import NO_NAMESPACES
from holdfast_agent.sandbox.disk import DiskWatch
from holdfast_agent.sandbox.egress import EgressRules, egress_rules, open_egress
from holdfast_agent.sandbox.network import NoNetwork, open_network
from holdfast_agent.sandbox.options import SandboxOptions
from holdfast_agent.sandbox.person import person_for
from holdfast_agent.sandbox.seccomp import UnknownArchitecture, compile_filter

_OLDEST: Final = (0, 8, 0)
"""The first bubblewrap that can forbid further user namespaces."""
_RELEASE_TRIES_MAX: Final = 40
_RELEASE_AGAIN_S: Final = 0.05
_EXTERNAL: Final = (
    'Or, where a container or a virtual machine is the wall, start the agent with "external".'
)


@asynccontextmanager
async def open_bubblewrap(
    options: SandboxOptions, rules: EgressRules | None = None
) -> AsyncGenerator[Bubblewrap]:
    """A launcher in every case: without ground it refuses commands, and `check` says why.

    Raises ValueError for a host that is none, in `allow_hosts` or `private_hosts`.
    """
    rules = rules or egress_rules(options)
    async with AsyncExitStack() as stack:
        try:
            bwrap = await asyncio.to_thread(_bwrap)
            seccomp = compile_filter()
            _check_folders(options)
            person = person_for(options.root)
            cgroups = Cgroups(find_trees(), options)
            stack.push_async_callback(_released, cgroups)
            network = await stack.enter_async_context(open_network(person, options.kept_bytes_max))
        except NoNetwork as error:
            yield Bubblewrap(options, Unusable(f"{NO_NAMESPACES} The kernel says: {error}."))
            return
        except UnknownArchitecture as error:
            words = f"There is no list of system calls for {error}: none is filtered. {_EXTERNAL}"
            yield Bubblewrap(options, Unusable(words))
            return
        except Unusable as error:
            yield Bubblewrap(options, error)
            return
        disk = DiskWatch(options.root, options.disk_free_bytes_min, cgroups.running)
        stack.enter_context(disk.watching())
        yield Bubblewrap(
            options,
            Ground(
                bwrap=bwrap,
                nsenter=_found("nsenter", "util-linux"),
                person=person,
                network=network,
                proxy=await stack.enter_async_context(open_egress(network.door, rules)),
                cgroups=cgroups,
                disk=disk,
                filter=seccomp,
                system=profile.system_view(),
            ),
        )


async def _released(cgroups: Cgroups) -> None:
    for _ in range(_RELEASE_TRIES_MAX):
        if cgroups.close():
            return
        await asyncio.sleep(_RELEASE_AGAIN_S)


def _bwrap() -> str:
    bwrap = _found("bwrap", "bubblewrap")
    _found("nsenter", "util-linux")
    _found("setpriv", "util-linux")
    said = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    numbers = re.findall(r"\d+", said)
    if tuple(map(int, numbers[:3])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        words = f"bubblewrap {oldest} or later is needed, this is {said.strip()!r}. {_EXTERNAL}"
        raise Unusable(words)
    return bwrap


def _found(program: str, package: str) -> str:
    path = shutil.which(program)
    if path is None:
        words = f"The program {program} is not here: install the package {package!r}. {_EXTERNAL}"
        raise Unusable(words)
    return path


def _check_folders(options: SandboxOptions) -> None:
    if not options.root.is_dir():
        raise Unusable(f"There is no folder {options.root}: make it, or name another with --root.")
    if options.state.resolve().is_relative_to(options.root.resolve()):
        raise Unusable(
            f"The agent's own folder {options.state} lies in the workspace, where commands could "
            "write to it: name another with --state."
        )
    if any(path.is_relative_to(profile.KEPT) for path in options.readable):
        raise Unusable(f"{profile.KEPT} cannot be shown to commands: leave it out of --readable.")
    if platform.system() != "Linux":
        raise Unusable(f"Bubblewrap needs Linux. {_EXTERNAL}")
