"""Two people write: whoever has not seen what is there now is told so, and changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.support.web import Answer, Cell, Client

AT_ONCE: Final = 8
NEVER: Final = ('"x"', '"1.2.3.4.5.6"', '"99999999999999999999"', "nonsense", '""')
"""Tags that nothing has."""


@dataclass(frozen=True)
class Write:
    """`body`: of the nth writer."""

    method: str
    path: str
    body: Callable[[int], Any]
    status: int = 200


CHAT: Final = {
    "title": Write("PATCH", "", lambda n: {"title": f"t{n}"}),
    "labels": Write("PATCH", "", lambda n: {"labels": [f"l{n}"]}),
    "pinned": Write("PATCH", "", lambda n: {"pinned": n % 2 == 0}),
    "edit": Write("POST", "/messages/{seq}/edit", lambda n: {"text": f'[[sim: say "{n}"]]'}, 202),
    "restore": Write("POST", "/restore", lambda _: {"version": 2}),
}
USER: Final = {
    "role": Write("PATCH", "", lambda n: {"role": ("admin", "member")[n % 2]}),
    "password": Write("PUT", "/password", lambda n: {"password": f"a long password {n}"}),
    "disable": Write("PATCH", "", lambda _: {"disabled": True}),
    "enable": Write("PATCH", "", lambda _: {"disabled": False}),
}
PROVIDER: Final = {
    "name": Write("PATCH", "", lambda n: {"name": f"acme {n}"}),
    "enabled": Write("PATCH", "", lambda n: {"is_enabled": n % 2 == 0}),
}
MODEL: Final = {
    "name": Write("PATCH", "", lambda n: {"name": f"added {n}"}),
    "settings": Write("PATCH", "", lambda n: {"settings": {"output_max": 1_000 + n}}),
}
SETTINGS: Final = {"": Write("PATCH", "", lambda n: {"instructions": f"i{n}"})}


async def written(client: Client, where: str, write: Write, n: int, tag: str) -> Answer:
    path = where + write.path
    if "{seq}" in path:  # an edited message has another number
        first = (await client.get(f"{where}/messages")).json.get("data", [{"seq": 1}])[0]
        path = path.format_map(first)
    return await client.ask(write.method, path, write.body(n), if_match=tag)


async def check(client: Client, where: str, name: str, write: Write) -> None:
    before = (await client.get(where)).headers["etag"]
    async with asyncio.TaskGroup() as tasks:
        writers = [
            tasks.create_task(written(client, where, write, n, before)) for n in range(AT_ONCE)
        ]
    answers = [writer.result() for writer in writers]
    won = [answer for answer in answers if answer.status == write.status]
    assert len(won) == 1, (name, [answer.raw for answer in answers])
    for lost in answers:
        if lost is won[0]:
            continue
        assert (lost.status, lost.code) == (412, "precondition_failed"), (name, lost.raw)
        assert lost.headers["etag"] == lost.json["etag"] != before, name
    if where.startswith("chats"):
        await client.until(where.split("/")[1], "idle")

    stale = await written(client, where, write, 0, before)
    assert stale.code == "precondition_failed", name
    for never in (*NEVER, f"W/{before}"):
        assert (await written(client, where, write, 0, never)).status == 412, (name, never)
    now = (await client.get(where)).headers["etag"]
    assert now == stale.headers["etag"] or where.startswith("chats"), name
    accepted = await written(client, where, write, 1, f'"9", {now}')
    assert accepted.status == write.status, (name, accepted.raw)
    assert (await written(client, where, write, 1, "*")).status == write.status, name


async def test_of_those_who_saw_the_same_chat_one_writes(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat('[[sim: say "one"]]')
    await admin.until(chat_id, "idle")
    for name, write in CHAT.items():
        await check(admin, f"chats/{chat_id}", name, write)
        await admin.until(chat_id, "idle")
    unknown = "chats/chat_01890000000070008000000000000000"
    for write in CHAT.values():
        assert (await written(admin, unknown, write, 0, '"1.1.0.0"')).code == "chat_not_found"


async def test_of_those_who_saw_the_same_user_or_settings_one_writes(cell: Cell) -> None:
    made = await cell.admin.post("users", {"name": "Bob", "email": "bob@acme.example"})
    where = f"users/{made.json['id']}"
    assert made.headers["etag"] == (await cell.admin.get(where)).headers["etag"]
    for name, write in USER.items():
        await check(cell.admin, where, name, write)
    for name, write in SETTINGS.items():
        await check(cell.admin, "organization/settings", name, write)
    me = (await cell.admin.get("me")).json["user"]["id"]
    tag = (await cell.admin.get(f"users/{me}")).headers["etag"]
    refused = await cell.admin.ask("PATCH", f"users/{me}", {"disabled": True}, if_match=tag)
    assert refused.code == "last_admin", "the tag was right: that is not the reason"


async def test_of_those_who_saw_the_same_provider_or_model_one_writes(cell: Cell) -> None:
    admin = cell.admin
    simulator = {"vendor": "simulator-anthropic", "base_url": cell.replicas.simulator.url}
    provider = await admin.post("organization/providers", {"name": "acme", **simulator})
    given = {"name": "added", "provider_id": provider.json["id"]}
    model = await admin.post("organization/models", given)
    for made, kind, writes in ((provider, "providers", PROVIDER), (model, "models", MODEL)):
        where = f"organization/{kind}/{made.json['id']}"
        listed = (await admin.get(f"organization/{kind}")).json["data"][-1]["etag"]
        assert listed == made.headers["etag"] == made.json["etag"]
        for name, write in writes.items():
            await check(admin, where, name, write)
    # A deletion of what was changed meanwhile is refused as well; the model goes first.
    for made, kind in ((model, "models"), (provider, "providers")):
        where = f"organization/{kind}/{made.json['id']}"
        late = await admin.ask("DELETE", where, if_match=made.headers["etag"])
        assert (late.status, late.code) == (412, "precondition_failed")
        now = (await admin.get(where)).headers["etag"]
        assert late.headers["etag"] == late.json["etag"] == now
        assert (await admin.ask("DELETE", where, if_match=now)).status == 204
        assert (await admin.get(where)).status == 404


async def test_a_turn_that_goes_on_disturbs_nobody_who_renames(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat()
    tag = (await admin.get(f"chats/{chat_id}")).headers["etag"]
    assert (await admin.post(f"chats/{chat_id}/messages", {"text": "hello"})).status == 202
    await admin.until(chat_id, "idle")
    assert (await admin.get(f"chats/{chat_id}")).headers["etag"] != tag
    named = await admin.ask("PATCH", f"chats/{chat_id}", {"title": "x"}, if_match=tag)
    assert named.status == 200
    # But who edits must have seen what was said.
    edit = {"text": "hello again"}
    path = f"chats/{chat_id}/messages/1/edit"
    assert (await admin.post(path, edit, if_match=tag)).code == "precondition_failed"


async def test_a_repeat_by_key_is_answered_the_same_although_its_tag_is_old(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat('[[sim: say "one"]]')
    await admin.until(chat_id, "idle")
    tag = (await admin.get(f"chats/{chat_id}")).headers["etag"]
    path, edit = f"chats/{chat_id}/messages/1/edit", {"text": '[[sim: say "two"]]'}
    first = await admin.post(path, edit, if_match=tag, idempotency_key="k")
    again = await admin.post(path, edit, if_match=tag, idempotency_key="k")
    assert (first.status, again.status) == (202, 202), again.raw
    assert again.json == first.json
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


USERS: Final = {"name": "Bob", "email": "bob@acme.example", "password": "a long password"}


async def test_accounts_and_keys_are_made_once_per_key(cell: Cell) -> None:
    admin = cell.admin
    async with asyncio.TaskGroup() as tasks:
        made = [
            tasks.create_task(admin.post("users", USERS, idempotency_key="u")) for _ in range(5)
        ]
    answers = [each.result() for each in made]
    assert {(answer.status, answer.raw) for answer in answers} == {(201, answers[0].raw)}
    assert len((await admin.get("users")).json["data"]) == 2
    other = {**USERS, "name": "Eve"}
    another = {**USERS, "email": "eve@acme.example"}
    for body in (other, another):
        refused = await admin.post("users", body, idempotency_key="u")
        assert refused.code == "idempotency_key_reused"
    assert len((await admin.get("users")).json["data"]) == 2, "refused, and not made"
    assert (await admin.post("users", other)).code == "email_taken"
    for _ in range(2):
        assert (await admin.post("users", other, idempotency_key="v")).code == "email_taken"

    key = {"name": "k", "scopes": ["read"]}
    session = await admin.signed_in()
    async with asyncio.TaskGroup() as tasks:
        keys = [
            tasks.create_task(session.post("api-keys", key, idempotency_key="k")) for _ in range(5)
        ]
    answers = [each.result() for each in keys]
    first = [answer for answer in answers if answer.status == 201]
    assert len(first) == 1, "one secret, one key"
    for answer in answers:
        if answer is not first[0]:
            assert (answer.status, answer.code) == (409, "api_key_already_created")
            assert answer.json["api_key_id"] == first[0].json["id"]
    listed = [each for each in (await admin.get("api-keys")).json["data"] if each["name"] == "k"]
    assert len(listed) == 1
    again = await session.post("api-keys", {**key, "scopes": ["write"]}, idempotency_key="k")
    assert again.code == "idempotency_key_reused"


async def test_what_is_kept_of_a_request_is_no_help_in_guessing_its_password(cell: Cell) -> None:
    """The same request with another password has the same digest: it is not made of it."""
    made = await cell.admin.post("users", USERS, idempotency_key="u")
    other = {**USERS, "password": "another long password"}
    again = await cell.admin.post("users", other, idempotency_key="u")
    assert (again.status, again.raw) == (201, made.raw)
