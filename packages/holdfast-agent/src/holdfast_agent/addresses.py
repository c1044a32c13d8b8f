"""Which addresses a URL that a user set may lead to: public ones, and nothing else.

Own table, not `is_private`/`is_global`: those pass NAT64, 6to4, IPv4-compatible and multicast
addresses on some of the Python versions that we run on.
"""

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Final

_CLOSED_V4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, with the clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, with broadcast
        "168.63.129.16/32",  # Azure's host, a public number with a private meaning
    )
)
_OPEN_V6: Final = IPv6Network("2000::/3")
"""All that is routed on the internet today: whatever lies outside is refused unseen."""
_CLOSED_V6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, with Teredo and ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Whether an address, as a resolver gives it, is one on the open internet."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _CLOSED_V4)
    if parsed.scope_id is not None:
        return False
    return parsed in _OPEN_V6 and not any(parsed in network for network in _CLOSED_V6)
