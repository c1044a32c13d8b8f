"""The flags of `holdfast agent`, each of which can be given in the environment, too."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Root: TypeAlias = Annotated[
    Path, typer.Option(help="The workspace's folder.", envvar="HOLDFAST_AGENT_ROOT")
]
State: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="Where the agent remembers what it started; not inside the workspace.",
        envvar="HOLDFAST_AGENT_STATE",
    ),
]
Listen: TypeAlias = Annotated[
    str,
    typer.Option(
        help="unix:PATH, or HOST:PORT with a token; port 0 takes a free one.",
        envvar="HOLDFAST_AGENT_LISTEN",
    ),
]
TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="A file, readable by you alone, with the token that callers must show.",
        envvar="HOLDFAST_AGENT_TOKEN_FILE",
    ),
]
Sandbox: TypeAlias = Annotated[
    Literal["bubblewrap", "external"],
    typer.Option(
        help="bubblewrap: the agent builds the wall. external: a container or VM is the wall.",
        envvar="HOLDFAST_AGENT_SANDBOX",
    ),
]
Tree: TypeAlias = Annotated[
    Literal["auto", "namespace", "keeper"],
    typer.Option(
        help="How a command's processes are kept together in an external sandbox: "
        "namespace, keeper, or auto: a namespace where the kernel gives one.",
        envvar="HOLDFAST_AGENT_TREE",
    ),
]
ProcessesMax: TypeAlias = Annotated[
    int,
    typer.Option(help="How many may run at once.", min=1, envvar="HOLDFAST_AGENT_PROCESSES_MAX"),
]
FinishedKept: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How many of the ended keep their output.",
        min=0,
        envvar="HOLDFAST_AGENT_FINISHED_KEPT",
    ),
]

# Of the wall that the agent builds itself: docs/how-to/sandbox.md.

AllowHost: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="A host that commands may reach: example.org, *.example.org, example.org:8443. "
        "Give it again for each; none by default.",
        envvar="HOLDFAST_AGENT_ALLOW_HOST",
    ),
]
PrivateHost: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Like --allow-host, for a host of your own network.",
        envvar="HOLDFAST_AGENT_PRIVATE_HOST",
    ),
]
Readable: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        help="A folder beside /usr that commands may read, say /opt/toolchain.",
        envvar="HOLDFAST_AGENT_READABLE",
    ),
]
Git: TypeAlias = Annotated[
    Literal["guarded", "open"],
    typer.Option(
        help="guarded: git runs no program that a repository in the workspace names, hooks "
        "included, and commands cannot change hooks and configuration of the workspace's own "
        "repository. open: git works as it always does.",
        envvar="HOLDFAST_AGENT_GIT",
    ),
]
PidsMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How many processes and threads all commands may have together.",
        min=16,
        envvar="HOLDFAST_AGENT_PIDS_MAX",
    ),
]
MemoryMibMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How much memory all commands may use together, /tmp included.",
        min=32,
        envvar="HOLDFAST_AGENT_MEMORY_MIB_MAX",
    ),
]
CpuShare: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Beside other workspaces when the machine is busy: 2 gets twice what 1 gets.",
        min=0.01,
        max=100,
        envvar="HOLDFAST_AGENT_CPU_SHARE",
    ),
]
TmpMibMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How large /tmp, the home folder and /dev/shm of a command may grow, each.",
        min=1,
        envvar="HOLDFAST_AGENT_TMP_MIB_MAX",
    ),
]
DiskFreeMibMin: TypeAlias = Annotated[
    int,
    typer.Option(
        help="With less free space nothing is started, and what writes most is stopped.",
        min=0,
        envvar="HOLDFAST_AGENT_DISK_FREE_MIB_MIN",
    ),
]
