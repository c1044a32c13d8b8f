"""How many connections a process and each client address may have open, counted before any request
is read."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

from holdfast.api.errors import Overloaded, TooManyConnections

PREFIX_OF_ONE_CLIENT: Final = 64
"""Bits of an IPv6 address: a client usually has a whole /64 to itself, and could use another
address for each connection."""

PROBES_AT_ONCE_MAX: Final = 64
"""Connections above the bounds that may only ask whether the process is alive: a process that is
full must not be taken for dead."""

Release: TypeAlias = Callable[[], None]


@dataclass(slots=True)
class ConnectionCounters:
    open: int = 0
    refused_process: int = 0
    refused_address: int = 0
    heads_refused: int = 0
    silent: int = 0


@dataclass(slots=True)
class Connections:
    """`process_max` and `address_max`: 0 is no bound. A trusted proxy is not bounded as an address,
    because its connections are those of all its clients."""

    process_max: int = 0
    address_max: int = 0
    trusted_proxies: str = ""
    counters: ConnectionCounters = field(default_factory=ConnectionCounters)
    _of_address: dict[str, int] = field(default_factory=dict[str, int])
    _probes: int = 0

    def enter(self, address: str | None) -> Release:
        """Count a connection until the returned function is called. `address` is the peer's; a peer
        without one (on a Unix socket) is not bounded by it.

        Raises `Overloaded` at the bound of the process, `TooManyConnections` at the client's."""
        counters = self.counters
        if 0 < self.process_max <= counters.open:
            raise Overloaded
        client = _client_of(address)
        held = self._of_address.get(client, 0)
        bounded = client != "" and 0 < self.address_max <= held
        if bounded and not _is_among({address or "", client}, self.trusted_proxies):
            raise TooManyConnections
        counters.open += 1
        self._of_address[client] = held + 1
        return partial(self._leave, client)

    def enter_for_probe(self) -> Release | None:
        """Count a connection above the bounds; None: there are too many of those, too."""
        if self._probes >= PROBES_AT_ONCE_MAX:
            return None
        self._probes += 1
        return self._leave_probe

    def count_refusal(self, *, of_address: bool) -> None:
        if of_address:
            self.counters.refused_address += 1
        else:
            self.counters.refused_process += 1

    def _leave_probe(self) -> None:
        self._probes -= 1

    def _leave(self, client: str) -> None:
        self.counters.open -= 1
        held = self._of_address[client] - 1
        if held:
            self._of_address[client] = held
        else:
            del self._of_address[client]


def _client_of(address: str | None) -> str:
    """What connections are counted by: an IPv4 address, or the network of an IPv6 address."""
    try:
        known = ip_address(address or "")
    except ValueError:
        return address or ""
    if not isinstance(known, IPv6Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    if known.is_loopback:
        return str(known)
    packed = int(known) >> PREFIX_OF_ONE_CLIENT << PREFIX_OF_ONE_CLIENT
    return str(IPv6Address(packed))


def _is_among(names: Collection[str], trusted: str) -> bool:
    """`names`: the peer's address, and what its connections are counted by. Read anew each time:
    only a client at its bound is looked up."""
    return any(
        _is_trusted(name, each.strip()) for each in trusted.split(",") for name in names if name
    )


def _is_trusted(name: str, trusted: str) -> bool:
    if trusted in {"*", name}:
        return True
    try:
        network = ip_network(trusted, strict=False)
        return ip_address(name) in network or _client_of(trusted) == name
    except ValueError:
        return False  # a name, or no address at all: uvicorn compares those as text, too
