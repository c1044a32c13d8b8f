"""What a new chat may be given, and its metadata."""

from typing import Any

import pytest

from tests.support.web import Cell, Client

HELLO = {"text": '[[sim: say "hello"]]'}


async def found(client: Client, query: str) -> list[str]:
    answer = await client.get(f"chats?{query}")
    assert answer.status == 200, answer.json
    return [chat["id"] for chat in answer.json["data"]]


async def test_a_new_chat_takes_title_labels_metadata_model_and_effort(cell: Cell) -> None:
    models = (await cell.admin.get("models")).json["data"]
    given: dict[str, Any] = {
        "title": "  Kelp  ",
        "labels": ["sea", "sea", "food"],
        "metadata": {"cwd": "/srv/kelp", "empty": ""},
        "model": models[0]["id"],
        "effort": "low",
    }
    chat_id = (await cell.admin.post("chats", given)).json["chat_id"]
    chat = (await cell.admin.get(f"chats/{chat_id}")).json
    assert (chat["title"], chat["title_source"]) == ("Kelp", "user")
    assert chat["labels"] == ["sea", "food"]
    assert chat["metadata"] == given["metadata"]
    assert (chat["model"], chat["effort"], chat["status"]) == (given["model"], "low", "idle")

    await cell.admin.post(f"chats/{chat_id}/messages", HELLO)
    await cell.admin.until(chat_id, "idle")
    reply = (await cell.admin.get(f"chats/{chat_id}/messages")).json["data"][-1]
    assert (reply["model"], reply["effort"]) == (given["model"], "low")
    assert (await cell.admin.get("chats")).json["data"][0]["metadata"] == given["metadata"]


async def test_a_first_message_runs_with_the_model_of_its_chat(cell: Cell) -> None:
    body = {"message": HELLO, "effort": "high", "title": "T"}
    chat_id = (await cell.admin.post("chats", body)).json["chat_id"]
    await cell.admin.until(chat_id, "idle")
    chat = (await cell.admin.get(f"chats/{chat_id}")).json
    assert (chat["title"], chat["effort"]) == ("T", "high")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"model": "no-such-model"}, "/model"),
        ({"effort": "enormous"}, "/effort"),
        ({"message": {"text": "x", "effort": "enormous"}}, "/message/effort"),
        ({"title": " "}, "/title"),
        ({"labels": ["x" * 61]}, "/labels"),
        ({"metadata": {"k" * 65: "v"}}, f"/metadata/{'k' * 65}"),
        ({"metadata": {"": "v"}}, "/metadata/"),
        ({"metadata": {"k": "v" * 513}}, "/metadata/k"),
        ({"metadata": {"k": 1}}, "/metadata/k"),
        ({"metadata": {"k": None}}, "/metadata/k"),
        ({"metadata": {f"k{n}": "v" for n in range(51)}}, "/metadata"),
    ],
)
async def test_a_wrong_field_of_a_new_chat_is_refused(
    cell: Cell, body: dict[str, Any], pointer: str
) -> None:
    before = len(await found(cell.admin, "limit=200"))
    answer = await cell.admin.post("chats", body)
    assert answer.status == 422, answer.json
    assert answer.json["errors"][0]["pointer"] == pointer
    assert len(await found(cell.admin, "limit=200")) == before


async def test_metadata_is_merged_and_a_key_with_null_is_removed(cell: Cell) -> None:
    admin = cell.admin
    chat_id = (await admin.post("chats", {"metadata": {"a": "1", "b": "2"}})).json["chat_id"]
    path = f"chats/{chat_id}"

    async def merged(patch: dict[str, Any]) -> dict[str, str]:
        answer = await admin.ask("PATCH", path, patch)
        assert answer.status == 200, answer.json
        return answer.json["metadata"]

    assert await merged({"title": "T"}) == {"a": "1", "b": "2"}
    assert await merged({"metadata": {"b": None, "c": "\x00é", "x": None}}) == {
        "a": "1",
        "c": "\x00é",
    }
    assert await merged({"metadata": {}}) == {"a": "1", "c": "\x00é"}
    full = {f"k{n}": "v" for n in range(48)}
    assert len(await merged({"metadata": full})) == 50
    more = await admin.ask("PATCH", path, {"metadata": {"one": "more"}, "pinned": True})
    assert more.status == 422
    assert more.json["errors"][0]["pointer"] == "/metadata"
    assert len(await merged({"metadata": {"a": None, "one": "more"}})) == 50
    assert await merged({"metadata": None}) == {}


async def test_chats_are_found_by_their_metadata(cell: Cell) -> None:
    admin = cell.admin
    one = (await admin.post("chats", {"metadata": {"cwd": "/a b", "run": "7"}})).json["chat_id"]
    two = (await admin.post("chats", {"metadata": {"cwd": "/a b"}})).json["chat_id"]
    await admin.new_chat()
    assert await found(admin, "metadata[cwd]=/a%20b") == [two, one]
    assert await found(admin, "metadata%5Bcwd%5D=/a%20b&metadata[run]=7") == [one]
    assert await found(admin, "metadata[cwd]=/a%20b&metadata[run]=8") == []
    assert await found(admin, "metadata[run]=7&limit=1") == [one]
    assert await found(await cell.member("bob"), "metadata[cwd]=/a%20b") == []


@pytest.mark.parametrize(
    "query", ["metadata=x", "metadata[]=x", "metadata[a]=1&metadata[a]=2", "meta[a]=1", "q[a]=1"]
)
async def test_a_filter_that_is_no_pair_is_refused(cell: Cell, query: str) -> None:
    answer = await cell.admin.get(f"chats?{query}")
    assert answer.status == 422
    assert answer.json["errors"][0]["in"] == "query"


async def test_an_admin_does_not_see_the_metadata_of_others(cell: Cell) -> None:
    bob = await cell.member("bob")
    made = await bob.post("chats", {"metadata": {"secret": "plan"}, "title": "mine"})
    seen = (await cell.admin.get("organization/chats")).json["data"]
    other = next(chat for chat in seen if chat["id"] == made.json["chat_id"])
    assert (other["metadata"], other["title"]) == ({}, None)
