"""`holdfast workspace-agent` and `python -m holdfast_agent`: the workspace agent as a process."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import typer

from holdfast_agent import flags

if TYPE_CHECKING:
    from holdfast_agent.sandbox.person import Person
    from holdfast_agent.serving import AgentConfig, Tcp, Unix

EXIT_WRONG_FLAGS: Final = 2
UNIX: Final = "unix:"

app = typer.Typer(add_completion=False)


@app.command()
def agent(
    *,
    root: flags.Root,
    state: flags.State,
    listen: flags.Listen,
    token_file: flags.TokenFile = None,
    token_once: flags.TokenOnce = False,
    sandbox: flags.Sandbox = "bubblewrap",
    tree: flags.Tree = "auto",
    run_as: flags.RunAs = None,
    processes_max: flags.ProcessesMax = 64,
    finished_kept: flags.FinishedKept = 100,
    allow_host: flags.AllowHost = None,
    private_host: flags.PrivateHost = None,
    readable: flags.Readable = None,
    git: flags.Git = "guarded",
    pids_max: flags.PidsMax = 512,
    memory_mib_max: flags.MemoryMibMax = 4096,
    cpu_share: flags.CpuShare = 1.0,
    tmp_mib_max: flags.TmpMibMax = 1024,
    disk_free_mib_min: flags.DiskFreeMibMin = 1024,
) -> None:
    """Run the agent of one workspace: it runs commands and serves files for the server.

    SIGTERM or SIGINT ends it and its processes. It outlives the process that started it.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast_agent.processes import Limits
    from holdfast_agent.sandbox.options import MIB, SandboxOptions
    from holdfast_agent.serving import AgentConfig, WrongFlags, read_token

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        wall = SandboxOptions(
            root=root.absolute(),
            state=state.absolute(),
            allow_hosts=tuple(allow_host or ()),
            private_hosts=tuple(private_host or ()),
            readable=tuple(path.absolute() for path in readable or ()),
            git=git,
            pids_max=pids_max,
            memory_bytes_max=memory_mib_max * MIB,
            cpu_share=cpu_share,
            tmp_bytes_max=tmp_mib_max * MIB,
            disk_free_bytes_min=disk_free_mib_min * MIB,
        )
        config = AgentConfig(
            wall=wall,
            listen=parse_listen(listen),
            token=read_token(token_file, once=token_once) if token_file else None,
            sandbox=sandbox,
            tree=None if tree == "auto" else tree,
            person=parse_person(run_as) if run_as else None,
            environment=dict(os.environ),  # noqa: TID251 - what an external sandbox passes on
            limits=Limits(running_max=processes_max, finished_kept=finished_kept),
        )
        asyncio.run(_serve(config))
    except WrongFlags as wrong:
        typer.echo(str(wrong), err=True)
        raise typer.Exit(EXIT_WRONG_FLAGS) from None


def parse_person(text: str) -> "Person":
    from holdfast_agent.sandbox.person import Person
    from holdfast_agent.serving import WrongFlags

    uid, _, gid = text.partition(":")
    if not (uid.isdecimal() and gid.isdecimal() and int(uid) and int(gid)):
        raise WrongFlags("--run-as is UID:GID, both numbers above 0.")
    return Person(int(uid), int(gid))


def parse_listen(text: str) -> "Unix | Tcp":
    from holdfast_agent.serving import Tcp, Unix, WrongFlags

    if text.startswith(UNIX):
        return Unix(Path(text.removeprefix(UNIX)).absolute())
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise WrongFlags("--listen is unix:PATH or HOST:PORT.")
    return Tcp(host.strip("[]"), int(port))


async def _serve(config: "AgentConfig") -> None:
    from holdfast_agent.serving import serving

    _stand_alone()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with serving(config) as address:
        typer.echo(f"The agent is ready at {address}")
        sys.stdout.flush()
        await stopping.wait()


def _deaf(number: int, frame: FrameType | None) -> None:
    """Hears nothing."""


def _stand_alone() -> None:
    """Survive the end of the starter and of its terminal: an agent outlives its servers."""
    # A deaf ear, not `SIG_IGN`: what is ignored stays so in every command that is started.
    signal.signal(signal.SIGHUP, _deaf)
    if os.getpgrp() != os.getpid():
        os.setsid()


def main() -> None:
    app()
