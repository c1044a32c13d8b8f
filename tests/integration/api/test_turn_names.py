"""A client finds the turn of its message by the receipt, over HTTP and in the stream."""

import asyncio
from typing import Any

from tests.support.waits import HANG_S
from tests.support.web import Cell, Client

SLOW = "[[sim: words=4000 | rate=20]]"


def say(text: str) -> dict[str, Any]:
    return {"text": f'[[sim: say "{text}"]]'}


async def messages(client: Client, chat_id: str) -> list[dict[str, Any]]:
    return (await client.get(f"chats/{chat_id}/messages")).json["data"]


async def told(client: Client, chat_id: str, answers: int) -> list[dict[str, Any]]:
    """All that a stream tells until so many replies were told and the chat is idle."""
    seen: list[dict[str, Any]] = []
    replies = 0
    async with asyncio.timeout(HANG_S), client.stream(chat_id) as events:
        async for event in events:
            seen.append(event)
            kind, data = event["type"], event["data"]
            replies += kind == "message.created" and data["role"] == "assistant"
            if replies == answers and kind == "chat.state" and data["status"] == "idle":
                break
    return seen


async def first_word(client: Client, chat_id: str) -> None:
    async with asyncio.timeout(HANG_S), client.stream(chat_id) as events:
        async for event in events:
            if event["type"] == "preview.delta":
                return


async def test_the_receipt_of_a_new_chat_names_its_first_turn(cell: Cell) -> None:
    begun = await cell.admin.post("chats", {"message": say("one")}, idempotency_key="begin")
    assert (begun.json["turn_seq"], begun.json["message_seq"]) == (1, 1)
    assert begun.json["queued_id"] is None
    chat = await cell.admin.until(begun.json["chat_id"], "idle")
    assert chat["turn_seq"] == 1
    asked, answered = await messages(cell.admin, chat["id"])
    assert (asked["turn_seq"], asked["client_key"], asked["attempt"]) == (1, "begin", None)
    assert (answered["turn_seq"], answered["client_key"], answered["attempt"]) == (1, None, 1)

    empty = await cell.admin.post("chats", {})
    assert (empty.json["turn_seq"], empty.json["message_seq"]) == (None, None)
    assert (await cell.admin.get(f"chats/{empty.json['chat_id']}")).json["turn_seq"] is None


async def test_a_queued_message_leads_to_the_answer_of_its_own_turn(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat("[[sim: words=40 | rate=40]]")
    receipt = await admin.post(f"chats/{chat_id}/messages", say("mine"), idempotency_key="mine")
    queued_id = receipt.json["queued_id"]
    assert queued_id is not None
    assert (receipt.json["turn_seq"], receipt.json["message_seq"]) == (None, None)
    (waiting,) = (await admin.get(f"chats/{chat_id}")).json["queue"]
    assert (waiting["queued_id"], waiting["client_key"]) == (queued_id, "mine")

    seen = await told(admin, chat_id, answers=2)

    streamed = [event["data"] for event in seen if event["type"] == "message.created"]
    for known in (streamed, await messages(admin, chat_id)):
        (asked,) = [each for each in known if each["queued_id"] == queued_id]
        assert (asked["role"], asked["client_key"]) == ("user", "mine")
        in_turn = [each for each in known if each["turn_seq"] == asked["seq"]]
        assert [each["parts"][0]["text"] for each in in_turn] == [say("mine")["text"], "mine"]
    queues = [event["data"]["messages"] for event in seen if event["type"] == "queue.updated"]
    assert {each["client_key"] for queue in queues for each in queue} <= {"mine"}
    states = [event["data"] for event in seen if event["type"] == "chat.state"]
    assert states[-1]["turn_seq"] == 3
    path = f"chats/{chat_id}/messages"
    again = await admin.post(path, say("mine"), idempotency_key="mine")
    assert again.json == receipt.json
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_message_names_the_attempt_that_its_live_parts_had(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat(say("one two three four")["text"])
    seen = await told(cell.admin, chat_id, answers=1)
    deltas = [event["data"] for event in seen if event["type"] == "preview.delta"]
    shown = {delta["attempt"] for delta in deltas}
    assert {delta["turn_seq"] for delta in deltas} <= {1}
    reply = [event["data"] for event in seen if event["type"] == "message.created"][-1]
    assert shown <= {reply["attempt"]}
    assert reply["attempt"] == 1


async def test_a_stop_pressed_as_a_turn_ends_does_not_stop_the_next_one(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    second = await admin.post(f"chats/{chat_id}/messages", {"text": SLOW})
    assert second.json["turn_seq"] == 3

    late = await admin.post(f"chats/{chat_id}/interrupt", {"turn_seq": 1})

    assert (late.status, late.code) == (409, "turn_changed")
    assert (await admin.get(f"chats/{chat_id}")).json["status"] == "running"
    await first_word(admin, chat_id)
    stopped = await admin.post(f"chats/{chat_id}/interrupt", {"turn_seq": 3})
    assert (stopped.status, stopped.json["turn_seq"]) == (202, 3)
    await admin.until(chat_id, "idle")
    assert (await messages(admin, chat_id))[-1]["finish_reason"] == "interrupted"


async def test_a_command_that_names_no_turn_is_for_any(cell: Cell) -> None:
    admin = cell.admin
    for body in (None, {}, {"turn_seq": None}):
        chat_id = await admin.new_chat(SLOW)
        await first_word(admin, chat_id)
        stopped = await admin.post(f"chats/{chat_id}/interrupt", body)
        assert (stopped.status, stopped.json["turn_seq"]) == (202, 1)
        await admin.until(chat_id, "idle")
        assert (await admin.post(f"chats/{chat_id}/retry", body)).code == "chat_state_conflict"
    assert (await admin.post(f"chats/{chat_id}/interrupt", {"turn": 1})).status == 422


async def test_a_retry_names_the_turn_that_failed(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat("[[sim: fault=unauthorized]]")
    failed = await admin.until(chat_id, "failed")
    assert failed["turn_seq"] == 1
    refused = await admin.post(f"chats/{chat_id}/retry", {"turn_seq": 2})
    assert (refused.status, refused.code) == (409, "turn_changed")
    again = await admin.post(f"chats/{chat_id}/retry", {"turn_seq": 1})
    assert (again.status, again.json["turn_seq"]) == (202, 1)
