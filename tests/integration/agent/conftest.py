"""One agent for many tests: each has a chat of its own, so that none sees another's processes."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from holdfast.adapters.workspaces.client import AgentClient
from tests.support.agents import Agent, running_agent


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Generator[Agent]:
    with running_agent(tmp_path_factory.mktemp("agent")) as agent:
        yield agent


@pytest.fixture
async def client(agent: Agent) -> AsyncGenerator[AgentClient]:
    async with AgentClient(agent.address) as client:
        yield client


@pytest.fixture
def chat(request: pytest.FixtureRequest) -> str:
    return str(request.function.__name__)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Short enough for a socket's name."""
    return tmp_path
