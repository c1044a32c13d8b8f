"""Clients generated from openapi.json have correct types, and run a turn."""

import asyncio
import importlib
import inspect
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from tests.support.web import Cell

ROOT = Path(__file__).resolve().parents[3]
CONTRACT = ROOT / "docs" / "reference" / "openapi.json"
MODULES = ROOT / "ui" / "node_modules"
TURN = Path(__file__).with_name("turn.ts")
PACKAGE = "generated_holdfast"
PROMPT = 'Hello [[sim: say "Kelp is brown."]]'
LIMIT_S = 300
TYPES = {"include": [f"{PACKAGE}/api", f"{PACKAGE}/models", f"{PACKAGE}/types.py"]}
"""Not its `client.py`, which is the same for every contract."""
CHECKED = ("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck")

pytestmark = pytest.mark.timeout(LIMIT_S + 60)


async def run(*command: str, cwd: Path) -> str:
    """What a command prints; fails with all of it if the command does."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(LIMIT_S):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.fixture
async def python_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[ModuleType]:
    config = Config.from_sources(
        ConfigFile(post_hooks=[]),
        MetaType.NONE,
        document_source=CONTRACT,
        file_encoding="utf-8",
        overwrite=False,
        output_path=tmp_path / PACKAGE,
    )
    errors = await asyncio.to_thread(generate, config=config)
    assert list(errors) == [], "every schema and every route is in the client"
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield importlib.import_module(PACKAGE)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def operation(name: str) -> Callable[..., Awaitable[Any]]:
    """The function of an operation: its tag and its id are its module."""
    return importlib.import_module(f"{PACKAGE}.api.{name}").asyncio_detailed


async def test_a_python_client_runs_a_turn(
    python_client: ModuleType, cell: Cell, token: str
) -> None:
    create = operation("chats.create_chat")
    get = operation("chats.get_chat")
    messages = operation("messages.list_messages")
    body = inspect.signature(create).parameters["body"].annotation

    async with (
        asyncio.timeout(LIMIT_S),
        python_client.AuthenticatedClient(base_url=cell.urls[0], token=token) as client,
    ):
        made = await create(client=client, body=body.from_dict({"message": {"text": PROMPT}}))
        assert made.status_code == 201, made.content
        chat_id = made.parsed.chat_id
        await cell.admin.until(chat_id, "idle")
        assert (await get(chat_id, client=client)).parsed.to_dict()["status"] == "idle"
        page = (await messages(chat_id, client=client)).parsed.to_dict()

    said = orjson.loads(orjson.dumps(page))
    assert "Kelp is brown." in str(said)


async def test_a_python_client_has_correct_types(python_client: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_bytes(orjson.dumps(TYPES))
    pyright = Path(sys.executable).with_name("pyright")
    told = await run(str(pyright), "--pythonpath", sys.executable, cwd=tmp_path)
    assert "0 errors" in told


async def test_a_typescript_client_has_correct_types_and_runs_a_turn(
    cell: Cell, token: str, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(TURN, tmp_path)
    programs = MODULES / ".bin"
    command = (str(CONTRACT), "--output", "schema.d.ts", "--default-non-nullable", "false")
    await run(str(programs / "openapi-typescript"), *command, cwd=tmp_path)
    await run(str(programs / "tsc"), *CHECKED, "turn.ts", cwd=tmp_path)

    told = await run("node", "turn.js", cell.urls[0], token, PROMPT, cwd=tmp_path)

    assert "Kelp is brown." in str(orjson.loads(told))
