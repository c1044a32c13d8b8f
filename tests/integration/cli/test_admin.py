"""`holdfast admin providers|models|settings` against a real server."""

from collections.abc import AsyncGenerator
from pathlib import Path

import orjson
import pytest

from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli
from tests.support.web import Cell, a_cell


@pytest.fixture
async def managed(template: str, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    key_file.chmod(0o600)
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), master_key_file=key_file) as cell,
    ):
        yield cell


@pytest.fixture
def admin(managed: Cell, tmp_path: Path) -> Cli:
    return Cli(tmp_path, managed.admin.url, managed.admin.headers["authorization"].split()[1])


async def test_provider_and_model_from_the_first_to_the_last_command(
    admin: Cli, managed: Cell
) -> None:
    url = managed.replicas.simulator.url
    add = ("admin", "providers", "add", "acme", "simulator-anthropic", "--base-url", url)
    added = await admin.call(*add, "--key-stdin", stdin="canary-0123456789\n")
    assert added.code == 0, added
    assert added.out.startswith("prov_")
    listed = orjson.loads(await admin.told("admin", "providers", "list", "--json"))
    assert [(each["name"], each["has_key"]) for each in listed] == [("acme", True)]
    assert "6789" in await admin.told("admin", "providers", "list")

    model = ("admin", "models", "add", "added", "acme", "--model", "claude-sonnet-5")
    assert (await admin.told(*model, "--set", "output_max=4000")).startswith("modl_")
    assert "answered" in (await admin.call("admin", "models", "test", "added")).err
    await admin.call("admin", "models", "default", "added")
    assert "added *" in await admin.told("admin", "models", "list")
    assert (await admin.call("admin", "models", "disable", "added")).code == 0
    failed = await admin.call("admin", "models", "test", "added")
    assert (failed.code, "An admin has disabled it." in failed.err) == (1, True)
    await admin.call("admin", "models", "enable", "added")
    await admin.call("admin", "models", "change", "added", "--name", "renamed")

    await admin.call("admin", "providers", "disable", "acme")
    assert "provider_disabled" in await admin.told("admin", "models", "list")
    await admin.call("admin", "providers", "enable", "acme")
    own = ("provider-keys", "set", "acme")
    refused = await admin.call(*own, stdin="own-0123456789\n")
    assert refused.code == 5, "an admin does not allow it"
    await admin.call("admin", "providers", "change", "acme", "--user-keys")
    stored = await admin.call(*own, stdin="own-0123456789\n")
    assert (stored.code, "Stored your key for acme." in stored.err) == (0, True), stored
    assert "stored" in await admin.told("provider-keys", "list")
    assert "0123456789" not in await admin.told("provider-keys", "list", "--json")
    await admin.call("admin", "providers", "change", "acme", "--no-user-keys")
    assert "not allowed" in await admin.told("provider-keys", "list")
    assert (await admin.call("provider-keys", "delete", "acme")).code == 0
    assert orjson.loads(await admin.told("provider-keys", "list", "--json")) == []
    changed = await admin.call("admin", "providers", "change", "acme", "--name", "other")
    assert "Changed other." in changed.err
    assert (await admin.call("admin", "models", "delete", "renamed")).code == 0
    assert (await admin.call("admin", "models", "delete", "sim")).code == 2, "of the models file"
    assert (await admin.call("admin", "providers", "delete", "other")).code == 0
    assert (await admin.call("admin", "providers", "delete", "other")).code == 5


async def test_settings_are_listed_set_and_unset(admin: Cli) -> None:
    assert "max_steps_per_turn" in await admin.told("admin", "settings", "list")
    pairs = ("max_steps_per_turn=7", "title_model=sim", "instructions=Be brief.")
    told = orjson.loads(await admin.told("admin", "settings", "set", *pairs, "--json"))
    assert (told["max_steps_per_turn"], told["title_model"]) == (7, "sim")
    assert told["instructions"] == "Be brief."
    await admin.told("admin", "settings", "unset", "title_model")
    told = orjson.loads(await admin.told("admin", "settings", "list", "--json"))
    assert (told["max_steps_per_turn"], told["title_model"]) == (7, None)
    wrong = await admin.call("admin", "settings", "set", "instructions=x", "advisor_model=none")
    assert wrong.code != 0
    told = orjson.loads(await admin.told("admin", "settings", "list", "--json"))
    assert told["instructions"] == "Be brief.", "all or nothing"
    assert (await admin.call("admin", "settings", "set", "colour=1")).code == 2
    assert (await admin.call("admin", "settings", "set", "colour")).code == 2


async def test_a_chat_is_listed_and_stopped(admin: Cli, managed: Cell) -> None:
    chat_id = await managed.admin.new_chat("[[sim: words=4000 | rate=25]]")
    assert chat_id in await admin.told("admin", "chats", "list")
    assert (await admin.call("admin", "chats", "stop", chat_id)).code == 0
    await managed.admin.until(chat_id, "idle")
    listed = orjson.loads(await admin.told("admin", "chats", "list", "--json"))
    assert [(each["id"], each["status"]) for each in listed] == [(chat_id, "idle")]
    unknown = await admin.call("admin", "chats", "stop", "chat_" + "0" * 32)
    assert unknown.code != 0
