"""A realm per test."""

from collections.abc import AsyncGenerator

import pytest

from holdfast.domain.policy import Principal
from tests.support.identity import Realm, a_realm


@pytest.fixture
async def realm(template: str) -> AsyncGenerator[Realm]:
    async with a_realm(template) as realm:
        yield realm


@pytest.fixture
async def admin(realm: Realm) -> Principal:
    return await realm.found()
