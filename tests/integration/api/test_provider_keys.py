"""A user's own provider key over HTTP, with the SDK and the command line: never returned."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast_client import AsyncClient
from tests.integration.api.test_catalogue import PROVIDERS, served
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

KEY = "sk-canary-of-a-user-4713"
KEYS = "provider-keys"


@pytest.fixture
async def keyed(empty: Replicas, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with a_cell(empty, master_key_file=key_file) as cell:
        yield cell


async def test_a_key_is_set_listed_and_deleted_and_never_returned(keyed: Cell) -> None:
    admin = keyed.admin
    made = await admin.post(PROVIDERS, served(keyed))
    assert made.json["user_keys"] is False
    path = f"{KEYS}/{made.json['id']}"
    assert (await admin.get(KEYS)).json["data"] == []
    assert (await admin.ask("PUT", path, {"key": KEY})).status == 404
    allowed = await admin.ask("PATCH", f"{PROVIDERS}/{made.json['id']}", {"user_keys": True})
    assert (allowed.json["user_keys"], allowed.json["has_key"]) == (True, True)
    (listed,) = (await admin.get(KEYS)).json["data"]
    assert (listed["name"], listed["has_key"], listed["set_at"]) == ("acme", False, None)
    stored = await admin.ask("PUT", path, {"key": KEY})
    assert (stored.status, stored.json["has_key"]) == (200, True), stored.raw
    assert stored.json["set_at"] is not None
    for where in (KEYS, PROVIDERS, "organization/audit-log"):
        assert KEY.encode() not in (await admin.get(where)).raw
    assert KEY.encode() not in stored.raw
    assert (await admin.ask("DELETE", path)).status == 204
    assert (await admin.ask("DELETE", path)).status == 404


async def test_a_wrong_key_is_refused_without_quoting_it(keyed: Cell) -> None:
    admin = keyed.admin
    made = await admin.post(PROVIDERS, served(keyed, user_keys=True))
    path = f"{KEYS}/{made.json['id']}"
    for wrong in ("", KEY * 500, [KEY]):
        refused = await admin.ask("PUT", path, {"key": wrong})
        assert refused.status == 422
        assert KEY.encode() not in refused.raw


async def test_without_a_master_key_it_is_refused_in_words(cell: Cell) -> None:
    made = await cell.admin.post(PROVIDERS, served(cell, key=None, user_keys=True))
    refused = await cell.admin.ask("PUT", f"{KEYS}/{made.json['id']}", {"key": KEY})
    assert (refused.status, refused.json["code"]) == (409, "secrets_off")


async def test_the_sdk_sets_and_deletes_a_key(keyed: Cell) -> None:
    token = keyed.admin.headers["authorization"].removeprefix("Bearer ")
    async with AsyncClient(keyed.admin.url, api_key=token) as client:
        given = served(keyed)
        provider = await client.organization.providers.create(
            given["name"],
            given["vendor"],
            base_url=given["base_url"],
            key=given["key"],
            user_keys=True,
        )
        assert provider.user_keys
        assert (await client.provider_keys.set(provider.id, KEY)).has_key
        await client.organization.providers.update(provider.id, user_keys=False)
        (listed,) = await client.provider_keys.list()
        assert (listed.has_key, listed.is_allowed) == (True, False)
        await client.provider_keys.delete(provider.id)
        assert await client.provider_keys.list() == []
