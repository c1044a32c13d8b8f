"""Fixtures that every suite shares, and the manifest of requirements."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from hypothesis import settings

from holdfast.cli.process import allow_files
from holdfast.db.pool import Pool
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, cloned_pool, migrated_template

pytest_plugins = ["tests.requirements.plugin"]

allow_files()  # hundreds of readers, in the process of a test and in those that it starts

# How long an example takes says how busy the machine is.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template() -> AsyncGenerator[str]:
    """A migrated database, made once per test process, to be cloned."""
    async with migrated_template() as name:
        yield name


@pytest.fixture
async def pool(template: str) -> AsyncGenerator[Pool]:
    """A pool on a database of the test's own, with one organisation and one user."""
    async with cloned_pool(template, connections_max=8) as pool:
        await add_user(pool, ORG, OWNER)
        yield pool
