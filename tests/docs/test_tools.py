"""The example of the page about tools, as it stands there."""

import tomllib

import pytest

from holdfast.bootstrap.adapters import tools_of
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Run, ToolContext, ToolOutput
from holdfast.telemetry.metrics import Metrics
from holdfast.tools.installed import GROUP
from tests.docs import pages
from tests.support.builders import a_chat
from tests.support.doubles import HandClock
from tests.support.packages import Install
from tests.support.packages import install as install


def block(language: str) -> str:
    page = (pages.DOCS / "how-to" / "write-a-tool.md").read_text()
    return page.split(f"```{language}\n")[1].split("```")[0]


@pytest.fixture
def package(install: Install) -> None:
    """The package of the page, installed with the entry point of its pyproject.toml."""
    project = tomllib.loads(block("toml"))["project"]
    ((name, factory),) = project["entry-points"][GROUP].items()
    assert factory == "house_dictionary:tools"
    install("house_dictionary", name, block("python"))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("word", "output"),
    [
        ("kelp", ToolOutput("A large brown alga.")),
        ("kelps", ToolOutput("'kelps' is not in the dictionary. Try its plain form.", failed=True)),
    ],
)
async def test_the_tool_of_the_page_runs_beside_others(word: str, output: ToolOutput) -> None:
    call = ToolCall(CallId("c"), "look_up", {"word": word})
    chat = a_chat()
    async with tools_of(HandClock(), None, Metrics()).open(ToolContext(chat)) as toolbox:
        assert "look_up" in toolbox.specs
        said: list[str] = []
        assert await toolbox.run(Run(chat=chat, call=call, key="1.c", emit=said.append)) == output
