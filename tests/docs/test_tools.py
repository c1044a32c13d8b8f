"""The example of the page about tools, as it stands there."""

from typing import Any

import pytest

from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Run, ToolContext, ToolOutput
from holdfast.tools.toolbox import Combined
from tests.docs import pages
from tests.support.builders import a_chat


def example() -> Any:
    page = (pages.DOCS / "how-to" / "write-a-tool.md").read_text()
    made: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], made)
    return made["TOOLS"]


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
    async with Combined(example()).open(ToolContext(chat)) as toolbox:
        assert "look_up" in toolbox.specs
        said: list[str] = []
        assert await toolbox.run(Run(chat=chat, call=call, key="1.c", emit=said.append)) == output
