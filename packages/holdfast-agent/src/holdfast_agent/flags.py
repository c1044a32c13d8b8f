"""The flags of `holdfast workspace-agent`, each of which can be given in the environment, too."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Root: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="The workspace's folder.",
        envvar="HOLDFAST_AGENT_ROOT",
        readable=False,  # by us: it may belong to the user of the commands alone
    ),
]
State: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="Folder for the records of started commands; not inside the workspace.",
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
        help="File of mode 0600 with the token that callers must send.",
        envvar="HOLDFAST_AGENT_TOKEN_FILE",
    ),
]
Sandbox: TypeAlias = Annotated[
    Literal["bubblewrap", "external"],
    typer.Option(
        help="bubblewrap: the agent builds the sandbox. external: a container or VM is it.",
        envvar="HOLDFAST_AGENT_SANDBOX",
    ),
]
Tree: TypeAlias = Annotated[
    Literal["auto", "namespace", "keeper"],
    typer.Option(
        help="How the processes of a command are tracked in an external sandbox: namespace, "
        "keeper, or auto (a namespace where the kernel allows it).",
        envvar="HOLDFAST_AGENT_TREE",
    ),
]
TokenOnce: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--token-once",
        help="Remove the file of --token-file once it is read.",
        envvar="HOLDFAST_AGENT_TOKEN_ONCE",
    ),
]
RunAs: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="UID:GID, the user of commands and of the workspace's files in an external sandbox. "
        "The agent then has to be root, or to have the capabilities SETUID, SETGID and KILL.",
        envvar="HOLDFAST_AGENT_RUN_AS",
    ),
]
ProcessesMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Maximum number of running commands.", min=1, envvar="HOLDFAST_AGENT_PROCESSES_MAX"
    ),
]
FinishedKept: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Number of ended commands whose output is kept.",
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
        help="A folder outside /usr that commands may read, such as /opt/toolchain.",
        envvar="HOLDFAST_AGENT_READABLE",
    ),
]
Git: TypeAlias = Annotated[
    Literal["guarded", "open"],
    typer.Option(
        help="guarded: git runs no program that a repository in the workspace names, hooks "
        "included, and commands cannot change hooks and configuration of the workspace's own "
        "repository. open: git is unchanged.",
        envvar="HOLDFAST_AGENT_GIT",
    ),
]
PidsMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Maximum number of processes and threads, for all commands together.",
        min=16,
        envvar="HOLDFAST_AGENT_PIDS_MAX",
    ),
]
MemoryMibMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Maximum memory in MiB, for all commands together, /tmp and home included.",
        min=32,
        envvar="HOLDFAST_AGENT_MEMORY_MIB_MAX",
    ),
]
CpuShare: TypeAlias = Annotated[
    float,
    typer.Option(
        help="CPU weight against other workspaces on a busy machine: 2 gets twice as much as 1.",
        min=0.01,
        max=100,
        envvar="HOLDFAST_AGENT_CPU_SHARE",
    ),
]
TmpMibMax: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Maximum size in MiB of /tmp, the home directory and /dev/shm, each. /tmp and home "
        "are shared by all commands, and have a quarter of the memory at most, each.",
        min=1,
        envvar="HOLDFAST_AGENT_TMP_MIB_MAX",
    ),
]
DiskFreeMibMin: TypeAlias = Annotated[
    int,
    typer.Option(
        help="With less free disk space (MiB) no command starts; the largest writer is stopped.",
        min=0,
        envvar="HOLDFAST_AGENT_DISK_FREE_MIB_MIN",
    ),
]
