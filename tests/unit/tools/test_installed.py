"""Tool sources that other distributions install, as importlib.metadata finds them."""

import logging
from dataclasses import replace

import pytest

from holdfast.bootstrap.adapters import tools_of
from holdfast.domain.client_tools import ClientTool
from holdfast.ports.tools import ToolContext
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.builtin import Builtin
from holdfast.tools.client import ClientTools
from holdfast.tools.installed import installed
from tests.support.builders import a_chat
from tests.support.doubles import HandClock
from tests.support.packages import Install
from tests.support.packages import install as install

CLIENT_TOOL = ClientTool(name="of_the_client", description=".", schema={"type": "object"})
MODULE = """
from holdfast.ports.tools import Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Function, Functions

async def run(run: Run) -> ToolOutput:
    return ToolOutput("ran")

def tools() -> Functions:
    return Functions(Function(ToolSpec(name={tool!r}, description="."), run))
"""
BROKEN = """
class Broken:
    names = frozenset({"a"})
    def open(self, context):
        raise OSError("no")

tools = Broken
"""
UNDECLARED = """
offered = tools()
offered.names = frozenset({"read"})
def tools() -> Functions:
    return offered
"""


def left_out(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def test_installed_source_is_offered_between_the_own_tools_and_those_of_the_chat(
    install: Install,
) -> None:
    install("hf_dictionary", "dictionary", MODULE.format(tool="look_up"))
    tools = tools_of(HandClock(), None, Metrics())
    assert tools.names == {"clock", "update_plan", "ask_user", "look_up"}
    chat = replace(a_chat(), tools=(CLIENT_TOOL,))
    async with tools.open(ToolContext(chat)) as toolbox:
        assert list(toolbox.specs) == [
            "clock",
            "update_plan",
            "ask_user",
            "look_up",
            "of_the_client",
        ]
        assert await toolbox.sections() == []


async def test_installed_source_with_a_tool_that_it_did_not_declare_is_left_out(
    install: Install,
) -> None:
    source = MODULE.format(tool="look_up") + UNDECLARED
    install("hf_dictionary", "dictionary", source)
    async with tools_of(HandClock(), None, Metrics()).open(ToolContext(a_chat())) as toolbox:
        assert list(toolbox.specs) == ["clock", "update_plan", "ask_user"]
        (words,) = await toolbox.sections()
    assert "dictionary failed to open (UndeclaredTools)" in words


async def test_without_installed_packages_the_tools_are_the_own_ones() -> None:
    tools = tools_of(HandClock(), None, Metrics())
    async with tools.open(ToolContext(a_chat())) as toolbox:
        assert list(toolbox.specs) == ["clock", "update_plan", "ask_user"]


async def test_installed_source_that_fails_to_open_is_counted_in_the_metrics(
    install: Install,
) -> None:
    install("hf_broken", "broken", BROKEN)
    metrics = Metrics()
    async with tools_of(HandClock(), None, metrics).open(ToolContext(a_chat())) as toolbox:
        assert list(toolbox.specs) == ["clock", "update_plan", "ask_user"]
        (words,) = await toolbox.sections()
    assert "not available now: a, because broken failed to open (OSError)" in words
    assert metrics.value("holdfast_tool_sources_left_out_total") == 1


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        ("dictionary", "import hf_missing_dependency", "hf_missing_dependency"),
        ("dictionary", "", "has no attribute 'tools'"),
        ("dictionary", "def tools(): raise OSError('no licence')", "no licence"),
        ("dictionary", "def tools(): return 7", "int, which is no Tools"),
        ("dictionary", MODULE.format(tool="clock"), "the source builtin has a tool called clock"),
        ("dictionary", MODULE.format(tool="look up"), "'look up' is no name of a tool"),
        ("client", MODULE.format(tool="look_up"), "another source is called client"),
    ],
)
def test_source_that_cannot_be_used_is_left_out_and_named_in_the_log(
    install: Install, caplog: pytest.LogCaptureFixture, name: str, source: str, why: str
) -> None:
    install("hf_dictionary", name, source)
    install("hf_good", "good", MODULE.format(tool="good"))
    found = installed({"builtin": Builtin(HandClock()), "client": ClientTools()})
    assert list(found) == ["good"]
    (line,) = left_out(caplog)
    assert f"source {name} of package hf_dictionary is left out" in line
    assert why in line


def test_of_two_installed_sources_with_one_tool_name_the_first_is_used(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install("hf_b", "b", MODULE.format(tool="same"))
    install("hf_a", "a", MODULE.format(tool="same"))
    assert list(installed({})) == ["a"]
    (line,) = left_out(caplog)
    assert "the source a has a tool called same" in line
