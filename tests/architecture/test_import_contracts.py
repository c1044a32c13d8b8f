"""The contracts of `[tool.importlinter]` hold, and each of them is seen to fail.

A contract that cannot fail protects nothing, so each needs a breaking example: one line in BREAKS.
All examples are put into one copy of the tree and linted once; each must be named in the report of
its own contract.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG: Final = ROOT / "pyproject.toml"
PACKAGES: Final = sorted(ROOT.glob("packages/*/src/holdfast*"))
LINT: Final = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"

INWARDS: Final = "Dependencies point inwards"
ADAPTERS: Final = "Adapters do not know each other"
PORTS: Final = "The application knows ports, never adapters"
SETTINGS: Final = "Settings are read at the composition root and passed down as values"
HALVES: Final = (
    "The serving half imports no worker: they meet in the database, on the bus, in LocalDispatch"
)
PURE: Final = "The domain is pure"
DOWNWARDS: Final = (
    "Distributions point downwards:"
    " the lab knows the server, client, agent and simulator know no other"
)
SIMULATOR: Final = "Only the command line and the lab start the simulator"
CLIENT: Final = "Only the command line and the lab use the client; providers use its SSE parser"
AIOHTTP: Final = "Only adapters, the agent, the simulator and the lab speak aiohttp"
RE2: Final = "Only one module knows RE2"
CRYPTO: Final = "Only identity hashes passwords and checks signed tokens"
HTTP: Final = "Only the API serves HTTP to people"
BRIDGE: Final = "Only its bridge speaks pydantic-ai"
CLOUDS: Final = "Only token sources load the clouds' credential libraries"
PROMETHEUS: Final = "Only telemetry speaks to Prometheus"
STRUCTLOG: Final = "Only telemetry knows structlog"
TRACES: Final = "Only telemetry and turn trace"
CODECS: Final = "Codecs do no I/O"
POSTGRESQL: Final = "Only its adapters and the lab speak PostgreSQL"
SECRETS: Final = "Only one module seals secrets"
REDIS: Final = "Only the bus and the lab speak Redis"
CLIENTS: Final = "Only the client speaks httpx2 and WebSocket as a client"
CYCLES: Final = "No import cycles between siblings"


@dataclass(frozen=True)
class Break:
    contract: str
    sentence: str
    files: Mapping[str, str]
    """New modules and what they say. A path that names no distribution is beneath `holdfast/`."""


BREAKS: Final = [
    Break(
        INWARDS,
        "postgres imports chats",
        {"adapters/postgres/new.py": "import holdfast.chats.ledger"},
    ),
    Break(
        ADAPTERS,
        "postgres imports bus",
        {"adapters/postgres/new.py": "import holdfast.adapters.bus.lossy"},
    ),
    Break(
        ADAPTERS,
        "bus imports postgres",
        {"adapters/bus/new.py": "import holdfast.adapters.postgres.pool"},
    ),
    Break(INWARDS, "a package without a place", {"utils/__init__.py": ""}),
    Break(
        PORTS, "chats imports postgres", {"chats/new.py": "import holdfast.adapters.postgres.store"}
    ),
    Break(PORTS, "chats imports bus", {"chats/new.py": "import holdfast.adapters.bus.lossy"}),
    Break(
        PORTS,
        "identity imports postgres",
        {"identity/new.py": "import holdfast.adapters.postgres.users"},
    ),
    Break(
        PORTS,
        "admin imports postgres",
        {"admin/new.py": "import holdfast.adapters.postgres.org_settings"},
    ),
    Break(INWARDS, "identity imports admin", {"identity/new.py": "import holdfast.admin.settings"}),
    Break(INWARDS, "identity imports chats", {"identity/new.py": "import holdfast.chats.ledger"}),
    Break(PORTS, "turn imports tools", {"turn/new.py": "import holdfast.tools"}),
    Break(HALVES, "stream imports turn", {"stream/new.py": "import holdfast.turn.retry"}),
    Break(SETTINGS, "chats imports settings", {"chats/new.py": "import holdfast.settings"}),
    Break(PURE, "domain imports asyncio", {"domain/new.py": "import asyncio"}),
    Break(POSTGRESQL, "chats imports asyncpg", {"chats/new.py": "import asyncpg"}),
    Break(SECRETS, "identity imports cryptography", {"identity/new.py": "import cryptography"}),
    Break(SIMULATOR, "chats starts it", {"chats/new.py": "import holdfast_simulator.server"}),
    Break(
        DOWNWARDS,
        "the simulator knows the domain",
        {"holdfast_simulator/new.py": "import holdfast.domain.chat"},
    ),
    Break(
        DOWNWARDS,
        "the server imports what attacks it",
        {"turn/new.py": "import holdfast_lab.chaos.mutants"},
    ),
    Break(
        DOWNWARDS,
        "the client imports the agent",
        {"holdfast_client/new.py": "import holdfast_agent.wire"},
    ),
    Break(AIOHTTP, "postgres imports aiohttp", {"adapters/postgres/new.py": "import aiohttp"}),
    Break(
        DOWNWARDS,
        "the agent knows the domain",
        {"holdfast_agent/new.py": "import holdfast.domain.chat"},
    ),
    Break(RE2, "api imports re2", {"api/new.py": "import re2"}),
    Break(CRYPTO, "postgres imports argon2", {"adapters/postgres/new.py": "import argon2"}),
    Break(HTTP, "chats imports fastapi", {"chats/new.py": "import fastapi"}),
    Break(HTTP, "bootstrap imports uvicorn", {"bootstrap/new.py": "import uvicorn"}),
    Break(INWARDS, "stream imports the api", {"stream/new.py": "import holdfast.api.dependencies"}),
    Break(PORTS, "api imports postgres", {"api/new.py": "import holdfast.adapters.postgres.store"}),
    Break(HALVES, "api imports worker", {"api/new.py": "import holdfast.worker.worker"}),
    Break(
        BRIDGE, "a wire imports pydantic-ai", {"adapters/providers/new.py": "import pydantic_ai"}
    ),
    Break(CLOUDS, "an endpoint imports botocore", {"adapters/providers/new.py": "import botocore"}),
    Break(CODECS, "a codec imports asyncio", {"adapters/providers/wires/new.py": "import asyncio"}),
    Break(PROMETHEUS, "worker counts by itself", {"worker/new.py": "import prometheus_client"}),
    Break(STRUCTLOG, "bus logs by itself", {"adapters/bus/new.py": "import structlog"}),
    Break(
        TRACES, "postgres traces", {"adapters/postgres/new.py": "from opentelemetry import trace"}
    ),
    Break(REDIS, "postgres imports redis", {"adapters/postgres/new.py": "import redis"}),
    Break(CLIENT, "the server imports its client", {"api/new.py": "import holdfast_client.events"}),
    Break(CLIENT, "bootstrap is no client", {"bootstrap/new.py": "import holdfast_client.sse"}),
    Break(
        DOWNWARDS,
        "the client imports the domain",
        {"holdfast_client/new.py": "import holdfast.domain.chat"},
    ),
    Break(
        DOWNWARDS,
        "the client imports the hub",
        {"holdfast_client/aio/new.py": "import holdfast.stream.hub"},
    ),
    Break(CLIENTS, "turn imports httpx2", {"turn/new.py": "import httpx2"}),
    Break(CLIENTS, "api imports websockets", {"api/new.py": "import websockets.client"}),
    Break(
        CYCLES,
        "two modules import each other",
        {"chats/new.py": "import holdfast.chats.old", "chats/old.py": "import holdfast.chats.new"},
    ),
]


def contracts() -> list[str]:
    pyproject: dict[str, Any] = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    return [contract["name"] for contract in pyproject["tool"]["importlinter"]["contracts"]]


@dataclass(frozen=True)
class Report:
    """What import-linter says: an exit code, a verdict and the evidence for each contract."""

    code: int
    verdicts: Mapping[str, str]
    evidence: Mapping[str, str]


def lint(*folders: Path) -> Report:
    """On the packages in `folders`."""
    done = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo", f"--config={CONFIG}"],
        cwd=folders[0],
        env={"PYTHONPATH": os.pathsep.join(map(str, folders)), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    verdicts = dict(re.findall(r"(?m)^(.+) (KEPT|BROKEN)\b", done.stdout))
    assert verdicts, done.stdout + done.stderr
    # Beneath "Broken contracts": each name, underlined, and what breaks it.
    pieces = re.split(r"(?m)^(.+)\n-+$", done.stdout)
    evidence = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return Report(done.returncode, verdicts, evidence)


def named_apart(number: int, each: Break) -> Mapping[str, str]:
    """Its files under names that no other example has: `db/new.py` becomes `db/new_7.py`."""

    def apart(text: str) -> str:
        return re.sub(r"\b(new|old|utils)\b", rf"\1_{number}", text)

    return {apart(path): apart(source) for path, source in each.files.items()}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What is said of a copy of the tree in which every example stands."""
    folder = tmp_path_factory.mktemp("broken")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(package, folder / package.name, ignore=ignored)
    for number, each in enumerate(BREAKS):
        for path, source in named_apart(number, each).items():
            file = folder / path if path.startswith("holdfast_") else folder / "holdfast" / path
            assert not file.exists()
            file.parent.mkdir(exist_ok=True)
            file.write_text(source + "\n")
    return lint(folder)


def test_the_contracts_hold() -> None:
    report = lint(*(package.parent for package in PACKAGES))

    assert (report.code, report.verdicts) == (0, dict.fromkeys(contracts(), "KEPT"))


def test_every_contract_has_a_breaking_example() -> None:
    assert {each.contract for each in BREAKS} == set(contracts())


def test_every_contract_is_seen_to_fail(broken: Report) -> None:
    assert broken.code != 0
    assert broken.verdicts == dict.fromkeys(contracts(), "BROKEN")


@pytest.mark.parametrize("number", range(len(BREAKS)), ids=[each.sentence for each in BREAKS])
def test_a_breaking_example_is_named_by_its_contract(broken: Report, number: int) -> None:
    each = BREAKS[number]
    path = next(iter(named_apart(number, each)))
    module = path.removesuffix(".py").removesuffix("/__init__").rsplit("/", 1)[-1]

    assert re.search(rf"\b{module}\b", broken.evidence[each.contract])
