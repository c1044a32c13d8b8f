"""Providers and models over HTTP: what is returned, what is refused, and no key in any answer."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from holdfast_simulator.server import Simulator
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

KEY, NEW_KEY = "sk-canary-of-the-route-4711", "sk-canary-of-the-route-4712"
PROVIDERS, MODELS = "organization/providers", "organization/models"


@pytest.fixture
async def keyed(empty: Replicas, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with a_cell(empty, master_key_file=key_file) as cell:
        yield cell


def served(cell: Cell, **more: Any) -> dict[str, Any]:
    simulator = cell.replicas.simulator
    assert isinstance(simulator, Simulator)
    at = {"vendor": "simulator-anthropic", "base_url": simulator.url}
    return {"name": "acme", "key": KEY, **at, **more}


async def test_provider_and_model_are_added_tested_and_used(keyed: Cell) -> None:
    admin = keyed.admin
    made = await admin.post(PROVIDERS, served(keyed))
    assert made.status == 201, made.raw
    assert (made.json["has_key"], made.json["key_last_four"]) == (True, "4711")
    assert KEY.encode() not in made.raw
    named = {"name": "added", "provider_id": made.json["id"]}
    model = await admin.post(MODELS, {**named, "settings": {"model": "claude-sonnet-5"}})
    assert (model.status, model.json["state"]) == (201, "available"), model.raw
    tried = await admin.post(f"{MODELS}/{model.json['id']}/test", None)
    assert (tried.status, tried.json["answered"]) == (200, True), tried.raw
    names = [each["id"] for each in (await admin.get("models")).json["data"]]
    assert names == ["sim", "added"]
    sources = [each["source"] for each in (await admin.get(MODELS)).json["data"]]
    assert sources == ["file", "database"]
    for where in (PROVIDERS, "organization/audit-log", MODELS):
        assert KEY.encode() not in (await admin.get(where)).raw


async def test_change_needs_the_tag_and_drops_the_key_with_the_host(keyed: Cell) -> None:
    admin = keyed.admin
    made = await admin.post(PROVIDERS, served(keyed))
    path = f"{PROVIDERS}/{made.json['id']}"
    tag = made.headers["etag"]
    replaced = await admin.ask("PATCH", path, {"key": NEW_KEY}, if_match=tag)
    assert replaced.json["key_last_four"] == "4712"
    assert replaced.json["key_fingerprint"] != made.json["key_fingerprint"]
    late = await admin.ask("PATCH", path, {"name": "late"}, if_match=tag)
    assert late.status == 412
    moved = await admin.ask("PATCH", path, {"base_url": "https://elsewhere.example"})
    assert (moved.status, moved.json["has_key"]) == (200, False)
    assert (await admin.ask("DELETE", path)).status == 204
    assert (await admin.get(path)).status == 404


async def test_a_failed_test_has_the_words_of_the_provider(keyed: Cell) -> None:
    admin = keyed.admin
    wrong = served(keyed, settings={"headers": {"x-sim-fault": "unauthorized"}})
    provider = (await admin.post(PROVIDERS, wrong)).json["id"]
    named = {"name": "refused", "provider_id": provider, "settings": {"model": "claude-sonnet-5"}}
    model = (await admin.post(MODELS, named)).json["id"]
    tried = (await admin.post(f"{MODELS}/{model}/test", None)).json
    assert tried["answered"] is False
    assert "auth" in tried["failure"]
    assert KEY not in tried["failure"]


async def test_what_is_wrong_is_said_and_nothing_is_stored(keyed: Cell) -> None:
    admin = keyed.admin
    assert (await admin.post(PROVIDERS, served(keyed, vendor="nobody"))).status == 422
    stolen = served(keyed, settings={"key_file": "/etc/passwd"})
    assert (await admin.post(PROVIDERS, stolen)).status == 422
    provider = (await admin.post(PROVIDERS, served(keyed))).json["id"]
    assert (await admin.post(PROVIDERS, served(keyed))).json["code"] == "name_taken"
    taken = await admin.post(MODELS, {"name": "sim", "provider_id": provider})
    assert taken.json["code"] == "name_taken"
    wrong = {"name": "x", "provider_id": provider, "settings": {"temperature": 9}}
    assert (await admin.post(MODELS, wrong)).status == 422


async def test_without_a_master_key_a_key_is_refused_in_words(cell: Cell) -> None:
    refused = await cell.admin.post(PROVIDERS, served(cell))
    assert (refused.status, refused.json["code"]) == (409, "secrets_off")
    assert "HOLDFAST_MASTER_KEY_FILE" in refused.json["detail"]
