"""Fixtures that every suite shares, and the manifest of requirements."""

from collections.abc import AsyncGenerator, Generator
from typing import Final

import pytest
import pytest_asyncio
from hypothesis import settings
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]

from holdfast.adapters.postgres.pool import Pool
from holdfast.cli.process import allow_files
from holdfast.identity.passwords import Passwords
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, cloned_pool, migrated_template
from tests.support.passwords import CHEAP
from tests.support.scheduling import ModulesTogether
from tests.support.tiers import SEED_NAME, set_seed

pytest_plugins = ["tests.requirements.plugin"]

allow_files()  # hundreds of readers, in the process of a test and in those that it starts

# How long an example takes says how busy the machine is.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")

SEED: Final = set_seed()


def pytest_report_header() -> str:
    return f"seed: {SEED} (again: {SEED_NAME}={SEED})"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ModulesTogether:
    """Of every run by several workers."""
    return ModulesTogether(config, log)


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> Generator[None]:
    """A server of a test hashes cheaply unless the test names other options: a hash as slow as the
    product's takes a quarter of a second of CPU for every user of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Passwords.__init__, "__defaults__", (CHEAP,))
        yield


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
