"""A server with a script, once per file of tests, and somebody's command line for it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from holdfast.simulator.script import parse_script
from holdfast.simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli
from tests.support.web import OUR_ORIGIN, Cell, a_cell

SLOW: Final = "words=4000 | rate=40"
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
            {"when": {"prompt": "be refused"}, "do": "fault=unauthorized"},
            {"when": {"prompt": "be busy"}, "do": 'say "Now I can." | fault=overloaded | times=1'},
            {"when": {"prompt": "."}, "do": 'say "Hello there."'},
        ]
    }
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(template: str) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config(script=SCRIPT, hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), origins=OUR_ORIGIN) as cell,
    ):
        yield cell


@pytest.fixture
def cli(server: Cell, tmp_path: Path) -> Cli:
    """As the admin, by the environment."""
    return Cli(tmp_path, server.admin.url, server.admin.headers["authorization"].split()[1])
