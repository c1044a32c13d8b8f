"""Providers, models and settings by both halves of the SDK, against a real server."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast_client import AsyncClient, errors
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell


@pytest.fixture
async def cell(template: str, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    key_file.chmod(0o600)
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), master_key_file=key_file) as cell,
    ):
        yield cell


async def test_providers_and_models_are_managed(client: AsyncClient, cell: Cell) -> None:
    providers, models = client.organization.providers, client.organization.models
    assert await providers.list() == []
    made = await providers.create(
        "acme",
        "simulator-anthropic",
        base_url=cell.replicas.simulator.url,
        key="canary-0123456789",
        settings={"headers": {"x-account": "one"}},
    )
    assert (made.name, made.has_key, made.key_last_four) == ("acme", True, "6789")
    assert made.secret_fields == ["headers", "key"]
    seen = providers.etag
    assert seen == made.etag == (await providers.list())[0].etag
    renamed = await providers.update(made.id, name="acme 2", if_match=seen)
    assert (renamed.name, renamed.has_key) == ("acme 2", True)
    with pytest.raises(errors.PreconditionFailedError):
        await providers.update(made.id, name="acme 3", if_match=seen)

    model = await models.create("added", made.id, settings={"model": "claude-sonnet-5"})
    assert model.id is not None
    assert (model.state, model.is_default, model.unavailable_reason) == ("available", False, None)
    said = await models.test(model.id)
    assert (said.answered, said.failure) == (True, None)
    reply = await client.chats.run('[[sim: say "hello"]]', model="added", timeout=60)
    assert reply.text == "hello"
    assert (await models.update(model.id, is_default=True)).is_default
    assert [each.name for each in await models.list() if each.is_default] == ["added"]
    assert (await models.retrieve(model.id)).purposes[0] == "general"
    off = await models.update(model.id, is_enabled=False, if_match=models.etag)
    assert off.unavailable_reason is not None
    assert "disabled" in off.unavailable_reason

    assert not (await providers.update(made.id, key=None)).has_key
    assert (await providers.retrieve(made.id)).name == "acme 2"
    await models.delete(model.id)
    assert [each.name for each in await models.list()] == ["sim"]
    with pytest.raises(errors.PreconditionFailedError):
        await providers.delete(made.id, if_match=seen)
    await providers.delete(made.id, if_match=providers.etag)
    with pytest.raises(errors.NotFoundError):
        await providers.retrieve(made.id)


async def test_settings_of_every_purpose(client: AsyncClient) -> None:
    settings = client.organization.settings
    told = await settings.update(title_model="sim", compaction_model="sim", max_steps_per_turn=9)
    assert (told.title_model, told.compaction_model, told.advisor_model) == ("sim", "sim", None)
    with pytest.raises(errors.APIStatusError):  # all or nothing
        await settings.update(max_steps_per_turn=8, advisor_model="none")
    assert (await settings.retrieve()).max_steps_per_turn == 9
    seen = settings.etag
    await settings.update(max_steps_per_turn=10, if_match=seen)
    with pytest.raises(errors.PreconditionFailedError):
        await settings.update(max_steps_per_turn=11, if_match=seen)
    assert (await settings.retrieve()).max_steps_per_turn == 10
    assert (await settings.update(title_model=None)).title_model is None
    (entry,) = [each async for each in client.organization.audit_log.list(limit=1)]
    assert entry.detail == {"before": '{"title_model":"sim"}', "after": '{"title_model":null}'}
