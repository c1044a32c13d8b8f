"""What docs/how-to/sdk.md shows is run, top to bottom, as a reader of the page would."""

import asyncio
import os
import re
import sys
from pathlib import Path

from tests.support.web import Cell

PAGE = (Path(__file__).parents[3] / "docs/how-to/sdk.md").read_text(encoding="utf-8")
PRINTED = """hello there stop
hello again
one two three = one two three
It is 7.
user wrote True
assistant wrote True
idle
four five
[1, 2, 3, 4]
precondition_failed Kelp
['Kelp']
chat_not_found 404 False True
tested
"""


async def test_every_block_of_the_page_runs(cell: Cell, token: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == PAGE.count("```python") == PAGE.count("```") // 2 - 1 == 6

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "\n".join(blocks),
        env={**os.environ, "HOLDFAST_URL": cell.urls[0], "HOLDFAST_API_KEY": token},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(100):
        out, err = await process.communicate()

    printed = out.decode()
    assert process.returncode == 0, err.decode()
    assert printed == PRINTED
