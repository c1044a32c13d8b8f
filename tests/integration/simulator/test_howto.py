"""What docs/how-to/simulate.md shows is run: its clients, its directive, its script, its faults."""

import asyncio
import re
from pathlib import Path

import pytest

from holdfast_simulator.directives import find
from holdfast_simulator.faults import Fault
from holdfast_simulator.jsons import loads
from holdfast_simulator.scenarios import SCENARIOS
from holdfast_simulator.script import parse_script
from holdfast_simulator.server import Simulator

PAGE = (Path(__file__).parents[3] / "docs/how-to/simulate.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
async def test_the_clients_of_the_page_work(
    simulator: Simulator, sdk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = [snippet for snippet in snippets("python") if f"from {sdk}" in snippet]
    names: dict[str, object] = {}

    def run() -> None:
        exec(code.replace("http://127.0.0.1:4010", simulator.url), names)  # our own page
        getattr(names["client"], "close")()  # noqa: B009 (of a type that only the page knows)

    async with asyncio.timeout(60):
        await asyncio.to_thread(run)
    assert capsys.readouterr().out
    assert [entry.status for entry in simulator.record] == [200]


def test_the_directive_and_the_script_of_the_page_are_read() -> None:
    directive = find(snippets("text")[0])
    assert directive is not None
    assert len(directive.steps) == 2
    parse_script(loads(snippets("json")[0]))


def test_every_fault_and_scenario_of_the_page_exists() -> None:
    listed = PAGE.partition("## Faults")[2].partition("Where a wire")[0]
    names = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+|redirect|gzip|drip|refusal)`", listed))
    assert len(names) > 15
    assert names <= set(Fault)
    shown = PAGE.partition("## Scenarios")[2].partition("Choose one")[0]
    assert set(re.findall(r"`([a-z-]+)`", shown)) == set(SCENARIOS)
