"""What `pip install holdfast-client` brings, and how the package names itself."""

import re
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from holdfast_client import ConfigurationError, __version__, testing
from holdfast_client.version import USER_AGENT

DIRECT = {"httpx2", "pydantic", "pydantic-core"}
ALL_MAX = 11
"""Beside itself: the three, and what they need."""


def required(name: str) -> set[str]:
    """By a package without its extras, on this machine."""
    found = [Requirement(each) for each in metadata.requires(name) or []]
    used = (each for each in found if each.marker is None or each.marker.evaluate())
    return {canonicalize_name(each.name) for each in used}


def closure(name: str) -> set[str]:
    seen: set[str] = set()
    left = [name]
    while left:
        new = required(left.pop()) - seen
        seen |= new
        left += new
    return seen


def test_it_brings_few_packages() -> None:
    assert required("holdfast-client") == DIRECT
    brought = closure("holdfast-client")
    assert len(brought) <= ALL_MAX, sorted(brought)
    assert brought >= DIRECT | {"anyio", "h11"}, "the ones of others are counted, too"


def test_it_says_its_version_to_servers() -> None:
    assert __version__ == metadata.version("holdfast-client")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"holdfast-client/{__version__} python/{python}" == USER_AGENT
    assert re.fullmatch(r"[\w./ -]+", USER_AGENT)


def test_a_server_for_tests_needs_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        return None

    monkeypatch.setattr(testing, "find_spec", missing)
    with (
        pytest.raises(ConfigurationError, match="pip install holdfast"),
        testing.running_server(),
    ):
        pass


def test_there_is_a_fixture_for_pytest() -> None:
    assert type(testing.holdfast_server).__name__ == "FixtureFunctionDefinition"
