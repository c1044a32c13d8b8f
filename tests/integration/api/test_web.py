"""Web search of a message: what is refused before anything is stored, and what a chat keeps."""

import asyncio
from typing import Any, cast

from holdfast_lab.chaos.harness.client import Client
from holdfast_simulator.server import Simulator
from tests.support.replica import Replicas
from tests.support.waits import HANG_S
from tests.support.web import a_cell


async def answered(admin: Client, path: str, replies: int) -> list[dict[str, Any]]:
    """The parts of the last reply, once there are so many and the chat is idle."""
    async with asyncio.timeout(HANG_S):
        while True:
            status = (await admin.get(path)).json["status"]
            page = (await admin.get(f"{path}/messages")).json["data"]
            found = [each["parts"] for each in page if each["role"] == "assistant"]
            if status == "idle" and len(found) == replies:
                return found[-1]
            await asyncio.sleep(0.02)


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


async def test_a_message_switches_the_search_and_later_ones_keep_it(empty: Replicas) -> None:
    shared = {"vendor": "simulator-anthropic", "base_url": empty.simulator.url, "api_key": "k"}
    tools = {"provider_tools": [{"name": "web_search"}], "web": False}
    models = [{**shared, "name": "able", "model": "claude-opus-5-5", **tools}]
    said = ['What is new? [[sim: search "what is new"]]', *(['Hi [[sim: say "Hi."]]'] * 3)]
    wanted = [{"web": True}, {}, {"web": False}, {}]
    async with a_cell(empty, models=models, default_model="able") as cell:
        path = f"chats/{(await cell.admin.post('chats', {})).json['chat_id']}"
        kinds: list[set[str]] = []
        for number, (text, web) in enumerate(zip(said, wanted, strict=True), start=1):
            sent = await cell.admin.post(f"{path}/messages", {"text": text, **web})
            assert sent.status == 202, sent.json
            kinds.append({part["type"] for part in await answered(cell.admin, path, number)})

        assert {"tool_call", "tool_result", "source"} <= kinds[0]
        record = cast(Simulator, empty.simulator).record
        sent_tools = [
            [tool.get("type", "") for tool in (entry.body or {}).get("tools", [])]
            for entry in record
        ]
        searches = [any("web_search" in kind for kind in kinds) for kinds in sent_tools]
        assert searches == [True, True, False, False]
        assert [entry.rejected_by for entry in record] == [None] * 4
