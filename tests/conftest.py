"""Fixtures that every suite shares, and the manifest of requirements."""

from collections.abc import AsyncGenerator
from typing import Final

import pytest
import pytest_asyncio
from hypothesis import settings

from holdfast.cli.process import allow_files
from holdfast.db.pool import Pool
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, cloned_pool, migrated_template
from tests.support.tiers import SEED_NAME, set_seed

pytest_plugins = ["tests.requirements.plugin"]

allow_files()  # hundreds of readers, in the process of a test and in those that it starts

# How long an example takes says how busy the machine is.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")

SEED: Final = set_seed()


def pytest_report_header() -> str:
    return f"seed: {SEED} (again: {SEED_NAME}={SEED})"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module go to one worker of xdist, so that it is made
    once; every other test goes wherever a worker is free (`--dist loadgroup`)."""
    for item in items:
        if shares_a_fixture(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::", 1)[0]))


def shares_a_fixture(item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    fixtures = (each[-1] for each in info.name2fixturedefs.values())
    return any(fixture.scope in {"module", "class", "package"} for fixture in fixtures)


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
