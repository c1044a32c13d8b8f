"""What the provider itself said of a failure: for administrators, and for no other reader."""

import asyncio
from typing import Any

import pytest

from tests.requirements import requirement
from tests.support.waits import HANG_S
from tests.support.web import Cell, Client

REFUSED = "[[sim: fault=unauthorized]]"


async def failed_chat(client: Client) -> tuple[str, dict[str, Any]]:
    chat_id = await client.new_chat(REFUSED)
    async with asyncio.timeout(HANG_S):
        while (chat := (await client.get(f"chats/{chat_id}")).json)["status"] != "failed":  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return chat_id, chat


async def events_of(client: Client, chat_id: str) -> str:
    """All that a reader is sent of a chat that rests."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(HANG_S), client.stream(chat_id, None) as events:
        async for event in events:
            seen.append(event)
            if event["type"] == "queue.updated":
                break
    return str(seen)


@requirement("F09")
async def test_administrator_reads_the_providers_words_and_its_request_id(cell: Cell) -> None:
    chat_id, chat = await failed_chat(cell.admin)

    details = chat["error_details"]
    assert details["request_id"].startswith("req_")
    assert details["detail"]
    assert set(chat["error"]) == {"type", "message", "provider", "status_code", "retryable"}
    events = await events_of(cell.admin, chat_id)
    assert "'type': 'auth'" in events
    assert details["request_id"] not in events
    assert details["detail"] not in events
    key = (await cell.admin.new_key("k", "read"))["secret"]
    seen = (await cell.admin.as_(key).get(f"chats/{chat_id}")).json
    assert "error_details" not in seen, "the key may not do what an administrator may"


@requirement("F09")
@pytest.mark.parametrize("shared", [False, True])
async def test_member_never_reads_the_providers_words(cell: Cell, *, shared: bool) -> None:
    member = await cell.member("bob")
    if shared:
        chat_id, _ = await failed_chat(cell.admin)
        me = (await member.get("me")).json["user"]["id"]
        assert (await cell.admin.ask("PUT", f"chats/{chat_id}/shares/{me}")).status == 204
        chat = (await member.get(f"chats/{chat_id}")).json
    else:
        chat_id, chat = await failed_chat(member)

    assert chat["error"]["type"] == "auth"
    assert "error_details" not in chat
    assert "req_" not in f"{chat} {await events_of(member, chat_id)}"
