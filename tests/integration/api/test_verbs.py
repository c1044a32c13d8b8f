"""The verbs of people over HTTP: queue, edit, go back, steer, list."""

from typing import Any

from tests.requirements import requirement
from tests.support.web import Cell, Client

SLOW = "[[sim: words=4000 | rate=20]]"


async def texts(client: Client, chat_id: str, query: str = "") -> list[str]:
    page = (await client.get(f"chats/{chat_id}/messages{query}")).json
    return [part["text"] for message in page["data"] for part in message["parts"]]


async def first_word(client: Client, chat_id: str) -> None:
    """An interrupt before the first word keeps no reply, and the next prompt begins with both
    messages: the simulator would play the first one again."""
    async with client.stream(chat_id) as events:
        async for event in events:
            if event["type"] == "preview.delta":
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

    moved = await admin.ask("PATCH", f"{chat}/queue/{d}", {"before_id": a})
    assert moved.status == 200, moved.raw
    assert await order() == [d, a, b, c]

    waiting = (await admin.get(f"{chat}/queue")).json
    assert [each["queued_id"] for each in waiting["data"]] == [d, a, b, c]
    taken = await admin.ask("DELETE", f"{chat}/queue/{b}", idempotency_key="take")
    assert [part["text"] for part in taken.json["parts"]] == [say("b")["text"]]
    again = await admin.ask("DELETE", f"{chat}/queue/{b}", idempotency_key="take")
    assert again.raw == taken.raw
    assert (await admin.ask("DELETE", f"{chat}/queue/{b}")).code == "queued_message_not_found"

    assert (await admin.ask("DELETE", f"{chat}/queue/{a}")).status == 200
    assert await order() == [d, c]
    await first_word(admin, chat_id)
    assert (await admin.post(f"{chat}/queue/{c}/send-now")).status == 202
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

    edited = await admin.post(f"chats/{chat_id}/messages/1/edit", say("two"))
    assert edited.status == 202, edited.raw
    await admin.until(chat_id, "idle")
    assert await texts(admin, chat_id) == [say("two")["text"], "two"]
    assert await texts(admin, chat_id, f"?version={version}") == [say("one")["text"], "one"]
    paths = (await admin.get(f"chats/{chat_id}/branches")).json["data"]
    assert [path["messages"] for path in paths] == [2]

    forked = await admin.post(f"chats/{chat_id}/fork", {"version": version})
    assert forked.status == 201, forked.raw
    assert await texts(admin, forked.json["chat_id"]) == [say("one")["text"], "one"]

    restored = await admin.post(f"chats/{chat_id}/restore", {"version": version})
    assert restored.status == 200, restored.raw
    assert await texts(admin, chat_id) == [say("one")["text"], "one"]
    assert (await admin.post(f"chats/{chat_id}/messages/2/edit", say("x"))).code == "not_editable"


async def test_an_interrupt_keeps_what_was_said(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat(SLOW)
    await first_word(admin, chat_id)
    assert (await admin.post(f"chats/{chat_id}/interrupt")).status == 202
    await admin.until(chat_id, "idle")
    page = (await admin.get(f"chats/{chat_id}/messages")).json["data"]
    assert page[-1]["finish_reason"] == "interrupted"
    refused = await admin.post(f"chats/{chat_id}/retry", {})
    assert (refused.status, refused.code) == (409, "chat_state_conflict")
    assert (refused.json["command"], refused.json["chat_status"]) == ("retry", "idle")


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
        seen += [chat["id"] for chat in page["data"]]
        if page["next_cursor"] is None:
            break
        assert len(page["data"]) == 2
        await admin.new_chat()  # what comes meanwhile moves nothing
        after = f"&cursor={page['next_cursor']}"
    assert seen == mine[::-1]


async def test_lists_are_named_pinned_labelled_and_put_away(cell: Cell) -> None:
    admin = cell.admin
    one, two = await admin.new_chat(), await admin.new_chat()
    named = await admin.ask("PATCH", f"chats/{one}", {"title": "  A   name "})
    assert (named.json["title"], named.json["pinned"], named.json["queue"]) == ("A name", False, [])
    both = {"pinned": True, "labels": ["work", "work", "home"]}
    assert (await admin.ask("PATCH", f"chats/{one}", both)).json["title"] == "A name"
    untitled = await admin.ask("PATCH", f"chats/{two}", {"title": None})
    assert (untitled.status, untitled.json["labels"]) == (200, [])
    first = (await admin.get("chats?pinned=first")).json["data"][0]
    assert (first["id"], first["title"], first["labels"]) == (one, "A name", ["work", "home"])
    assert first["pinned"] is True
    found = (await admin.get("chats?label=work&q=NAME")).json["data"]
    assert [chat["id"] for chat in found] == [one]

    archived = await admin.post(f"chats/{one}/archive")
    again = await admin.post(f"chats/{one}/archive")
    assert (archived.status, again.status) == (200, 200)
    assert again.json["version"] == archived.json["version"]
    everything = (await admin.get("chats?archived=any")).json["data"]
    assert [chat["id"] for chat in everything] == [two, one]
    listed = (await admin.get("chats")).json["data"]
    assert [chat["id"] for chat in listed] == [two]
    assert (await admin.post(f"chats/{one}/messages", say("x"))).code == "chat_state_conflict"
    assert (await admin.post(f"chats/{one}/unarchive")).status == 200
    assert (await admin.post(f"chats/{one}/unarchive")).status == 200
    assert (await admin.post(f"chats/{one}/interrupt")).status == 202


async def test_messages_are_read_one_by_one_and_by_page_in_both_orders(cell: Cell) -> None:
    admin, chat_id = cell.admin, await cell.admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    await admin.post(f"chats/{chat_id}/messages", say("two"))
    await admin.until(chat_id, "idle")

    async def pages(order: str) -> list[list[int]]:
        found: list[list[int]] = []
        cursor = ""
        while True:
            page = (await admin.get(f"chats/{chat_id}/messages?limit=3&order={order}{cursor}")).json
            found.append([message["seq"] for message in page["data"]])
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    assert await pages("desc") == [[2, 3, 4], [1]]
    assert await pages("asc") == [[1, 2, 3], [4], []]
    newest = (await admin.get(f"chats/{chat_id}/messages?limit=3")).json["next_cursor"]
    wrong = await admin.get(f"chats/{chat_id}/messages?order=asc&cursor={newest}")
    assert wrong.code == "invalid_request"
    both = await admin.get(f"chats/{chat_id}/messages?before_seq=2&cursor={newest}")
    assert both.code == "invalid_request"
    before = (await admin.get(f"chats/{chat_id}/messages?before_seq=2")).json["data"]
    assert [message["seq"] for message in before] == [1]
    third = (await admin.get(f"chats/{chat_id}/messages/3")).json
    assert (third["seq"], third["role"]) == (3, "user")
    assert (await admin.get(f"chats/{chat_id}/messages/5")).code == "message_not_found"


async def test_branches_are_paged(cell: Cell) -> None:
    admin, chat_id = cell.admin, await cell.admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    for seq, text in ((1, "two"), (3, "three")):
        await admin.post(f"chats/{chat_id}/messages/{seq}/edit", say(text))
        await admin.until(chat_id, "idle")
    first = (await admin.get(f"chats/{chat_id}/branches?limit=1")).json
    rest = (await admin.get(f"chats/{chat_id}/branches?limit=1&cursor={first['next_cursor']}")).json
    assert rest["next_cursor"] is None
    assert [each["first_seq"] for each in (*first["data"], *rest["data"])] == [3, 1]


async def test_users_and_keys_by_an_admin(cell: Cell) -> None:
    admin = cell.admin
    made = (await admin.post("users", {"name": "Bob", "email": "bob@acme.example"})).json
    again = await admin.post("users", {"name": "Bob", "email": "BOB@acme.example"})
    assert again.code == "email_taken"
    user = f"users/{made['id']}"
    assert (await admin.ask("PATCH", user, {"role": "admin"})).json["role"] == "admin"
    assert (await admin.ask("PATCH", user, {"disabled": True})).json["disabled_at"] is not None
    both = await admin.ask("PATCH", user, {"role": "member", "disabled": False})
    assert (both.json["role"], both.json["disabled_at"]) == ("member", None)
    for nothing in ({}, {"role": None}, {"role": "owner"}, {"disabled": "yes"}):
        assert (await admin.ask("PATCH", user, nothing)).code == "invalid_request"
    weak = await admin.ask("PUT", f"{user}/password", {"password": "short"})
    assert weak.code == "weak_password"
    assert [each["name"] for each in await taken(admin, "users", 1)] == ["Ada", "Bob"]
    found = (await admin.get("users?q=ACME%20bo&limit=1")).json
    assert ([each["name"] for each in found["data"]], found["next_cursor"]) == (["Bob"], None)
    assert (await admin.get(f"users?q={'x' * 201}")).code == "invalid_request"
    me = (await admin.get("me")).json["user"]["id"]
    assert (await admin.ask("PATCH", user, {"disabled": True})).status == 200
    for change in ({"disabled": True}, {"role": "member"}, {"role": "admin", "disabled": True}):
        assert (await admin.ask("PATCH", f"users/{me}", change)).code == "last_admin"
    log = await taken(admin, "organization/audit-log", 2)
    actions = [entry["action"] for entry in log]
    assert actions[0] == "user.disabled"
    assert "user.updated" in actions
    assert actions.count("user.created") == 1
    assert log[0]["credential_type"] == "api_key"


async def taken(client: Client, path: str, limit: int) -> list[dict[str, Any]]:
    """The whole list, page by page; the last page has no cursor, however full it is."""
    whole = (await client.get(f"{path}{'&' if '?' in path else '?'}limit=200")).json["data"]
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = (await client.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{more}")).json
        found += page["data"]
        cursor = page["next_cursor"]
        pages += 1
    assert found == whole
    assert pages == max(1, -(-len(whole) // limit))
    return found


async def test_keys_and_sessions_are_listed_by_user_and_page_by_page(cell: Cell) -> None:
    admin, bob = cell.admin, await cell.member("Bob")
    bobs_id = (await bob.get("me")).json["user"]["id"]
    for number in range(3):
        await admin.new_key(f"k{number}")
    for path in ("api-keys", "sessions"):
        everything = await taken(admin, f"{path}?user_id=any", 1)
        own = await taken(admin, path, 2)
        of_bob = await taken(admin, f"{path}?user_id={bobs_id}", 1)
        assert {each["user_id"] for each in of_bob} == {bobs_id}
        assert len(own) + len(of_bob) == len(everything)
        assert await taken(bob, f"{path}?user_id=any", 1) == of_bob
        assert await taken(bob, f"{path}?user_id=me", 1) == of_bob
        for wrong in ("user_id=x", "cursor=x", "cursor=eCB5"):
            assert (await admin.get(f"{path}?{wrong}")).code == "invalid_request"
    assert [each["name"] for each in (await taken(admin, "api-keys", 2))[:3]] == ["k2", "k1", "k0"]


async def test_whoever_may_read_a_chat_may_go_on_from_it_in_one_of_their_own(cell: Cell) -> None:
    admin, bob = cell.admin, await cell.member("Bob")
    chat_id = await admin.new_chat(say("one")["text"])
    await admin.until(chat_id, "idle")
    await admin.post(f"chats/{chat_id}/messages", say("two"))
    await admin.until(chat_id, "idle")
    bobs_id = (await bob.get("me")).json["user"]["id"]
    assert (await bob.post(f"chats/{chat_id}/fork", {})).code == "chat_not_found"
    assert (await admin.ask("PUT", f"chats/{chat_id}/shares/{bobs_id}")).status == 204

    made = await bob.post(f"chats/{chat_id}/fork", {"up_to_seq": 2}, idempotency_key="f")
    assert (made.status, made.json["version"]) == (201, 1), made.raw
    fork = made.json["chat_id"]
    assert made.headers["location"] == f"/api/v1/chats/{fork}"
    again = await bob.post(f"chats/{chat_id}/fork", {"up_to_seq": 2}, idempotency_key="f")
    assert again.json == made.json
    assert again.headers["idempotent-replayed"] == "true"

    assert await texts(bob, fork) == [say("one")["text"], "one"]
    assert (await bob.get(f"chats/{fork}")).json["owner_id"] == bobs_id
    assert (await bob.post(f"chats/{fork}/messages", say("three"))).status == 202
    await bob.until(fork, "idle")
    assert (await texts(bob, fork))[-1] == "three"
    assert (await texts(admin, chat_id))[-1] == "two"
    assert (await admin.get(f"chats/{fork}")).code == "chat_not_found"
    refused = await bob.post(f"chats/{chat_id}/fork", {"up_to_seq": 9})
    assert (refused.status, refused.code) == (409, "not_forkable")
    assert refused.json["chat_status"] == "idle"
