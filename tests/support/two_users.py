"""The entry point of a container, as root in namespaces of its own: the agent and its commands are
two users, and a command tries what only the agent may.

    unshare --mount --pid --fork --mount-proc python -m tests.support.two_users FOLDER MUTANT TREE

Prints as JSON what the command could do. Everything ends with the PID namespace.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from holdfast.adapters.workspaces.client import AgentClient
from holdfast_agent.wire import ReadFile, SearchFiles, Start, WriteFile
from tests.support.agents import alive_with
from tests.support.waits import HANG_S

TOKEN: Final = "a-token-of-some-length"
ROOT: Final = Path(__file__).resolve().parents[2]
MUTANTS: Final = ("one user", "rights go along")
TRIES: Final = r"""
import ctypes, json, os, signal, sys
state, agent, can = sys.argv[1], int(sys.argv[2]), []
def tries(name, do):
    try:
        do()
        can.append(name)
    except OSError:
        pass
tries("list the state", lambda: os.listdir(state))
tries("read the token", lambda: open(state + "/token").read())
tries("write the journal", lambda: open(state + "/journal", "ab"))
tries("signal the agent", lambda: os.kill(agent, 0))
tries("read its memory", lambda: open("/proc/%d/mem" % agent, "rb"))
tries("read its environment", lambda: open("/proc/%d/environ" % agent, "rb").read())
tries("become root", lambda: os.setuid(0))
tries("become the agent", lambda: os.setuid(10003))
def trace():
    if ctypes.CDLL(None).ptrace(16, agent, 0, 0) != 0:
        raise OSError
tries("trace the agent", trace)
print(json.dumps({"can": can, "uid": os.getuid(), "groups": os.getgroups()}))
"""


def show_python() -> None:
    """Other users may not enter the home folder that our Python lies in: here they may."""
    home = Path(sys.base_prefix)
    closed = [each for each in home.parents if not each.stat().st_mode & 0o001]
    if not closed:
        return
    stage = Path("/mnt")
    run("mount", "--bind", str(home), str(stage))
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(closed[-1]))
    home.mkdir(parents=True)
    run("mount", "--move", str(stage), str(home))


def run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=HANG_S)


def begun(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = ["sh", str(folder / "entry")]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


async def main(folder: Path, mutant: str, tree: str) -> None:
    show_python()
    for name in ("state", "files"):
        (folder / name).mkdir(mode=0o700)
    script = (ROOT / "deploy" / "workspaces" / "agent").read_text()
    if mutant == "one user":
        script = script.replace("worker=10002", "worker=10003")
    elif mutant == "rights go along":
        broken = folder / "sitecustomize.py"
        broken.write_text(
            "from holdfast_agent.sandbox.person import Person\n"
            "whole = Person.prefix\n"
            "Person.prefix = lambda self: tuple("
            "w for w in whole(self) if w not in ('--inh-caps', '--ambient-caps', '-all'))\n"
        )
    (folder / "entry").write_text(script)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder),
        "HOLDFAST_WORKSPACE_TOKEN": TOKEN,
        "WORKSPACE_STATE": str(folder / "state"),
        "WORKSPACE_FILES": str(folder / "files"),
        "WORKSPACE_PYTHON": sys.executable,
        "WORKSPACE_HOST": "127.0.0.1",
        "WORKSPACE_PORT": "0",
        "HOLDFAST_AGENT_TREE": tree,
    }
    agent = begun(folder, environment)
    assert agent.stdout is not None
    line = agent.stdout.readline()
    assert line.startswith("The agent is ready at "), line
    async with AgentClient(line.split()[-1], TOKEN) as client:
        found = await asked(client, folder, agent.pid)
    found["agent"] = os.stat(folder / "state" / "journal").st_uid
    found["token left"] = (folder / "state" / "token").exists()
    agent.terminate()
    agent.wait(HANG_S)
    print(json.dumps(found))


async def asked(client: AgentClient, folder: Path, pid: int) -> dict[str, object]:
    # What the agent writes, commands may change, and the other way round.
    await client.write(WriteFile(path="tries.py", text=TRIES))
    command = (
        "echo more >>tries.py; sed -i '$d' tries.py; echo needle >own; chmod 600 own; umask 077;"
        " mkdir deep; echo needle >deep/own; seq 20000; echo;"
        f" python3 tries.py {folder}/state {pid}"
    )
    await client.start("chat", "tries", Start(command=command))
    look = await client.look("chat", "tries", after=0, wait_s=HANG_S, until="exit")
    tail = await client.look("chat", "tries", after=-1)
    found: dict[str, object] = json.loads(tail.output.text.splitlines()[-1])
    found["saved"] = look.process.output_path is not None
    read = await client.read(ReadFile(path="deep/own"))
    found["read"] = read.text
    hits = await client.search(SearchFiles(pattern="needle"))
    found["hits"] = sorted(match.path for match in hits.matches)
    found["alive"] = await stopped(client)
    return found


async def stopped(client: AgentClient) -> int:
    """How many live on after "stop", of a tree that detaches and ignores signals."""
    marker = "holdfast-two-users"
    nasty = (
        "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; sleep 1000' &);"
        " (setsid sh -c 'setsid sleep 1000 & sleep 1000' &); echo up; sleep 1000"
    )
    await client.start("chat", "nasty", Start(command=nasty, cwd="deep", env={"MARKER": marker}))
    await client.look("chat", "nasty", after=0, wait_s=HANG_S, until="output")
    while len(alive_with(marker)) < 4:  # noqa: ASYNC110 - the tree says nothing
        await asyncio.sleep(0.05)
    await client.stop("chat", "nasty")
    return len(alive_with(marker))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
