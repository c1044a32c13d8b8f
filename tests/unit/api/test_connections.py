"""Connections are counted by process and by client address."""

import pytest

from holdfast.api.connections import PROBES_AT_ONCE_MAX, Connections
from holdfast.api.errors import Overloaded, TooManyConnections
from tests.requirements import requirement


def is_refused(connections: Connections, address: str | None) -> bool:
    try:
        connections.enter(address)
    except (Overloaded, TooManyConnections):
        return True
    return False


@requirement("L142")
@pytest.mark.parametrize(
    ("held", "comes", "refused"),
    [
        ("203.0.113.9", "203.0.113.9", True),
        ("203.0.113.9", "203.0.113.10", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:203.0.113.9", "203.0.113.9", True),
        ("::1", "::1", True),
        (None, None, False),
    ],
)
def test_one_client_is_one_address_or_one_ipv6_network(
    held: str | None, comes: str | None, refused: bool
) -> None:
    connections = Connections(address_max=1)
    connections.enter(held)
    assert is_refused(connections, comes) is refused


@pytest.mark.parametrize(
    ("trusted", "address", "refused"),
    [
        ("10.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", "10.0.0.2", True),
        ("192.0.2.1, 10.0.0.0/8", "10.9.9.9", False),
        ("*", "203.0.113.9", False),
        ("2001:db8::1", "2001:db8::1", False),
        ("2001:db8::1:0/112", "2001:db8::1:7", False),
        ("2001:db8::1:0/112", "2001:db8::2:7", True),
        ("", "127.0.0.1", True),
        ("proxy.example", "10.0.0.1", True),
    ],
)
def test_a_trusted_proxy_is_not_bounded_as_an_address(
    trusted: str, address: str, refused: bool
) -> None:
    connections = Connections(address_max=1, trusted_proxies=trusted)
    connections.enter(address)
    assert is_refused(connections, address) is refused


def test_a_trusted_proxy_is_bounded_by_the_process() -> None:
    connections = Connections(process_max=1, address_max=1, trusted_proxies="10.0.0.1")
    connections.enter("10.0.0.1")
    assert is_refused(connections, "10.0.0.1")


def test_a_released_connection_is_counted_no_longer() -> None:
    connections = Connections(process_max=1, address_max=1)
    release = connections.enter("203.0.113.9")
    assert is_refused(connections, "203.0.113.9")
    release()
    assert connections.counters.open == 0
    assert not is_refused(connections, "203.0.113.9")


def test_zero_is_no_bound() -> None:
    connections = Connections()
    assert not any(is_refused(connections, "203.0.113.9") for _ in range(5_000))


def test_a_full_process_still_takes_some_probes() -> None:
    connections = Connections(process_max=1)
    connections.enter("203.0.113.9")
    leave = [connections.enter_for_probe() for _ in range(PROBES_AT_ONCE_MAX)]
    assert connections.enter_for_probe() is None
    first = leave[0]
    assert first is not None
    first()
    assert connections.enter_for_probe() is not None
    assert connections.counters.open == 1, "a probe takes no place of a client"
