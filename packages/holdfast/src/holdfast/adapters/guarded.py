"""Connections to addresses that a user or a model chose: only public ones.

A name is resolved once and refused if any of its addresses is not public; the connection goes to an
address that was checked. Each socket is checked again as it is made, because aiohttp does not ask
its resolver about IP literals.
"""

import socket
from collections.abc import Callable
from typing import Any, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from holdfast_agent.addresses import is_public

AddressInfo: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]


class AddressRefused(OSError):
    """An address that a guarded request may not reach."""


class GuardedResolver(AbstractResolver):
    """Resolves only names whose every address is public."""

    def __init__(self, inner: AbstractResolver, allowed: Callable[[str], bool] = is_public) -> None:
        self._inner = inner
        self._allowed = allowed

    async def resolve(  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not found or not all(self._allowed(address["host"]) for address in found):
            # The same words for every address: the error must not map the operator's network.
            raise AddressRefused("address not allowed")
        return found

    async def close(self) -> None:  # pyright: ignore[reportImplicitOverride]
        await self._inner.close()


def guarded_socket(
    allowed: Callable[[str], bool] = is_public,
) -> Callable[[AddressInfo], socket.socket]:
    """A socket factory that looks at the address once more, right before connecting."""

    def make(info: AddressInfo) -> socket.socket:
        family, kind, proto, _, address = info
        if not allowed(str(address[0])):
            raise AddressRefused("address not allowed")
        return socket.socket(family, kind, proto)

    return make


def guarded_connector(
    connections_max: int,
    resolver: AbstractResolver | None = None,
    allowed: Callable[[str], bool] = is_public,
) -> aiohttp.TCPConnector:
    """A connector of which every connection goes to an allowed address."""
    return aiohttp.TCPConnector(
        limit=connections_max,
        resolver=GuardedResolver(resolver or aiohttp.ThreadedResolver(), allowed),
        socket_factory=guarded_socket(allowed),
        use_dns_cache=False,
    )
