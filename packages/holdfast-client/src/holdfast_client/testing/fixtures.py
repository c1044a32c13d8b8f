"""Fixtures for pytest."""

from collections.abc import Generator

import pytest

from holdfast_client.testing import RunningServer, running_server


@pytest.fixture(scope="session")
def holdfast_server() -> Generator[RunningServer]:
    """One server for all tests of a session. They share it: let each make its own chats."""
    with running_server() as server:
        yield server
