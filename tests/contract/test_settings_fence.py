"""A hard stop of the settings: no attempt begins in a process that does not know it (ADR 0056)."""

from collections.abc import AsyncGenerator

import pytest

from holdfast.domain.commands import BeginAttempt, CommitStep, Fail, FinishTurn, RecordRetry
from holdfast.domain.ids import OrgId, UserId
from tests.support.builders import ORG, OWNER, asks, backoff, error, reply, user
from tests.support.database import add_user, cloned_pool
from tests.support.known_settings import KnownSettings
from tests.support.world import World, postgres_world


@pytest.fixture
async def world(template: str) -> AsyncGenerator[World]:
    async with cloned_pool(template, connections_max=8) as pool:
        await add_user(pool, ORG, OWNER)
        yield postgres_world(pool)


def settings_of(world: World) -> KnownSettings:
    assert world.settings is not None
    return world.settings


async def test_attempt_under_older_settings_is_refused_until_they_are_read(world: World) -> None:
    settings, chat = settings_of(world), await world.running(user())
    await settings.change()
    commit = await world.drive(chat, BeginAttempt())
    assert commit.chat.attempt == chat.attempt + 1, "the ledger tried again"
    assert (settings.known, settings.refreshes) == (1, 1), "with settings that were read first"
    await world.drive(commit.chat, BeginAttempt())
    assert settings.refreshes == 1, "the next attempt asks for nothing"


async def test_store_refuses_what_begins_an_attempt_and_nothing_else(world: World) -> None:
    settings, chat = settings_of(world), await world.running(user())
    await settings.change()
    chat = (await world.drive(chat, CommitStep((asks(),)))).chat
    chat = (await world.drive(chat, RecordRetry(backoff()))).chat
    assert settings.refreshes == 0, "words of the model are stored whatever admins do"
    step = (CommitStep((reply(),)), BeginAttempt())
    await world.drive((await world.running(user())), *step)
    assert settings.refreshes == 1, "an attempt that rides on a step is one"
    await settings.change()
    await world.drive(await world.running(user()), Fail(error()))
    await world.drive(await world.running(user()), CommitStep((reply(),)), FinishTurn())
    assert settings.refreshes == 1


async def test_change_that_forbids_nothing_refuses_nothing(world: World) -> None:
    settings, chat = settings_of(world), await world.running(user())
    await settings.change(stops=False)
    await world.drive(chat, BeginAttempt())
    assert settings.refreshes == 0


async def test_hard_stop_of_another_organisation_refuses_nothing(world: World) -> None:
    await settings_of(world).change()
    other, owner = OrgId(world.ids.new_chat_id()), UserId(world.ids.new_chat_id())
    await world.add_owner(other, owner)
    chat = await world.create(user(), owner=owner, org=other)
    acquired = await world.acquire(await world.a_worker())
    (mine,) = [each for each in acquired if each.chat_id == chat.chat_id]
    await world.drive(mine, BeginAttempt())
    assert settings_of(world).refreshes == 0
