"""A whole turn over HTTP: said on one replica, followed on another."""

import asyncio
from typing import Any

import aiohttp
import orjson
from pydantic import TypeAdapter

from holdfast.api.events import StreamEvent
from tests.support.waits import HANG_S
from tests.support.web import Cell, Client

EVENT: TypeAdapter[Any] = TypeAdapter(StreamEvent)
LANDED = ("version", "turn_seq", "message_seq", "queued_id")


async def read_until_idle(
    client: Client, chat_id: str, after: str | None = None, most: int = 100_000
) -> list[dict[str, Any]]:
    """Events up to the end of the turn, or so many."""
    seen: list[dict[str, Any]] = []
    said = after is not None
    async with asyncio.timeout(HANG_S), client.stream(chat_id, after) as events:
        async for event in events:
            EVENT.validate_python(event)
            seen.append(event)
            said = said or is_reply(event)
            idle = event["type"] == "chat.state" and event["data"]["status"] == "idle"
            if (idle and said) or len(seen) == most:
                break
    return seen


def is_reply(event: dict[str, Any]) -> bool:
    return event["type"] == "message.created" and event["data"]["role"] == "assistant"


async def test_a_turn_is_followed_from_its_message_to_its_end(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat('[[sim: say "hello world"]]')

    seen = await read_until_idle(cell.admin, chat_id)

    assert seen[0]["type"] == "history.reset"
    texts = [
        part["text"]
        for event in seen
        if event["type"] == "message.created" and event["data"]["role"] == "assistant"
        for part in event["data"]["parts"]
    ]
    assert texts == ["hello world"]
    page = (await cell.admin.get(f"chats/{chat_id}/messages")).json
    assert [message["role"] for message in page["data"]] == ["user", "assistant"]
    assert page["next_cursor"] is None


async def test_a_reader_that_changes_replica_after_every_event_sees_each_word_once(
    cell: Cell,
) -> None:
    await cell.another(role="api")
    chat_id = await cell.admin.new_chat()
    said = "one two three four five six seven eight nine ten"
    await cell.admin.post(f"chats/{chat_id}/messages", {"text": f'[[sim: say "{said}" | rate=40]]'})
    seen: list[dict[str, Any]] = []
    last = None
    async with asyncio.timeout(HANG_S):
        while not _at_end(seen):
            client = cell.admin.at(cell.urls[len(seen) % 2])
            async with client.stream(chat_id, last) as events:
                event = await anext(events)
                while event["type"] == "ping":  # nothing is new
                    event = await anext(events)
            seen.append(event)
            last = event["cursor"] or last

    messages = [e["data"] for e in seen if e["type"] == "message.created"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1]["parts"][0]["text"] == said
    deltas = [e["data"] for e in seen if e["type"] == "preview.delta"]
    assert len({(each["attempt"], each["index"]) for each in deltas}) == len(deltas)
    assert [each["index"] for each in deltas] == list(range(1, len(deltas) + 1))
    ids = [e["cursor"] for e in seen if e["cursor"]]
    assert len(set(ids)) == len(ids)


def _at_end(seen: list[dict[str, Any]]) -> bool:
    states = [e["data"] for e in seen[-3:] if e["type"] == "chat.state"]
    return any(map(is_reply, seen)) and any(state["status"] == "idle" for state in states)


async def test_a_socket_tells_the_same_as_a_stream(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
    await cell.admin.until(chat_id, "idle")
    by_stream = await read_until_idle(cell.admin, chat_id)

    url = f"{cell.admin.url}/api/v1/chats/{chat_id}/events"
    by_socket: list[Any] = []
    async with (
        asyncio.timeout(HANG_S),
        cell.admin.http.ws_connect(url, headers=cell.admin.headers) as socket,
    ):
        async for message in socket:
            assert message.type is aiohttp.WSMsgType.TEXT
            by_socket.append(orjson.loads(message.data))
            if len(by_socket) == len(by_stream):
                break

    assert by_socket == by_stream


async def test_a_stopping_replica_ends_streams_with_a_hint_and_the_turn_goes_on(
    cell: Cell,
) -> None:
    other = await cell.another(role="api")
    chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(HANG_S), cell.admin.at(other.url).stream(chat_id) as events:
        async for event in events:
            if not seen:
                other.drain()
            seen.append(event)

    assert seen[-1]["data"] == {"reason": "restart", "retry_after_seconds": None}
    last = next(event["cursor"] for event in reversed(seen) if event["cursor"])
    # On a slow machine the turn may have ended before the reader came.
    rest = [] if _at_end(seen[:-1]) else await read_until_idle(cell.admin, chat_id, last)
    told = [e["data"]["role"] for e in [*seen, *rest] if e["type"] == "message.created"]
    assert told == ["user", "assistant"]


async def test_what_is_said_twice_under_one_key_is_said_once(cell: Cell) -> None:
    await cell.another(role="api")
    chat_id = await cell.admin.new_chat()
    body = {"text": '[[sim: say "hello"]]'}

    async def say(number: int) -> Any:
        """As clients do it: `unavailable` is repeated by key."""
        client = cell.admin.at(cell.urls[number % 2])
        path = f"chats/{chat_id}/messages"
        while (answer := await client.post(path, body, idempotency_key="once")).status == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        return answer

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(say(number)) for number in range(200)]
    answers = [task.result() for task in asked]

    assert {answer.status for answer in answers} == {202}, {a.raw for a in answers}
    landed = {tuple(a.json[name] for name in LANDED) for a in answers}
    assert len(landed) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) <= 1
    await cell.admin.until(chat_id, "idle")
    messages = (await cell.admin.get(f"chats/{chat_id}/messages")).json["data"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    other = await cell.admin.post(
        f"chats/{chat_id}/messages", {"text": "other"}, idempotency_key="once"
    )
    assert (other.status, other.code) == (409, "idempotency_key_reused")


async def test_a_chat_begun_twice_under_one_key_is_one_chat(cell: Cell) -> None:
    body = {"message": {"text": '[[sim: say "hello"]]'}}
    first = await cell.admin.post("chats", body, idempotency_key="begin")
    second = await cell.admin.post("chats", body, idempotency_key="begin")

    assert first.json["chat_id"] == second.json["chat_id"]
    assert (first.json["turn_seq"], first.json["message_seq"]) == (1, 1)
    assert second.json == first.json
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    other = await cell.admin.post("chats", {}, idempotency_key="begin")
    assert (other.status, other.code) == (409, "idempotency_key_reused")
