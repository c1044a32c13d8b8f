"""The verbs of people over HTTP: queue, edit, go back, steer, list."""

from typing import Any

from tests.requirements import requirement
from tests.support.web import Cell, Client

SLOW = "[[sim: words=4000 | rate=20]]"


async def texts(client: Client, chat_id: str, query: str = "") -> list[str]:
    page = (await client.get(f"chats/{chat_id}/messages{query}")).json
    return [part["text"] for message in page["messages"] for part in message["parts"]]


async def first_word(client: Client, chat_id: str) -> None:
    """An interrupt before the first word keeps no reply, and the next prompt begins with both
    messages: the simulator would play the first one again."""
    async with client.stream(chat_id) as events:
        async for event in events:
            if event["event"] == "part":
                return


def say(text: str) -> dict[str, Any]:
    return {"text": f'[[sim: say "{text}"]]'}


async def test_what_waits_is_moved_taken_deleted_and_said_now(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat(SLOW)
    chat, admin = f"chats/{chat_id}", cell.admin
    queued = [
        (await admin.post(f"{chat}/messages", say(text))).json["queued_id"] for text in "abcd"
    ]
    a, b, c, d = queued
    assert None not in queued

    async def order() -> list[int]:
        return [each["queued_id"] for each in (await admin.get(chat)).json["queue"]]

    moved = await admin.ask("PUT", f"{chat}/queue/{d}/place", {"before": a})
    assert moved.status == 200, moved.raw
    assert await order() == [d, a, b, c]

    taken = await admin.post(f"{chat}/queue/{b}/take", idempotency_key="take")
    assert taken.json["parts"] == [{"kind": "text", "text": say("b")["text"]}]
    again = await admin.post(f"{chat}/queue/{b}/take", idempotency_key="take")
    assert again.raw == taken.raw
    assert (await admin.post(f"{chat}/queue/{b}/take")).code == "queued_not_found"

    assert (await admin.ask("DELETE", f"{chat}/queue/{a}")).status == 200
    assert await order() == [d, c]
    await first_word(admin, chat_id)
    assert (await admin.post(f"{chat}/queue/{c}/promote")).status == 200
    await admin.until(chat_id, "idle")
    assert (await texts(admin, chat_id))[2:] == [
        *(say("c")["text"], "c"),
        *(say("d")["text"], "d"),
    ]


@requirement("F04")
async def test_an_edit_hides_and_a_restore_or_a_fork_brings_back(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    version = (await admin.get(f"chats/{chat_id}")).json["version"]

    edited = await admin.ask("PUT", f"chats/{chat_id}/messages/1", say("two"))
    assert edited.status == 202, edited.raw
    await admin.until(chat_id, "idle")
    assert await texts(admin, chat_id) == [say("two")["text"], "two"]
    assert await texts(admin, chat_id, f"?as_of={version}") == [say("one")["text"], "one"]
    paths = (await admin.get(f"chats/{chat_id}/paths")).json["paths"]
    assert [path["messages"] for path in paths] == [2]

    forked = await admin.post(f"chats/{chat_id}/fork", {"as_of": version})
    assert forked.status == 201, forked.raw
    assert await texts(admin, forked.json["chat_id"]) == [say("one")["text"], "one"]

    restored = await admin.post(f"chats/{chat_id}/restore", {"version": version})
    assert restored.status == 200, restored.raw
    assert await texts(admin, chat_id) == [say("one")["text"], "one"]
    assert (await admin.ask("PUT", f"chats/{chat_id}/messages/2", say("x"))).code == "not_editable"


async def test_an_interrupt_keeps_what_was_said(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat(SLOW)
    await first_word(admin, chat_id)
    assert (await admin.post(f"chats/{chat_id}/interrupt")).status == 202
    await admin.until(chat_id, "idle")
    page = (await admin.get(f"chats/{chat_id}/messages")).json["messages"]
    assert page[-1]["ending"] == "interrupted"
    refused = await admin.post(f"chats/{chat_id}/retry", {})
    assert (refused.status, refused.code, refused.json["standing"]) == (409, "not_lawful", "idle")


@requirement("L93")
async def test_pages_are_filled_and_go_on_where_the_last_one_ended(cell: Cell) -> None:
    admin, bob = cell.admin, await cell.member("Bob")
    mine = [await admin.new_chat() for _ in range(5)]
    for _ in range(3):
        await bob.new_chat()
    seen: list[str] = []
    after = ""
    while True:
        page = (await admin.get(f"chats?limit=2{after}")).json
        seen += [chat["chat_id"] for chat in page["chats"]]
        if page["after"] is None:
            break
        assert len(page["chats"]) == 2
        await admin.new_chat()  # what comes meanwhile moves nothing
        after = f"&after={page['after']}"
    assert seen == mine[::-1]


async def test_lists_are_named_pinned_labelled_and_put_away(cell: Cell) -> None:
    admin = cell.admin
    one, two = await admin.new_chat(), await admin.new_chat()
    for what, body in {
        "title": {"title": "  A   name "},
        "pinned": {"pinned": True},
        "labels": {"labels": ["work", "work", "home"]},
    }.items():
        assert (await admin.ask("PUT", f"chats/{one}/{what}", body)).status == 200
    first = (await admin.get("chats?order=pinned_first")).json["chats"][0]
    assert (first["chat_id"], first["title"], first["labels"]) == (one, "A name", ["work", "home"])
    assert first["pinned"] is True
    found = (await admin.get("chats?label=work&q=NAME")).json["chats"]
    assert [chat["chat_id"] for chat in found] == [one]

    assert (await admin.post(f"chats/{one}/archive")).status == 200
    listed = (await admin.get("chats")).json["chats"]
    assert [chat["chat_id"] for chat in listed] == [two]
    assert (await admin.post(f"chats/{one}/messages", say("x"))).code == "not_lawful"
    assert (await admin.post(f"chats/{one}/unarchive")).status == 200


async def test_users_and_keys_by_an_admin(cell: Cell) -> None:
    admin = cell.admin
    made = (await admin.post("users", {"name": "Bob", "email": "bob@acme.example"})).json
    again = await admin.post("users", {"name": "Bob", "email": "BOB@acme.example"})
    assert again.code == "email_taken"
    user = f"users/{made['user_id']}"
    assert (await admin.ask("PUT", f"{user}/role", {"role": "admin"})).json["role"] == "admin"
    assert (await admin.post(f"{user}/disable")).json["disabled_at"] is not None
    assert (await admin.post(f"{user}/enable")).json["disabled_at"] is None
    weak = await admin.ask("PUT", f"{user}/password", {"password": "short"})
    assert weak.code == "password_refused"
    names: list[str] = []
    after = ""
    while True:
        page = (await admin.get(f"users?limit=1{after}")).json
        names += [each["name"] for each in page["users"]]
        if page["after"] is None:
            break
        after = f"&after={page['after']}"
    assert names == ["Ada", "Bob"]
    me = (await admin.get("me")).json["user"]["user_id"]
    assert (await admin.post(f"{user}/disable")).status == 200
    assert (await admin.post(f"users/{me}/disable")).code == "last_admin"
    actions = [entry["action"] for entry in (await admin.get("audit")).json["entries"]]
    assert actions[0] == "user.disabled"
    assert actions.count("user.created") == 1


async def test_whoever_may_read_a_chat_may_go_on_from_it_in_one_of_their_own(cell: Cell) -> None:
    admin, bob = cell.admin, await cell.member("Bob")
    chat_id = await admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    await admin.post(f"chats/{chat_id}/messages", say("two"))
    await admin.until(chat_id, "idle")
    bobs_id = (await bob.get("me")).json["user"]["user_id"]
    assert (await bob.post(f"chats/{chat_id}/fork", {})).code == "chat_not_found"
    assert (await admin.ask("PUT", f"chats/{chat_id}/shares/{bobs_id}")).status == 204

    made = await bob.post(f"chats/{chat_id}/fork", {"at": 2}, idempotency_key="f")
    assert (made.status, made.json["version"]) == (201, 1), made.raw
    fork = made.json["chat_id"]
    assert made.headers["location"] == f"/api/v1/chats/{fork}"
    again = await bob.post(f"chats/{chat_id}/fork", {"at": 2}, idempotency_key="f")
    assert again.json == {**made.json, "repeated": True}

    assert await texts(bob, fork) == [say("one")["text"], "one"]
    assert (await bob.get(f"chats/{fork}")).json["owner_id"] == bobs_id
    assert (await bob.post(f"chats/{fork}/messages", say("three"))).status == 202
    await bob.until(fork, "idle")
    assert (await texts(bob, fork))[-1] == "three"
    assert (await texts(admin, chat_id))[-1] == "two"
    assert (await admin.get(f"chats/{fork}")).code == "chat_not_found"
    refused = await bob.post(f"chats/{chat_id}/fork", {"at": 9})
    assert (refused.status, refused.code, refused.json["standing"]) == (409, "not_forkable", "idle")
