"""Every route × every actor: nobody gets at what is not theirs, or learns that it is there (A1)."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import aiohttp
import asyncpg
import orjson
import pytest

from holdfast.domain.events import EventKind
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.policy import OrgRole, Scope
from holdfast.stream.watcher import WatchKind
from holdfast.web.app import ANONYMOUS, PREFIX, all_routes
from tests.requirements import requirement
from tests.support.identity import PASSWORD, principal
from tests.support.web import OUR_ORIGIN, Answer, Cell, Client

MESSAGE: Final = {"text": "foreign words"}
BODIES: Final[Mapping[str, Any]] = {
    "POST /chats": {},
    "POST /chats/{chat_id}/fork": {},
    "PUT /chats/{chat_id}/tools": {"tools": []},
    "PUT /chats/{chat_id}/title": {"title": "foreign"},
    "PUT /chats/{chat_id}/pinned": {"pinned": True},
    "PUT /chats/{chat_id}/labels": {"labels": ["foreign"]},
    "PUT /chats/{chat_id}/read": {"seq": 1},
    "POST /chats/{chat_id}/messages": MESSAGE,
    "PUT /chats/{chat_id}/messages/{seq}": MESSAGE,
    "PUT /chats/{chat_id}/queue/{queued_id}/place": {"before": None},
    "POST /chats/{chat_id}/retry": {},
    "POST /chats/{chat_id}/restore": {"version": 1},
    "POST /chats/{chat_id}/results": {"results": [{"call_id": "c1", "output": "x"}]},
    "POST /chats/{chat_id}/decisions": {
        "call_id": "c1",
        "verdict": "approve",
        "digest": "0" * 64,
    },
    "POST /me/password": {"current": "not the password", "new": "another long password"},
    "POST /users": {"name": "New", "email": "new@fresh.example"},
    "PUT /users/{user_id}/role": {"role": "admin"},
    "PUT /users/{user_id}/password": {"password": "another long password"},
    "POST /sign-ins": {"email": "nobody@acme.example", "password": PASSWORD},
    "POST /keys": {"name": "new", "scopes": ["read"]},
    "PUT /settings": {"instructions": "foreign"},
    "PUT /chats/{chat_id}/workspace": {},
}
"""What a valid request says; routes that are not here take no body."""

KEYS_DO_NOT: Final = {"DELETE /sign-ins/current", "POST /me/password"} | {
    "POST /oidc/{provider}/link"
}
"""For browsers: a key is refused, whosoever it is."""
COLLEAGUES_MAY: Final = {"GET /users/{user_id}"}
UNSCOPED: Final = {"GET /chats", "GET /me", "GET /users", "GET /keys", "GET /sign-ins"} | {
    "GET /models",
    "GET /templates",
    "GET /watch",
    "WEBSOCKET /watch/socket",
}
"""Without an id in them: everybody may ask, and gets what is theirs."""
ADMINS_ONLY: Final = {"GET /oversight/chats", "GET /audit", "POST /users", "GET /metrics"} | {
    "GET /settings",
    "PUT /settings",
}
ROUTES: Final = [(each.method, each.path) for each in all_routes()]


@dataclass
class Scene:
    """Whose things are at stake, and who comes for them."""

    cell: Cell
    ids: dict[str, str]
    actors: dict[str, Client]
    canaries: dict[str, list[str]]


@pytest.fixture
async def scene(cell: Cell) -> Scene:
    admin = cell.admin
    chat_id = await admin.new_chat('[[sim: say "canary-words"]]')
    await admin.until(chat_id, "idle")
    await admin.ask("PUT", f"chats/{chat_id}/title", {"title": "canary-title"})
    victim = await admin.post("users", {"name": "Victim", "email": "victim@acme.example"})
    login = {"email": "ada@acme.example", "password": PASSWORD}
    assert (await cell.nobody.post("sign-ins", login, origin=OUR_ORIGIN)).status == 201
    sign_in = (await admin.get("sign-ins")).json["sign_ins"][0]["sign_in_id"]
    spare = await admin.post("keys", {"name": "canary-key"})
    ids = {
        "chat_id": chat_id,
        "user_id": victim.json["user_id"],
        "sign_in_id": sign_in,
        "key_id": spare.json["key_id"],
        "seq": "1",
        "queued_id": "1",
        "provider": "nobodys-provider",
    }
    inside = [chat_id, "canary-words", "canary-title", "canary-key", sign_in]
    outside = [*inside, ids["user_id"], "Victim", "acme.example"]
    actors = {
        "colleague": await cell.member("Bob", ("read", "write", "admin")),
        "foreign admin": await foreign_admin(cell),
        "expired": await spoilt_key(cell, expire=True),
        "revoked": await spoilt_key(cell, expire=False),
        "reader": await scoped_key(admin, "read"),
        "nobody": cell.nobody,
        "garbage": admin.as_("hf_garbage"),
    }
    return Scene(cell, ids, actors, {"colleague": inside, "foreign admin": outside})


async def scoped_key(admin: Client, *scopes: str) -> Client:
    return admin.as_((await admin.post("keys", {"name": "k", "scopes": scopes})).json["secret"])


async def spoilt_key(cell: Cell, *, expire: bool) -> Client:
    made = (await cell.admin.post("keys", {"name": "k", "scopes": ["read", "write", "admin"]})).json
    if expire:
        connection = await asyncpg.connect(cell.replicas.database_url)
        await connection.execute(
            "update api_keys set expires_at = now() - interval '1 second' where id = $1",
            made["key_id"],
        )
        await connection.close()
    else:
        assert (await cell.admin.ask("DELETE", f"keys/{made['key_id']}")).status == 204
    return cell.admin.as_(made["secret"])


async def foreign_admin(cell: Cell) -> Client:
    org_id, user_id = OrgId(uuid4()), UserId(uuid4())
    connection = await asyncpg.connect(cell.replicas.database_url)
    await connection.execute("insert into organisations (id, name) values ($1, 'Other')", org_id)
    await connection.execute(
        "insert into users (id, org_id, name, email, role)"
        " values ($1, $2, 'Eve', 'eve@other.example', 'admin')",
        user_id,
        org_id,
    )
    await connection.close()
    who = principal(org_id, user_id, OrgRole.ADMIN)
    keys = cell.served[0].edge.identity.keys
    return cell.admin.as_((await keys.create(who, name="k", scopes=frozenset(Scope))).secret)


async def ask(client: Client, method: str, path: str, ids: Mapping[str, str]) -> Answer:
    body = BODIES.get(f"{method} {path.removeprefix(PREFIX)}")
    where = path.format_map(ids)
    if method == "WEBSOCKET":
        return await knock(client, where)
    if where.endswith(("/stream", "/watch")):
        return await begun(client, where)
    return await client.ask(method, where, body)


async def begun(client: Client, where: str) -> Answer:
    """An answer that may not end: what of it comes at once."""
    async with client.http.get(client.url + where, headers=client.headers) as response:
        if response.status == 200:
            return Answer(200, response.headers, await response.content.readline())
        return Answer(response.status, response.headers, await response.read())


async def knock(client: Client, where: str) -> Answer:
    try:
        async with client.http.ws_connect(client.url + where, headers=client.headers) as socket:
            return Answer(200, {}, (await socket.receive()).data.encode())
    except aiohttp.WSServerHandshakeError as error:
        return Answer(error.status, error.headers, b"")


def blanked(answer: Answer, ids: Mapping[str, str]) -> tuple[int, bytes]:
    raw = answer.raw
    for name, value in ids.items():
        if len(value) > 8:
            raw = raw.replace(value.encode(), name.encode())
    return answer.status, raw


def is_read(method: str) -> bool:
    return method in ("GET", "WEBSOCKET")


def expected(actor: str, name: str, method: str, path: str) -> set[int]:
    """The statuses that an actor may be told on a route."""
    if (method, path) in ANONYMOUS:
        return {404} if "{provider}" in path else {200, 401}
    if actor in ("nobody", "expired", "revoked", "garbage"):
        return {401}
    if name in KEYS_DO_NOT:
        return {403}
    if name in ADMINS_ONLY:
        return {200, 201} if actor == "foreign admin" else {403}
    if actor == "reader" and name == "PUT /chats/{chat_id}/read":
        return {200}  # how far one has read is part of reading
    if actor == "reader":
        return {200} if is_read(method) and name != "GET /chats/{chat_id}/shares" else {403}
    if actor == "colleague" and name in COLLEAGUES_MAY:
        return {200}
    if "{" in path:
        return {404} if actor == "foreign admin" or "{chat_id}" in path else {403, 404}
    assert name in UNSCOPED or name in ("POST /chats", "POST /keys"), name
    return {200, 201}


async def test_the_table_of_routes_is_what_the_app_serves(cell: Cell) -> None:
    """A route that is served and not in the table would be checked by nobody."""
    document = (await cell.nobody.get("openapi.json")).json
    served = {(method.upper(), path) for path, each in document["paths"].items() for method in each}
    assert served == {route for route in ROUTES if route[0] != "WEBSOCKET"}
    assert served >= ANONYMOUS

    assert document["openapi"] == "3.1.0"
    schemas = document["components"]["schemas"]
    assert set(schemas["StreamEvent"]["discriminator"]["mapping"]) == set(EventKind)
    assert set(schemas["WatchEvent"]["discriminator"]["mapping"]) == set(WatchKind)
    refs = set(re.findall(rb'"\$ref":"#/components/schemas/(\w+)"', orjson.dumps(document)))
    assert refs <= {name.encode() for name in schemas}


async def test_nobody_gets_at_what_is_not_theirs(scene: Scene) -> None:
    before = await state_of(scene)
    checks = 0
    for actor, client in scene.actors.items():
        for method, path in ROUTES:
            name = f"{method} {path.removeprefix(PREFIX)}"
            if actor == "reader" and not is_read(method) and name == "POST /sign-ins":
                continue
            said = await ask(client, method, path, scene.ids)
            assert said.status in expected(actor, name, method, path), (actor, name, said)
            for canary in scene.canaries.get(actor, ()):
                assert name in COLLEAGUES_MAY or canary.encode() not in _unasked(said, scene.ids)
            if said.status in (403, 404):
                unknown = {key: str(uuid4()) for key in scene.ids} | {"seq": "1", "queued_id": "1"}
                other = await ask(client, method, path, unknown)
                assert blanked(said, scene.ids) == blanked(other, unknown), (actor, name)
            checks += 1
    print(f"matrix: {len(ROUTES)} routes, {len(scene.actors)} actors, {checks} checks")
    assert checks >= len(ROUTES) * len(scene.actors) - 1
    assert await state_of(scene) == before


def _unasked(said: Answer, ids: Mapping[str, str]) -> bytes:
    """What was said, without the ids that the actor itself has named."""
    return blanked(said, ids)[1] if said.status in (403, 404) else said.raw


async def state_of(scene: Scene) -> Any:
    admin, chat_id = scene.cell.admin, scene.ids["chat_id"]
    chat = (await admin.get(f"chats/{chat_id}")).json
    del chat["read_seq"], chat["unread"]  # which the reader, who is the owner, moves
    messages = (await admin.get(f"chats/{chat_id}/messages")).json
    victim = (await admin.get(f"users/{scene.ids['user_id']}")).json
    settings = (await admin.get("settings")).json
    keys = [k for k in (await admin.get("keys")).json["keys"] if k["name"] == "canary-key"]
    return chat, messages, victim, keys, settings


async def test_the_owner_gets_through_everywhere(scene: Scene) -> None:
    """So that the refusals above are not those of a request that nobody could make."""
    last = [f"{PREFIX}/users/{{user_id}}/disable", f"{PREFIX}/keys/{{key_id}}"]
    for method, path in sorted(ROUTES, key=lambda route: route[1] in last):
        name = f"{method} {path.removeprefix(PREFIX)}"
        said = await ask(scene.cell.admin, method, path, scene.ids)
        if (method, path) in ANONYMOUS or name in KEYS_DO_NOT:
            continue
        assert said.status not in (400, 401, 403, 405, 422, 500), (name, said)
        if said.status == 404:
            missing = ("queued_not_found", "version_not_found", "no_workspace")
            assert said.code in missing, (name, said)


async def test_ids_in_queries_are_no_way_around(scene: Scene) -> None:
    eve = scene.actors["foreign admin"]
    for query in ("keys", "sign-ins", "audit"):
        field = "actor_id" if query == "audit" else "user_id"
        admin_id = (await scene.cell.admin.get("me")).json["user"]["user_id"]
        said = await eve.get(f"{query}?{field}={admin_id}")
        assert said.status == 200
        assert [] in said.json.values(), (query, said.raw)


@requirement("L128", "L129")
async def test_who_was_given_a_chat_reads_it_and_drives_nothing(scene: Scene) -> None:
    bob = scene.actors["colleague"]
    bobs_id = (await bob.get("me")).json["user"]["user_id"]
    chat = f"chats/{scene.ids['chat_id']}"
    assert (await scene.cell.admin.ask("PUT", f"{chat}/shares/{bobs_id}")).status == 204

    assert (await bob.get(chat)).status == 200
    assert (await bob.get(f"{chat}/messages")).status == 200
    assert (await bob.ask("PUT", f"{chat}/read", {"seq": 2})).json == {"read_seq": 2}
    for verb in ("interrupt", "compact", "archive"):
        assert (await bob.post(f"{chat}/{verb}")).code == "chat_not_found"
    assert (await bob.post(f"{chat}/messages", MESSAGE)).code == "chat_not_found"
    assert (await scene.cell.admin.get(chat)).json["read_seq"] == 0

    async with asyncio.timeout(30), bob.stream(scene.ids["chat_id"]) as events:
        assert (await anext(events))["event"] == "history_reset"
        await scene.cell.admin.ask("DELETE", f"{chat}/shares/{bobs_id}")
        assert [e["event"] async for e in events][-1] in ("status", "queue", "ping")
    assert (await bob.get(chat)).code == "chat_not_found"
