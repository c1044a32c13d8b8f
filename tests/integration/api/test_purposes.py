"""Models by purpose over HTTP: one default, each purpose with its model, and reasons."""

from pathlib import Path
from typing import Any

from tests.support.replica import Replicas
from tests.support.web import Client, a_cell


async def models(client: Client) -> dict[str, dict[str, Any]]:
    listed = (await client.get("organization/models")).json["data"]
    return {each["name"]: each for each in listed}


async def test_each_purpose_has_one_model_and_there_is_one_default(
    empty: Replicas, tmp_path: Path
) -> None:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with a_cell(empty, master_key_file=key_file) as cell:
        admin = cell.admin
        provider = await admin.ask(
            "POST",
            "organization/providers",
            {"name": "acme", "vendor": "openai", "key": "sk-0000000000000001"},
        )
        given = {"name": "small", "provider_id": provider.json["id"]}
        made = await admin.ask(
            "POST", "organization/models", {**given, "settings": {"model": "gpt-5.4"}}
        )
        assert made.status == 201, made.raw
        found = await models(admin)
        assert (found["sim"]["is_default"], found["small"]["is_default"]) == (True, False)
        everything = ["general", "explore", "title", "compaction", "advisor"]
        assert (found["sim"]["purposes"], found["small"]["purposes"]) == (everything, [])

        settings = {"title_model": "small", "default_model": "small"}
        assert (await admin.ask("PATCH", "organization/settings", settings)).status == 200
        found = await models(admin)
        assert [name for name, each in found.items() if each["is_default"]] == ["small"]
        assert (found["sim"]["purposes"], found["small"]["purposes"]) == ([], everything)
        refused = await admin.ask("POST", "organization/models", {**given, "is_default": True})
        assert refused.json["errors"][0]["pointer"] == "/is_default"

        # A choice that is gone is passed over; there is a default again.
        path = f"organization/models/{made.json['id']}"
        await admin.ask("PATCH", path, {"is_enabled": False})
        found = await models(admin)
        assert "An admin has disabled it." in found["small"]["unavailable_reason"]
        assert (await admin.ask("DELETE", path)).status == 204
        found = await models(admin)
        assert (found["sim"]["is_default"], found["sim"]["purposes"]) == (True, everything)
        offered = (await admin.get("models")).json["data"]
        assert [each["id"] for each in offered if each["is_default"]] == ["sim"]
        wrong = await admin.ask("PATCH", "organization/settings", {"title_model": "none"})
        assert wrong.json["errors"][0]["pointer"] == "/title_model"
