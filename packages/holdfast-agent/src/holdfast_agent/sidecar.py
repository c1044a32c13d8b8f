"""The only neighbour of a workspace whose container or pod has no way out: `python -m
holdfast_agent.sidecar`.

    server ──▶ --door HOST:PORT ──▶ --agent HOST:PORT      requests to the agent, unchanged
    commands ──▶ --proxy HOST:PORT ──▶ listed hosts        the rules of `sandbox/egress.py`

It runs in a container or pod of its own, with a leg in the workspace's network and one in the
network outside. It runs no command and holds no secret, not even the agent's token.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import typer

from holdfast_agent import flags
from holdfast_agent.sandbox.egress import HEAD_BYTES_MAX, EgressProxy, EgressRules, HostRule

EXIT_WRONG_FLAGS: Final = 2
CONNECTIONS_MAX: Final = 1024
"""From servers to the agent, at once: as many as the agent lets wait."""
_CONNECT_S: Final = 10.0
_PIECE_BYTES: Final = 64 * 1024

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Place":
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or int(port) >= 1 << 16:
            raise ValueError(f"{text!r} is no HOST:PORT")
        return cls(host.strip("[]"), int(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarConfig:
    proxy: Place
    rules: EgressRules
    door: Place | None = None
    agent: Place | None = None

    def __post_init__(self) -> None:
        if (self.door is None) != (self.agent is None):
            raise ValueError("--door and --agent belong together")


@asynccontextmanager
async def sidecar(config: SidecarConfig) -> AsyncGenerator[tuple[int, int | None]]:
    """Gives the ports of the proxy and of the door."""
    async with AsyncExitStack() as stack:
        proxy = EgressProxy(config.rules)
        stack.callback(proxy.close)
        listening = await asyncio.start_server(
            proxy.serve, config.proxy.host, config.proxy.port, limit=HEAD_BYTES_MAX
        )
        stack.callback(listening.close)
        door = None
        if config.door is not None and config.agent is not None:
            forward = Forward(config.agent)
            stack.callback(forward.close)
            door = await asyncio.start_server(forward.serve, config.door.host, config.door.port)
            stack.callback(door.close)
        yield _port_of(listening), None if door is None else _port_of(door)


def _port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


class Forward:
    """Passes connections on to the agent, byte by byte. The agent itself asks for its token and
    bounds what it is sent; a connection may be silent for as long as the agent lets it."""

    def __init__(self, agent: Place) -> None:
        self._agent = agent
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if len(self._open) <= CONNECTIONS_MAX:
                await self._pass(reader, writer)
        except* (OSError, TimeoutError):
            pass  # either side went away: the server sees its connection closed, and tries again
        finally:
            self._open.discard(writer)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_CONNECT_S):
            far_reader, far_writer = await asyncio.open_connection(
                self._agent.host, self._agent.port
            )
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(reader, far_writer))
                both.create_task(_carry(far_reader, writer))
        finally:
            far_writer.close()

    def close(self) -> None:
        for writer in tuple(self._open):
            writer.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()


ProxyPlace: TypeAlias = Annotated[
    str, typer.Option(help="HOST:PORT at which commands find the proxy.")
]
Door: TypeAlias = Annotated[
    str | None, typer.Option(help="HOST:PORT at which servers find the agent.")
]
AgentPlace: TypeAlias = Annotated[
    str | None, typer.Option(help="HOST:PORT of the agent, for what arrives at --door.")
]


@app.command()
def command(
    *,
    proxy: ProxyPlace = "0.0.0.0:3128",
    door: Door = None,
    agent: AgentPlace = None,
    allow_host: flags.AllowHost = None,
    private_host: flags.PrivateHost = None,
) -> None:
    """Let the commands of a workspace connect to the listed hosts, and the server to its agent."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        config = SidecarConfig(
            proxy=Place.parse(proxy),
            door=None if door is None else Place.parse(door),
            agent=None if agent is None else Place.parse(agent),
            rules=EgressRules(
                tuple(HostRule.parse(text) for text in allow_host or ()),
                tuple(HostRule.parse(text) for text in private_host or ()),
            ),
        )
    except ValueError as wrong:
        typer.echo(f"{wrong}.", err=True)
        raise typer.Exit(EXIT_WRONG_FLAGS) from None
    asyncio.run(_serve(config))


async def _serve(config: SidecarConfig) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with sidecar(config) as (proxy, door):
        typer.echo(f"The sidecar is ready: proxy {proxy}, door {door or 'none'}")
        sys.stdout.flush()
        await stopping.wait()


if __name__ == "__main__":
    app()
