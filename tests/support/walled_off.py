"""A workspace in a network of its own, its sidecar, and an internet: three network namespaces.

    unshare --user --map-root-user --net --mount python -m tests.support.walled_off MUTANT

    internet (10.200.0.1) ── (10.200.0.2) sidecar (10.201.0.1) ── (10.201.0.2) workspace

The internet has addresses that a workspace must not reach, each with a server. A command of the
agent tries all of them, directly and through the proxy. Prints as JSON what it reached. All of it
is in namespaces that end with this process; no interface of the machine is touched.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from holdfast.adapters.workspaces.client import AgentClient
from holdfast_agent.wire import Start
from tests.support.waits import HANG_S

TOKEN: Final = "a-token-of-some-length"
NAMES: Final = {
    "allowed.example": "93.184.216.34",
    "unlisted.example": "93.184.216.35",
    "inside.example": "10.9.9.9",
    "aws.example": "169.254.169.254",
    "alibaba.example": "100.100.100.200",
    "azure.example": "168.63.129.16",
    "six.example": "fd00:ec2::254",
}
MUTANTS: Final = {
    "no address is looked at": "import holdfast_agent.sandbox.egress as e; "
    "e.is_public = lambda _: True",
    "every host is listed": "import holdfast_agent.sandbox.egress as e; "
    "e.HostRule.admits = lambda *_: True",
    "a network with a way out": "",
}
TRIES: Final = """
import json, os, socket, sys, urllib.request
reached = []
for name, address in json.loads(sys.argv[1]).items():
    try:
        socket.create_connection((address, 80), 3).close()
        reached.append("direct " + name)
    except OSError:
        pass
    try:
        urllib.request.urlopen("http://%s/" % name, timeout=10).close()
        reached.append("proxy " + name)
    except OSError:
        pass
    shown = "[%s]" % address if ":" in address else address
    try:
        urllib.request.urlopen("http://%s/" % shown, timeout=10).close()
        reached.append("proxy address of " + name)
    except OSError:
        pass
print(json.dumps(reached))
"""


def ip(*words: str, inside: int | None = None) -> None:
    enter = () if inside is None else ("nsenter", f"--net=/proc/{inside}/ns/net")
    subprocess.run([*enter, "ip", *words], check=True, timeout=HANG_S)


@contextmanager
def island() -> Generator[int]:
    keeper = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo apart; exec sleep 1000"], stdout=subprocess.PIPE
    )
    try:
        assert keeper.stdout is not None
        keeper.stdout.readline()
        yield keeper.pid
    finally:
        keeper.kill()
        keeper.communicate()


def connect(left: int | None, right: int, net: str) -> None:
    name = f"hf{net.replace('.', '')}"
    ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", str(right))
    if left is not None:
        ip("link", "set", f"{name}a", "netns", str(left))
    for pid, port, host in ((left, f"{name}a", 1), (right, f"{name}b", 2)):
        ip("address", "add", f"{net}.{host}/24", "dev", port, inside=pid)
        ip("link", "set", port, "up", inside=pid)


@contextmanager
def program(inside: int, code: str, *words: str, ready: str, **env: str) -> Generator[None]:
    started = subprocess.Popen(
        ["nsenter", f"--net=/proc/{inside}/ns/net", sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        env={**os.environ, **env},
    )
    try:
        assert started.stdout is not None
        line = started.stdout.readline().decode()
        assert line.startswith(ready), line
        yield
    finally:
        started.terminate()
        started.communicate(timeout=HANG_S)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(4096)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    writer.close()


def lay_out(stack: ExitStack, folder: Path, mutant: str) -> None:
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{address} {name}\n" for name, address in NAMES.items()))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    ip("link", "set", "lo", "up")
    for address in NAMES.values():
        ip("address", "add", address, "dev", "lo", *(["nodad"] if ":" in address else []))
    sidecar, workspace = stack.enter_context(island()), stack.enter_context(island())
    ip("link", "set", "lo", "up", inside=workspace)
    connect(None, sidecar, "10.200.0")
    connect(sidecar, workspace, "10.201.0")
    ip("route", "add", "default", "via", "10.200.0.1", inside=sidecar)
    if mutant == "a network with a way out":
        ip("route", "add", "default", "via", "10.201.0.1", inside=workspace)
        ip("route", "add", "10.201.0.0/24", "via", "10.200.0.2")
        forwards = ("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        subprocess.run(["nsenter", f"--net=/proc/{sidecar}/ns/net", *forwards], check=True)
    listed = [
        word for name in NAMES if name != "unlisted.example" for word in ("--allow-host", name)
    ]
    stack.enter_context(
        program(
            sidecar,
            f"{MUTANTS.get(mutant, '')}\nfrom holdfast_agent.sidecar import app; app()",
            *("--proxy", "10.201.0.1:3128", "--door", "10.200.0.2:7070"),
            *("--agent", "10.201.0.2:7070", *listed),
            ready="The sidecar is ready",
        )
    )
    (folder / "root").mkdir()
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    stack.enter_context(
        program(
            workspace,
            "from holdfast_agent.command import app; app()",
            *("--root", str(folder / "root"), "--state", str(folder / "state")),
            *("--listen", "10.201.0.2:7070", "--token-file", str(folder / "token")),
            *("--sandbox", "external"),
            ready="The agent is ready",
            http_proxy="http://10.201.0.1:3128",
            no_proxy="",
        )
    )


async def main(mutant: str) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lay_out(stack, folder, mutant)
        servers = [await asyncio.start_server(answer, address, 80) for address in NAMES.values()]
        (folder / "root" / "tries.py").write_text(TRIES)
        command = f"{sys.executable} -I tries.py '{json.dumps(NAMES)}'"
        async with AgentClient("http://10.200.0.2:7070", TOKEN) as client:
            await client.start("chat", "key", Start(command=command))
            async with asyncio.timeout(HANG_S):
                look = await client.look("chat", "key", after=0, wait_s=HANG_S, until="exit")
        for server in servers:
            server.close()
        print(look.output.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
