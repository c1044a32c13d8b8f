"""The way out: to listed hosts, through the proxy, and to nowhere else."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from holdfast_agent.sandbox.egress import (
    Denied,
    EgressProxy,
    EgressRules,
    HostRule,
    egress_rules,
    open_egress,
)
from holdfast_lab.chaos.walls.wall import open_wall, options_for, run, workspace


@pytest.mark.parametrize(
    ("rule", "host", "port", "admitted"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org:22", "example.org", 22, True),
        ("example.org:22", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("example.org", "example.org.evil.net", 443, False),
        ("EXAMPLE.org.", "example.org", 443, True),
    ],
)
def test_a_host_is_compared_by_its_whole_name(
    rule: str, host: str, port: int, admitted: bool
) -> None:
    assert HostRule.parse(rule).admits(host, port) is admitted


@pytest.mark.parametrize("text", ["", "*", "*.", "a.*.b", "https://example.org/", ":80"])
def test_what_is_no_host_is_refused_at_the_start(text: str) -> None:
    with workspace() as root, pytest.raises(ValueError, match="is no host"):
        egress_rules(options_for(root, allow_hosts=(text,)))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "::1", "8.8.8.8", "unlisted.example"]
)
async def test_addresses_and_strangers_are_denied(host: str) -> None:
    listed = HostRule("listed.example" if host == "unlisted.example" else host, None)

    with pytest.raises(Denied, match="--allow-host"):
        await EgressRules((listed,)).addresses_of(host, 443)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1"])
async def test_a_listed_name_that_leads_inwards_is_denied(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    _resolve_to(monkeypatch, "1.1.1.1", address)
    rules = EgressRules((HostRule.parse("listed.example"),))

    with pytest.raises(Denied, match="inner network"):
        await rules.addresses_of("listed.example", 443)


async def test_it_is_the_look_at_the_address_that_denies_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mutant: a listed name is enough."""
    _resolve_to(monkeypatch, "127.0.0.1")

    def anything(_address: object) -> bool:
        return True

    monkeypatch.setattr("holdfast_agent.sandbox.egress.is_public", anything)
    rules = EgressRules((HostRule.parse("listed.example"),))

    assert await rules.addresses_of("listed.example", 443) == ["127.0.0.1"]


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])
async def test_a_private_host_may_not_be_the_clouds_metadata(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    _resolve_to(monkeypatch, address)
    rules = EgressRules((), (HostRule.parse("mine.example"),))

    with pytest.raises(Denied):
        await rules.addresses_of("mine.example", 443)


async def test_a_checked_address_is_connected_to_and_the_name_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _resolve_to(monkeypatch, "10.1.2.3")
    rules = EgressRules((), (HostRule.parse("mine.example"),))

    assert await rules.addresses_of("mine.example", 443) == ["10.1.2.3"]


def _resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def getaddrinfo(self: object, host: str, port: int, **_: object) -> object:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


@asynccontextmanager
async def proxied(rules: EgressRules) -> AsyncGenerator[tuple[EgressProxy, int]]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        async with open_egress(door, rules) as proxy:
            yield proxy, door.getsockname()[1]


@asynccontextmanager
async def echo() -> AsyncGenerator[int]:
    """Answers with what it was sent, to the end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"got:")
        while piece := await reader.read(65536):
            writer.write(piece)
            if b"\r\n\r\n" in piece:
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def said(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        got = b""
        async with asyncio.timeout(60):
            with suppress(ConnectionResetError):  # that is how one is cut off
                while piece := await reader.read(65536):
                    got += piece
        return got
    finally:
        writer.close()


async def test_a_plain_request_is_passed_on_as_its_host_wants_it() -> None:
    async with echo() as far:
        rules = EgressRules((), (HostRule.parse(f"localhost:{far}"),))
        async with proxied(rules) as (proxy, port):
            got = await said(
                port,
                f"GET http://localhost:{far}/a?b HTTP/1.1\r\nHost: evil.example\r\n"
                "Proxy-Authorization: secret\r\nX-Kept: yes\r\n"
                "Connection: keep-alive\r\n\r\n".encode(),
            )

    assert got == (
        f"got:GET /a?b HTTP/1.1\r\nHost: localhost:{far}\r\nX-Kept: yes\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    assert (proxy.counts.allowed, proxy.counts.denied) == (1, 0)


async def test_a_tunnel_carries_no_more_than_it_may() -> None:
    async with echo() as far:
        private = (HostRule.parse(f"localhost:{far}"),)
        tunnel = f"CONNECT localhost:{far} HTTP/1.1\r\n\r\n".encode()
        async with proxied(EgressRules((), private)) as (_, port):
            whole = await said(port, tunnel + b"x" * 5000 + b"\r\n\r\n")
        async with proxied(EgressRules((), private, 1000, 1000)) as (_, port):
            cut = await said(port, tunnel + b"x" * 5000 + b"\r\n\r\n")

    assert whole.endswith(b"x\r\n\r\n")
    assert len(cut) < 2000


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET ftp://listed.example/ HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT user:password@listed.example:443 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT listed.example:99999 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n", b"403"),
        (b"GET http://169.254.169.254/latest/ HTTP/1.1\r\n\r\n", b"403"),
        ("GET http://①②⑦.⓪.⓪.①/ HTTP/1.1\r\n\r\n".encode(), b"400"),
    ],
)
async def test_nonsense_and_strangers_are_answered_not_passed_on(
    request_: bytes, status: bytes
) -> None:
    async with proxied(EgressRules((HostRule.parse("listed.example"),))) as (proxy, port):
        got = await said(port, request_)

    assert got.split(b" ")[1] == status
    assert proxy.counts.allowed == 0


async def test_denied_attempts_are_counted_by_host(caplog: pytest.LogCaptureFixture) -> None:
    async with proxied(EgressRules()) as (proxy, port):
        for _ in range(3):
            await said(port, b"CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n")

    assert proxy.counts.denied == 3
    assert proxy.counts.denied_hosts["elsewhere.example:443"] == 3
    assert caplog.text.count("egress denied: elsewhere.example:443") == 1


async def test_a_command_is_told_why_it_may_not_go_there() -> None:
    async with open_wall() as wall:
        plain = await run(wall, "/usr/bin/curl -s http://example.com/")
        secure = await run(wall, "/usr/bin/curl -sS https://example.com/")
        direct = await run(wall, "/usr/bin/curl -sS --noproxy '*' http://192.0.2.1/")

    assert "ask the administrator" in plain.out
    assert "403" in secure.out
    assert direct.code == 7
