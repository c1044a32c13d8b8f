"""A reader of a share sees the present history, and no text that the owner edited away."""

import asyncio
from typing import Any, cast

import pytest

from holdfast.api.app import all_routes
from holdfast.domain import policy
from holdfast.domain.policy import AccessRule, Action, Condition, Scope, TargetKind
from tests.requirements import requirement
from tests.support.web import Cell, Client

TOKEN = "planted-token"
EDITED = f'[[sim: say "The {TOKEN}."]]'
SHOWN = '[[sim: say "Nothing here."]]'


async def planted(cell: Cell) -> tuple[str, int, Client]:
    """A chat that is shared after its owner edited the token away, the version before the edit, and
    a reader of the chat."""
    admin, bob = cell.admin, await cell.member("Bob")
    chat_id = await admin.new_chat(EDITED)
    before = (await admin.until(chat_id, "idle"))["version"]
    edited = await admin.post(f"chats/{chat_id}/messages/1/edit", {"text": SHOWN})
    assert edited.status == 202, edited.raw
    await admin.until(chat_id, "idle")
    bobs_id = (await bob.get("me")).json["user"]["id"]
    assert (await admin.ask("PUT", f"chats/{chat_id}/shares/{bobs_id}")).status == 204
    return chat_id, before, bob


async def streamed(reader: Client, chat_id: str, after: str | None) -> str:
    """What a stream tells up to the present version."""
    version = (await reader.get(f"chats/{chat_id}")).json["version"]
    told = ""
    async with asyncio.timeout(60), reader.stream(chat_id, after) as events:
        async for event in events:
            told += str(event)
            if event["final"] and event["version"] == version:
                return told
    raise AssertionError("the stream ended")


async def by_socket(reader: Client, chat_id: str, after: str) -> str:
    version = (await reader.get(f"chats/{chat_id}")).json["version"]
    where = f"{reader.url}/api/v1/chats/{chat_id}/events?after={after}"
    told = ""
    async with asyncio.timeout(60), reader.http.ws_connect(where, headers=reader.headers) as socket:
        async for message in socket:
            told += message.data
            event = message.json()
            if event["final"] and event["version"] == version:
                return told
    raise AssertionError("the socket ended")


async def leaks(reader: Client, chat_id: str, before: int) -> list[str]:
    """Places where a reader of the chat finds the token."""
    chat = f"chats/{chat_id}"
    places: dict[str, str] = {}
    for path in sorted({each.path for each in all_routes() if each.method == "GET"}):
        if "{chat_id}" in path and not path.endswith("/events"):
            for seq in range(1, 5):
                where = path.format(chat_id=chat_id, seq=seq)
                for query in ("", f"?version={before}", f"?order=asc&version={before}"):
                    places[where + query] = str((await reader.get(where + query)).raw)
    for query in ("", f"?q={TOKEN}", "?owner=others"):
        places[f"chats{query}"] = str((await reader.get(f"chats{query}")).raw)
    for after in (None, *(f"{version}.0.0" for version in range(1, before + 1))):
        places[f"events after {after}"] = await streamed(reader, chat_id, after)
    places["socket"] = await by_socket(reader, chat_id, f"{before}.0.0")
    for body in ({}, {"version": before}, {"up_to_seq": 1}, {"up_to_seq": 2, "version": before}):
        made = await reader.post(f"{chat}/fork", body)
        if made.status == 201:
            copy = f"chats/{made.json['chat_id']}"
            said = (await reader.get(copy)).raw + (await reader.get(f"{copy}/messages")).raw
            places[f"fork {body}"] = str(said)
    return [place for place, said in places.items() if TOKEN in said]


@requirement("L128")
async def test_a_reader_finds_the_edited_text_nowhere(cell: Cell) -> None:
    chat_id, before, bob = await planted(cell)

    assert await leaks(bob, chat_id, before) == []

    chat = f"chats/{chat_id}"
    for refused in (
        await bob.get(f"{chat}/messages?version={before}"),
        await bob.get(f"{chat}/branches"),
        await bob.post(f"{chat}/fork", {"version": before}),
    ):
        assert (refused.status, refused.code) == (404, "chat_not_found")
    assert "Nothing here" in str((await bob.get(f"{chat}/messages")).raw)
    assert "Nothing here" in await streamed(bob, chat_id, None)


async def test_the_owner_finds_the_edited_text(cell: Cell) -> None:
    """So that the search above looks where the text would be."""
    chat_id, before, _ = await planted(cell)

    found = await leaks(cell.admin, chat_id, before)

    assert f"/api/v1/chats/{chat_id}/messages?version={before}" in found
    assert [place for place in found if place.startswith("fork") and "version" in place]


async def test_a_reader_who_may_read_branches_is_seen(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: a rule that lets a reader of a share name a version."""
    chat_id, before, bob = await planted(cell)
    rules = cast("dict[Any, Any]", policy.POLICY)
    shared = AccessRule((Condition.OWNER, Condition.SHARED), Scope.READ)
    monkeypatch.setitem(rules, (Action.READ_BRANCHES, TargetKind.CHAT), shared)

    assert await leaks(bob, chat_id, before) != []


async def test_a_server_made_title_goes_with_the_message_that_it_names(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat(f'{TOKEN} one [[sim: say "a"]]')
    await admin.until(chat_id, "idle")
    assert TOKEN in (await admin.get(f"chats/{chat_id}")).json["title"]
    sent = await admin.post(f"chats/{chat_id}/messages", {"text": 'two [[sim: say "b"]]'})
    await admin.until(chat_id, "idle")

    async def title_after_edit(seq: int, text: str) -> tuple[str, str]:
        edited = await admin.post(f"chats/{chat_id}/messages/{seq}/edit", {"text": text})
        assert edited.status == 202, edited.raw
        chat = await admin.until(chat_id, "idle")
        return chat["title"], chat["title_source"]

    second = sent.json["message_seq"]
    assert TOKEN in (await title_after_edit(second, 'three [[sim: say "c"]]'))[0]
    title, source = await title_after_edit(1, 'four [[sim: say "d"]]')
    assert title.startswith("four")
    assert source == "first_words"
    await admin.ask("PATCH", f"chats/{chat_id}", {"title": "mine"})
    first = (await admin.get(f"chats/{chat_id}/messages")).json["data"][0]["seq"]
    assert await title_after_edit(first, 'five [[sim: say "e"]]') == ("mine", "user")


async def test_a_restore_takes_the_title_of_the_hidden_message_back(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat('one [[sim: say "a"]]')
    before = (await admin.until(chat_id, "idle"))["version"]
    await admin.post(f"chats/{chat_id}/messages/1/edit", {"text": f'{TOKEN} [[sim: say "b"]]'})
    await admin.until(chat_id, "idle")
    assert TOKEN in (await admin.get(f"chats/{chat_id}")).json["title"]

    restored = await admin.post(f"chats/{chat_id}/restore", {"version": before})

    assert restored.status == 200, restored.raw
    assert (await admin.get(f"chats/{chat_id}")).json["title"] is None
