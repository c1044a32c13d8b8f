"""The client believes an agent nothing: sizes, packing, schema, redirects, silence."""

import gzip
from collections.abc import Awaitable, Callable

import orjson
import pytest

from holdfast.adapters.workspaces import client as client_module
from holdfast.adapters.workspaces.client import AgentClient, AgentGone, AgentRefused
from holdfast_agent.wire import Fault, FaultCode, ReadFile, Start
from tests.support.servers import Peer, answer, serving

ABOUT = b'{"version":"1","boot_id":"b","root":"/","sandbox":{"mode":"external","works":true}}'
JSON = "content-type: application/json"


def bomb() -> bytes:
    return gzip.compress(b" " * 50_000_000)


async def endless(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
    for _ in range(400):
        await peer.send(b" " * 65_536)
    peer.writer.close()


async def silent(peer: Peer) -> None:
    await peer.gone()


def saying(data: bytes) -> Callable[[Peer], Awaitable[None]]:
    async def say(peer: Peer) -> None:
        await peer.send(data)

    return say


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(saying(answer("200 OK", bomb(), "content-encoding: gzip")), id="bomb"),
        pytest.param(endless, id="endless"),
        pytest.param(silent, id="silent"),
        pytest.param(saying(answer("200 OK", b"not json")), id="no JSON"),
        pytest.param(saying(answer("200 OK", b"[" * 5000)), id="deep"),
        pytest.param(saying(answer("200 OK", ABOUT[:-1])), id="cut JSON"),
        pytest.param(saying(answer("200 OK", b'{"version": 7}')), id="wrong schema"),
        pytest.param(saying(answer("302 Found", b"", "location: /v1/elsewhere")), id="elsewhere"),
        pytest.param(saying(answer("500 No", b"<html>")), id="a page"),
        pytest.param(saying(answer("404 No", b'{"code":"made_up","message":""}')), id="no code"),
        pytest.param(saying(b"SSH-2.0-OpenSSH\r\n\r\n"), id="no HTTP"),
        pytest.param(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"), id="half"),
    ],
)
async def test_nonsense_is_no_answer(
    hostile: Callable[[Peer], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "SILENCE_S", 0.5)
    async with serving(hostile) as server:
        async with AgentClient(server.url) as client:
            with pytest.raises(AgentGone):
                await client.about()
        assert server.connections == 1


async def test_a_refusal_is_told_with_its_code_and_not_without_end() -> None:
    body = Fault(code=FaultCode.NO_SHELL, message="x" * 100_000).model_dump_json().encode()
    async with (
        serving(saying(answer("403 No", body, JSON))) as server,
        AgentClient(server.url) as client,
    ):
        with pytest.raises(AgentRefused) as refused:
            await client.start("c", "k", Start(command="true"))
    assert (refused.value.code, len(refused.value.message)) == (FaultCode.NO_SHELL, 4000)


async def test_what_it_adds_is_ignored_and_what_we_say_is_what_was_meant() -> None:
    later = ABOUT[:-1] + b',"later":[1]}'
    async with (
        serving(saying(answer("200 OK", later, JSON))) as server,
        AgentClient(server.url, token="secret-token-of-16") as client,
    ):
        assert (await client.about()).boot_id == "b"
        asked = server.requests[0].head.lower()
        with pytest.raises(AgentGone):
            await client.read(ReadFile(path="a/b"))
    read = server.requests[-1]
    assert asked.startswith(b"get /v1/about http/1.1")
    assert b"authorization: bearer secret-token-of-16" in asked
    assert b"accept-encoding: identity" in asked
    assert orjson.loads(read.body) == ReadFile(path="a/b").model_dump()


@pytest.mark.parametrize("address", ["unix:/nowhere/agent.sock", "http://127.0.0.1:1"])
async def test_an_agent_that_is_not_there_is_gone(address: str) -> None:
    async with AgentClient(address) as client:
        with pytest.raises(AgentGone):
            await client.look("c", "k", wait_s=1)
