"""Web search of a message: what is refused before anything is stored, and what a chat keeps."""

from tests.support.replica import Replicas
from tests.support.web import a_cell


async def test_a_search_that_the_model_does_not_have_is_refused(empty: Replicas) -> None:
    url = empty.simulator.url
    able = {"provider_tools": [{"name": "web_search"}], "web": False}
    shared = {"vendor": "simulator-anthropic", "base_url": url, "api_key": "k"}
    models = [
        {**shared, "name": "plain", "model": "claude-sonnet-5"},
        {**shared, "name": "able", "model": "claude-opus-5-5", **able},
    ]
    said = {"text": 'Hi [[sim: say "Hi."]]', "web": True}
    async with a_cell(empty, models=models, default_model="plain") as cell:
        admin = cell.admin
        shown = {each["id"]: each for each in (await admin.get("models")).json["data"]}
        assert (shown["able"]["provider_tools"], shown["able"]["web"]) == (["web_search"], False)
        assert shown["plain"]["provider_tools"] == []

        refused = await admin.post("chats", {"message": said})
        assert refused.status == 422, refused.json
        assert "plain has no web search" in refused.json["errors"][0]["detail"]
        assert (await admin.get("chats")).json["data"] == []

        begun = await admin.post("chats", {"model": "plain"})
        path = f"chats/{begun.json['chat_id']}"
        assert (await admin.post(f"{path}/messages", said)).status == 422
        assert (await admin.get(f"{path}/messages")).json["data"] == []

        taken = await admin.post(f"{path}/messages", {**said, "model": "able"})
        assert taken.status == 202, taken.json
        assert (await admin.get(path)).json["web"] is True

        forbidden = await admin.ask("PATCH", "organization/settings", {"web_tools_enabled": False})
        assert forbidden.status == 200, forbidden.json
        again = await admin.post(f"{path}/messages", said)
        assert again.json["errors"][0]["detail"] == "Not allowed in this organisation."
        (_, able_now) = (await admin.get("models")).json["data"]
        assert (able_now["provider_tools"], able_now["web"]) == ([], False)
