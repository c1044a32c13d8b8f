"""A folder as a workspace, and the tools on it."""

from pathlib import Path

import pytest

from tests.support.agent_files import Place, place_in
from tests.support.ergonomics import FolderAgent


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


@pytest.fixture
def agent(place: Place) -> FolderAgent:
    return FolderAgent(place.beneath)
