"""A server with a script, once per file of tests, and somebody's command line for it."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from holdfast.bootstrap import Adapters
from holdfast.domain.parts import Need
from holdfast.ports.tools import Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Combined, Function, Functions
from holdfast_simulator.script import parse_script
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli
from tests.support.web import OUR_ORIGIN, Cell, a_cell

FILE_S: Final = 900.0
"""The server lives as long as all tests of a file take."""
SLOW: Final = "count=kelp:4000 | rate=40"
PAY: Final = 'call pay {"to": "Ada\\u202elugraB", "sum": 5, "note": "two\\nlines"}'
ASK: Final = (
    'call ask_user {"questions": [{"question": "Which database?", "options":'
    ' [{"label": "PostgreSQL", "detail": "As now."}, {"label": "SQLite"}]},'
    ' {"question": "Which port?"}]}'
)
SCRIPT: Final = parse_script(
    {
        "steps": [
            {
                "when": {"prompt": "What time", "step": 0},
                "do": [
                    'think "The person wants to know the time, so I had better have a look at the'
                    ' clock that is at hand."',
                    'say "Let me look at the clock."',
                    "call clock {}",
                ],
            },
            {
                "when": {"prompt": "What time", "step": 1},
                "do": 'say "It is **late**.\\n\\n1. Go to bed, and do not read this long line'
                ' to its end, which is beyond any margin.\\n2. Sleep."',
            },
            {"when": {"prompt": "slowly"}, "do": SLOW},
            {"when": {"prompt": "think first"}, "do": f"{SLOW} | latency=60000"},
            {"when": {"prompt": "look it up", "step": 0}, "do": 'call look_up {"word": "kelp"}'},
            {"when": {"prompt": "look it up", "step": 1}, "do": 'say "So it is."'},
            {"when": {"prompt": "pay", "step": 0}, "do": PAY},
            {"when": {"prompt": "pay", "step": 1}, "do": 'say "That is settled."'},
            {"when": {"prompt": "ask me", "step": 0}, "do": ASK},
            {"when": {"prompt": "ask me", "step": 1}, "do": 'say "So be it."'},
            {"when": {"prompt": "be refused"}, "do": "fault=unauthorized"},
            {"when": {"prompt": "be busy"}, "do": 'say "Now I can." | fault=overloaded | times=1'},
            {"when": {"prompt": "."}, "do": 'say "Hello there."'},
        ]
    }
)


def with_a_purse(adapters: Adapters) -> Adapters:
    """A tool that needs approval."""

    async def pay(_run: Run) -> ToolOutput:
        return ToolOutput("paid")

    spec = ToolSpec(name="pay", description="Pays.", schema={"type": "object"}, needs=Need.APPROVAL)
    own = Functions(Function(spec, pay))
    return replace(adapters, tools=Combined(own, adapters.tools))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(template: str) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config(script=SCRIPT, hang_max_s=20)) as simulator,
        a_cell(
            Replicas(url, simulator), around=with_a_purse, origins=OUR_ORIGIN, within_s=FILE_S
        ) as cell,
    ):
        yield cell


@pytest.fixture
def cli(server: Cell, tmp_path: Path) -> Cli:
    """As the admin, by the environment."""
    return Cli(tmp_path, server.admin.url, server.admin.headers["authorization"].split()[1])
