"""Who gets in: nobody without the token over TCP, nobody else at the socket."""

import os
import stat
from pathlib import Path
from typing import Final

import pytest

from holdfast.workspace.client import AgentClient, AgentRefused
from holdfast_agent.wire import FaultCode, Start, State
from tests.support.agents import Agent, arguments, refused_start, running_agent

TOKEN: Final = "a-token-of-some-length"


def token_file(folder: Path, token: str = TOKEN, mode: int = 0o600) -> str:
    path = folder / "token"
    path.write_text(f"{token}\n")
    path.chmod(mode)
    return str(path)


async def test_over_tcp_the_token_is_wanted(folder: Path) -> None:
    token = token_file(folder)
    with running_agent(folder, "--token-file", token, listen="127.0.0.1:0") as agent:
        assert agent.address.startswith("http://127.0.0.1:")
        for wrong in (None, "", TOKEN[:-1], f"{TOKEN}x"):
            async with AgentClient(agent.address, wrong) as client:
                for asking in (client.about(), client.start("c", "k", Start(command="true"))):
                    with pytest.raises(AgentRefused) as refused:
                        await asking
                    assert refused.value.code is FaultCode.UNAUTHORIZED
        async with AgentClient(agent.address, TOKEN) as client:
            assert (await client.about()).sandbox.mode == "external"
            await client.start("c", "k", Start(command="cat /proc/$PPID/environ; env"))
            look = await client.look("c", "k", wait_s=20)
            assert look.process.state is State.ENDED
            assert TOKEN not in look.output.text


async def test_the_socket_is_its_owners_alone(agent: Agent, client: AgentClient) -> None:
    mode = os.stat(agent.address.removeprefix("unix:")).st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    about = await client.about()
    assert about.root == str(agent.root)
    assert len(about.boot_id) == 32


async def test_what_it_does_not_know_is_refused_in_its_own_words(client: AgentClient) -> None:
    with pytest.raises(AgentRefused) as refused:
        await client.skill("no such thing/at all")
    assert refused.value.code is FaultCode.NOT_FOUND
    with pytest.raises(AgentRefused) as refused:
        await client.look("c", "k", after=-2)
    assert refused.value.code is FaultCode.BAD_REQUEST


def test_it_does_not_start_on_a_network_without_a_token(folder: Path) -> None:
    code, said = refused_start(arguments(folder, listen="127.0.0.1:0"))
    assert (code, "needs a token" in said) == (2, True), said
