"""What a client is counted by: its IPv4 address, or the /64 network of its IPv6 address."""

from ipaddress import IPv6Address, IPv6Network
from typing import Final

PREFIX_OF_ONE_CLIENT: Final = 64
"""A client with one IPv6 address usually has 2⁶⁴ of them, and could use another for each guess."""


def network_of(address: str | None) -> str:
    """What is no IPv6 address stands for itself; "" for a client without an address."""
    try:
        known = IPv6Address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(IPv6Network((known, PREFIX_OF_ONE_CLIENT), strict=False))
