"""A proxy for addresses that an administrator set: CONNECT and plain, never for guarded ones."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.adapters.providers.types import Endpoint
from holdfast.domain.chat import ErrorKind
from holdfast_simulator.server import Config, running
from tests.support.http_proxy import http_proxy
from tests.support.model import NOW, call_for, endpoint_for, user
from tests.support.servers import LAST, OK, Peer, chunk, serving
from tests.support.simulated import endpoint_at

CREDENTIALS = "worker:canary%2F4711"
SPOKEN = "worker:canary/4711"
WHOLE = (
    b'data: {"id":"c","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


async def said(transport: Transport, endpoint: Endpoint) -> str:
    call = call_for(endpoint.wire, [user("Hi")])
    async with asyncio.timeout(60), ProviderStream(transport, endpoint, call) as stream:
        async for _ in stream:
            pass
        return str(stream.partial())


@pytest.mark.parametrize("spoken", [None, SPOKEN], ids=["open", "with a password"])
async def test_plain_addresses_go_through_the_proxy(spoken: str | None) -> None:
    async with (
        running(Config()) as simulator,
        http_proxy(spoken) as proxy,
        open_transport(lambda: NOW) as transport,
    ):
        given = proxy.url if spoken is None else proxy.url.replace("//", f"//{CREDENTIALS}@")
        endpoint = replace(endpoint_at(simulator.url, "chat"), proxy=given)
        assert await said(transport, endpoint)
        assert proxy.asked == [f"POST {simulator.url}/v1/chat/completions HTTP/1.1"]
        (entry,) = simulator.record
        assert "proxy-authorization" not in entry.headers
        assert "canary" not in repr(endpoint)


@asynccontextmanager
async def over_tls(folder: Path) -> AsyncGenerator[tuple[str, Transport]]:
    """A server with a certificate of its own, and a transport that trusts it."""
    certificate, key = self_signed(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        if await peer.read_request():
            await peer.send(OK + chunk(WHOLE) + LAST)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting)) as session,
        aiohttp.ClientSession() as other,
    ):
        port = server.sockets[0].getsockname()[1]
        yield f"https://127.0.0.1:{port}/v1", Transport(session, other, lambda: NOW)
    server.close()
    await asyncio.sleep(0)


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.mark.parametrize("spoken", [None, SPOKEN], ids=["open", "with a password"])
async def test_tls_addresses_go_through_a_tunnel(tmp_path: Path, spoken: str | None) -> None:
    async with over_tls(tmp_path) as (url, transport), http_proxy(spoken) as proxy:
        given = proxy.url if spoken is None else proxy.url.replace("//", f"//{CREDENTIALS}@")
        endpoint = replace(endpoint_for("chat", base_url=url), proxy=given)
        assert "Hi" in await said(transport, endpoint)
        host = url.removeprefix("https://").removesuffix("/v1")
        assert proxy.asked == [f"CONNECT {host} HTTP/1.1"]


@pytest.mark.parametrize(
    ("refuses", "kind", "retryable"),
    [
        ("407 Proxy Authentication Required", ErrorKind.CONFIG, False),
        ("403 Forbidden", ErrorKind.CONFIG, False),
        ("502 Bad Gateway", ErrorKind.UNAVAILABLE, True),
    ],
)
async def test_a_proxy_that_refuses_is_named_without_its_password(
    tmp_path: Path, refuses: str, kind: ErrorKind, retryable: bool
) -> None:
    async with over_tls(tmp_path) as (url, transport), http_proxy(refuses=refuses) as proxy:
        given = proxy.url.replace("//", f"//{CREDENTIALS}@")
        endpoint = replace(endpoint_for("chat", base_url=url), proxy=given)
        with pytest.raises(ProviderError) as caught:
            await said(transport, endpoint)
    error = caught.value
    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.detail == f"the proxy refused to connect: {refuses}"


async def test_a_proxy_that_is_away_is_named_without_its_password() -> None:
    async with open_transport(lambda: NOW) as transport:
        endpoint = replace(
            endpoint_for("chat", base_url="https://a.example/v1"),
            proxy=f"http://{CREDENTIALS}@127.0.0.1:1",
            private=("canary/4711", "canary%2F4711"),
        )
        with pytest.raises(ProviderError) as caught:
            await said(transport, endpoint)
    assert (caught.value.kind, caught.value.retryable) == (ErrorKind.UNAVAILABLE, True)
    assert "127.0.0.1:1" in caught.value.detail
    assert "canary" not in f"{caught.value!r} {caught.value.detail}"


async def test_a_guarded_address_never_goes_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The guard lets the proxy's address pass here, so that only the rule itself protects."""
    endpoint = endpoint_for("chat", base_url="https://10.0.0.1/v1", guarded=True)
    with pytest.raises(AssertionError, match="without a proxy"):
        replace(endpoint, proxy="http://127.0.0.1:1")

    async def refuse(peer: Peer) -> None:
        peer.reset()

    async with (
        serving(refuse) as server,
        open_transport(lambda: NOW, allowed=lambda address: address == "127.0.0.1") as transport,
    ):
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, server.url)
        with pytest.raises(ProviderError, match="address not allowed"):
            await said(transport, endpoint)
        # A value that evades the check above is not used either.
        object.__setattr__(endpoint, "proxy", server.url)
        with pytest.raises(ProviderError, match="address not allowed"):
            await said(transport, endpoint)
        assert not server.requests
