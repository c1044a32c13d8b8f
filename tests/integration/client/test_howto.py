"""What docs/how-to/sdk.md shows is run, top to bottom, as somebody would who reads it."""

import asyncio
import re
import sys
from pathlib import Path

from tests.support.web import Cell

PAGE = (Path(__file__).parents[3] / "docs/how-to/sdk.md").read_text(encoding="utf-8")
PRINTED = """hello there
{parts} = one two three
2 messages
four five
It is 7.
True
chat_not_found
"""


async def test_every_block_of_the_page_runs(cell: Cell, token: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == PAGE.count("```") // 2 == 5

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "\n".join(blocks),
        env={"HOLDFAST_URL": cell.urls[0], "HOLDFAST_TOKEN": token},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(100):
        out, err = await process.communicate()

    printed = out.decode()
    assert process.returncode == 0, err.decode()
    parts = printed.splitlines()[1].partition(" =")[0] if printed.count("\n") > 1 else ""
    assert "one two three".startswith(parts)
    assert printed == PRINTED.format(parts=parts)
