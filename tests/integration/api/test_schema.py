"""Requests made from the OpenAPI document by schemathesis: every answer is one that the document
has, and none is a mistake of ours.

`just schemathesis` does the same at length.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

EXAMPLES: Final = int(os.environ.get("HOLDFAST_SCHEMATHESIS_EXAMPLES", "3"))
SEED: Final = os.environ.get("HOLDFAST_SCHEMATHESIS_SEED", "1")
PHASES: Final = os.environ.get("HOLDFAST_SCHEMATHESIS_PHASES", "examples,fuzzing,stateful")
CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
ENDLESS: Final = "GET .*/(stream|watch)$"
"""Streams do not end by themselves; other tests read them."""
SELF_ENDING: Final = "DELETE .*/api-keys/|PATCH .*/users/|PUT .*/password"
"""What may end the credential that asks: on their own, after everything else."""
UNHURRIED: Final[dict[str, Any]] = {
    "rate_per_s": 1e6,
    "rate_burst": 10**6,
    "stranger_rate_burst": 10**6,
    "within_s": 36_000,
}


async def run(cell: Cell, folder: Path, *more: str) -> tuple[int | None, str]:
    command = Path(sys.executable).with_name("schemathesis")
    process = await asyncio.create_subprocess_exec(
        *(command, "run", f"{cell.admin.url}/api/v1/openapi.json"),
        *("--header", f"authorization: {cell.admin.headers['authorization']}"),
        *("--checks", ",".join(CHECKS), "--phases", PHASES, "--seed", SEED),
        *("--max-examples", str(EXAMPLES)),
        *("--generation-database", "none", "--suppress-health-check", "all", "--no-color"),
        *("--request-timeout", "60", "--warnings", "off", *more),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except BaseException:
        process.kill()
        raise
    return process.returncode, said.decode(errors="replace")


@pytest.mark.timeout(1_200)
@pytest.mark.nightly
@requirement("A4", "T23")
async def test_every_answer_is_one_that_the_document_has(empty: Replicas, tmp_path: Path) -> None:
    async with a_cell(empty, **UNHURRIED) as cell:
        status, said = await run(cell, tmp_path, "--exclude-name-regex", f"{ENDLESS}|{SELF_ENDING}")
        print(said)
        assert status == 0, said[-20_000:]
        # So that this was no run against a closed door.
        assert (await cell.admin.get("me")).status == 200
        assert len((await cell.admin.get("chats")).json["data"]) > 0
        assert len((await cell.admin.get("api-keys")).json["data"]) > 0

        status, said = await run(cell, tmp_path, "--include-name-regex", SELF_ENDING)
        print(said)
        assert status == 0, said[-20_000:]
