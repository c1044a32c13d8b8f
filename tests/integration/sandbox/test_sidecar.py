"""A workspace without a way out, and its sidecar: real processes in real network namespaces."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Set as AbstractSet

import pytest

from holdfast_agent.sandbox.egress import EgressRules
from holdfast_agent.sidecar import Place, SidecarConfig, sidecar
from tests.support.waits import HANG_S
from tests.support.walled_off import MUTANTS, NAMES

ROOT_OF_ITS_OWN = ("unshare", "--user", "--map-root-user", "--net", "--mount")
ALLOWED = {"proxy allowed.example"}


def reached(mutant: str = "") -> AbstractSet[str]:
    ended = subprocess.run(
        [*ROOT_OF_ITS_OWN, sys.executable, "-m", "tests.support.walled_off", mutant],
        capture_output=True,
        text=True,
        timeout=4 * HANG_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout))


def test_a_command_reaches_listed_names_with_public_addresses_and_nothing_else() -> None:
    """Not the metadata of any cloud, not an address inside, not a name that is not listed: neither
    directly nor through the proxy. The server reaches the agent all the same."""
    assert reached() == ALLOWED


@pytest.mark.parametrize(
    ("mutant", "gets_to"),
    [
        ("no address is looked at", "proxy aws.example"),
        ("every host is listed", "proxy unlisted.example"),
        ("a network with a way out", "direct aws.example"),
    ],
)
def test_without_a_protection_more_is_reached(mutant: str, gets_to: str) -> None:
    assert mutant in MUTANTS
    assert gets_to in reached(mutant)
    assert gets_to.split()[-1] in NAMES


async def test_what_a_server_says_arrives_at_the_agent_and_back() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    agent = await asyncio.start_server(shout, "127.0.0.1", 0)
    here = Place("127.0.0.1", agent.sockets[0].getsockname()[1])
    config = SidecarConfig(
        proxy=Place("127.0.0.1", 0), rules=EgressRules(), door=Place("127.0.0.1", 0), agent=here
    )
    async with agent, sidecar(config) as (_, door):
        reader, writer = await asyncio.open_connection("127.0.0.1", door)
        writer.write(b"hello")
        writer.write_eof()
        assert await reader.read() == b"HELLO"
        writer.close()


async def test_an_agent_that_is_away_closes_the_connection() -> None:
    closed = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    gone = Place("127.0.0.1", closed.sockets[0].getsockname()[1])
    closed.close()
    await closed.wait_closed()
    config = SidecarConfig(
        proxy=Place("127.0.0.1", 0), rules=EgressRules(), door=Place("127.0.0.1", 0), agent=gone
    )
    async with sidecar(config) as (_, door):
        reader, writer = await asyncio.open_connection("127.0.0.1", door)
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    "words", [["--proxy", "nonsense"], ["--door", "0.0.0.0:1"], ["--allow-host", "a.*.b"]]
)
def test_wrong_flags_are_told(words: list[str]) -> None:
    command = [sys.executable, "-m", "holdfast_agent.sidecar", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert ended.returncode == 2, ended.stderr
