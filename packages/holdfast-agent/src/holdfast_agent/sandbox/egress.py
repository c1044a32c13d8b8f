"""The way out of a workspace: an HTTP proxy that connects to the hosts on a list, and to no other.

It knows CONNECT (for HTTPS and whatever else goes through) and plain `http://` requests. A host is
compared with the list by name; then *every* address that the name has is checked, and a checked one
is connected to, so that a name cannot be pointed at an internal network meanwhile. An address
instead of a name is never on the list. Each connection has bounds on its bytes and its silence.
"""

import asyncio
import ipaddress
import logging
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from holdfast_agent.addresses import is_public
from holdfast_agent.sandbox.options import SandboxOptions

_LOG: Final = logging.getLogger(__name__)
HEAD_BYTES_MAX: Final = 32 * 1024
_PIECE_BYTES: Final = 64 * 1024
_HEAD_S: Final = 15.0
_CONNECT_S: Final = 10.0
_ADDRESSES_TRIED_MAX: Final = 4
_SILENCE_S: Final = 300.0
_AT_ONCE_MAX: Final = 128
_HOSTS_COUNTED_MAX: Final = 200
_METADATA_V6: Final = "fd00:ec2::254"  # a cloud's metadata, within the range of private networks
_USUAL_PORTS: Final = frozenset({80, 443})
_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "te", "upgrade", "host"})


class Denied(Exception):
    """The text is for the client that asked."""

    def __init__(self, status: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


@dataclass(frozen=True, slots=True)
class HostRule:
    """`example.com`, `*.example.org` (whatever lies beneath, not itself), either with `:port`."""

    name: str
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "HostRule":
        name, colon, port = text.strip().lower().rpartition(":")
        if not colon:
            name, port = port, ""
        plain = name.removeprefix("*.")
        if not plain or "*" in plain or "/" in plain or (port and not port.isdecimal()):
            raise ValueError(f"{text!r} is no host: write `example.org`, `*.example.org` or `h:80`")
        return cls(name.rstrip("."), int(port) if port else None)

    def admits(self, host: str, port: int) -> bool:
        if port != self.port if self.port is not None else port not in _USUAL_PORTS:
            return False
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return host == self.name


@dataclass(frozen=True, slots=True)
class EgressRules:
    public: tuple[HostRule, ...] = ()
    private: tuple[HostRule, ...] = ()
    """These may have private addresses, but never a link-local one: clouds keep secrets there."""
    upload_bytes_max: int = 64 * 1024 * 1024
    download_bytes_max: int = 1024 * 1024 * 1024

    async def addresses_of(self, host: str, port: int) -> Sequence[str]:
        """Where to connect to, first come first. Raises `Denied`."""
        host = host.lower().rstrip(".")
        may_be_private = any(rule.admits(host, port) for rule in self.private)
        if _is_address(host) or not (
            may_be_private or any(rule.admits(host, port) for rule in self.public)
        ):
            raise Denied(
                "403 Forbidden",
                f"{host}:{port} is not among the hosts that this workspace may reach. Work without "
                "it, or ask the administrator to add it to the agent's --allow-host list.",
            )
        addresses = await _resolved(host, port)
        closed = [each for each in addresses if not _is_open(each, may_be_private=may_be_private)]
        if closed:
            raise Denied(
                "403 Forbidden",
                f"{host} leads to {closed[0]}, an address of an inner network. If it is yours and "
                "meant to be reached, the administrator can add it with --private-host.",
            )
        return addresses


@dataclass(slots=True)
class EgressCounts:
    allowed: int = 0
    denied: int = 0
    denied_hosts: Counter[str] = field(default_factory=Counter[str])
    """The first few hundred; who tries more names than that is only counted."""


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    host: str
    port: int
    onwards: bytes
    """What the other side is sent first: nothing for CONNECT."""


class EgressProxy:
    def __init__(self, rules: EgressRules) -> None:
        self.rules = rules
        self._open: set[asyncio.StreamWriter] = set()
        self._tells = True
        self.counts = EgressCounts()

    @contextmanager
    def unwatched(self) -> Generator[None]:
        """During the self-attack: its denied connections are neither counted nor logged."""
        kept, self.counts, self._tells = self.counts, EgressCounts(), False
        try:
            yield
        finally:
            self.counts, self._tells = kept, True

    def close(self) -> None:
        for writer in tuple(self._open):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            await self._pass(reader, writer)
        except Denied as denied:
            await _answer(writer, denied)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # either side went away, or was silent for too long: no client is left to answer
        finally:
            self._open.discard(writer)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) > _AT_ONCE_MAX:
            raise Denied("503 Service Unavailable", "Too many connections at once: try again.")
        async with asyncio.timeout(_HEAD_S):
            asked = _parse(await reader.readuntil(b"\r\n\r\n"))
        try:
            addresses = await self.rules.addresses_of(asked.host, asked.port)
        except Denied:
            self._count_denied(f"{asked.host}:{asked.port}")
            raise
        self.counts.allowed += 1
        far_reader, far_writer = await _connected(asked, addresses)
        try:
            if asked.method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_writer.write(asked.onwards)
            async with asyncio.TaskGroup() as both:
                both.create_task(_relay(reader, far_writer, self.rules.upload_bytes_max))
                both.create_task(_relay(far_reader, writer, self.rules.download_bytes_max))
        except* (OSError, TimeoutError):
            pass
        finally:
            far_writer.close()

    def _count_denied(self, target: str) -> None:
        self.counts.denied += 1
        known = self.counts.denied_hosts
        if target in known or len(known) < _HOSTS_COUNTED_MAX:
            known[target] += 1
            if (
                known[target] == 1 and self._tells
            ):  # once a host: a loop inside must not fill our log
                _LOG.warning("sandbox: egress denied: %s", target)


def egress_rules(options: SandboxOptions) -> EgressRules:
    """Raises ValueError for what is no host."""
    return EgressRules(
        tuple(HostRule.parse(text) for text in options.allow_hosts),
        tuple(HostRule.parse(text) for text in options.private_hosts),
        options.upload_bytes_max,
        options.download_bytes_max,
    )


@asynccontextmanager
async def open_egress(door: socket.socket, rules: EgressRules) -> AsyncGenerator[EgressProxy]:
    proxy = EgressProxy(rules)
    server = await asyncio.start_server(proxy.serve, sock=door.dup(), limit=HEAD_BYTES_MAX)
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()


def _parse(head: bytes) -> _Asked:
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = first.split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname, parts.port or (443 if method == "CONNECT" else 80)
    except ValueError:
        raise _nonsense() from None
    if not host or not host.isascii() or parts.username is not None:
        raise _nonsense()
    if method == "CONNECT":
        return _Asked(method, host, port, b"")
    if parts.scheme != "http":
        raise _nonsense()
    return _Asked(method, host, port, _rewritten(method, target, lines))


def _nonsense() -> Denied:
    words = "This is a proxy: send CONNECT host:port, or a whole http:// address."
    return Denied("400 Bad Request", words)


def _rewritten(method: str, target: str, lines: Sequence[str]) -> bytes:
    """The request as its host wants it. It is told to close afterwards: a second request on the
    same connection would be passed on unread."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [
        line
        for line in lines
        if line
        and (name := line.partition(":")[0].strip().lower()) not in _HOP_BY_HOP
        and not name.startswith("proxy-")
    ]
    head = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", *kept, "Connection: close"]
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")


async def _connected(
    asked: _Asked, addresses: Sequence[str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for address in addresses[:_ADDRESSES_TRIED_MAX]:
        try:
            async with asyncio.timeout(_CONNECT_S):
                return await asyncio.open_connection(address, asked.port)
        except (OSError, TimeoutError):
            continue
    raise Denied("502 Bad Gateway", f"{asked.host}:{asked.port} did not answer.")


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
    while True:
        async with asyncio.timeout(_SILENCE_S):
            piece = await reader.read(_PIECE_BYTES)
        left -= len(piece)
        if left < 0:
            raise ConnectionAbortedError("more bytes than one connection may carry")
        if not piece:
            break
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _answer(writer: asyncio.StreamWriter, denied: Denied) -> None:
    body = (denied.words + "\n").encode()
    head = (
        f"HTTP/1.1 {denied.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        writer.write(head.encode() + body)
        await writer.drain()
    except OSError:
        pass  # they did not wait for it


async def _resolved(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise Denied("502 Bad Gateway", f"The name {host} is not known here.") from None
    return [str(each[4][0]) for each in found]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_open(address: str, *, may_be_private: bool) -> bool:
    if not may_be_private:
        return is_public(address)
    parsed = ipaddress.ip_address(address)
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return not ((mapped or parsed).is_link_local or str(parsed) == _METADATA_V6)
