"""Every route × every actor: no actor reads what is not theirs, or learns that it exists (A1)."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

import aiohttp
import asyncpg

from holdfast.api.app import ANONYMOUS, PREFIX, all_routes
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal, Scope
from holdfast.identity.keys import ApiKeys
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import (
    ADMIN_EMAIL,
    OUR_ORIGIN,
    PASSWORD,
    Answer,
    Client,
    add_member,
    uuid_of,
)
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.replica import open_door

MESSAGE: Final = {"text": "foreign words"}
BODIES: Final[Mapping[str, Any]] = {
    "POST /chats": {},
    "POST /chats/{chat_id}/fork": {},
    "PUT /chats/{chat_id}/tools": {"tools": []},
    "PATCH /chats/{chat_id}": {"title": "foreign", "pinned": True, "labels": ["foreign"]},
    "PUT /chats/{chat_id}/read-marker": {"seq": 1},
    "POST /chats/{chat_id}/messages": MESSAGE,
    "POST /chats/{chat_id}/messages/{seq}/edit": MESSAGE,
    "PATCH /chats/{chat_id}/queue/{queued_id}": {"before_id": None},
    "POST /chats/{chat_id}/retry": {},
    "POST /chats/{chat_id}/restore": {"version": 1},
    "POST /chats/{chat_id}/tool-results": {"results": [{"call_id": "c1", "output": "x"}]},
    "POST /chats/{chat_id}/tool-decisions": {
        "decisions": [{"call_id": "c1", "decision": "approve", "digest": "0" * 64}]
    },
    "POST /me/password": {"current": "not the password", "new": "another long password"},
    "POST /users": {"name": "New", "email": "new@fresh.example"},
    "PATCH /users/{user_id}": {"role": "admin"},
    "PUT /users/{user_id}/password": {"password": "another long password"},
    "POST /sessions": {"email": "nobody@acme.example", "password": PASSWORD},
    "POST /sessions/by-link": {"token": "nothing that was issued"},
    "POST /sessions/by-account-link": {
        "token": "nothing that was issued",
        "password": "another long password",
    },
    "POST /organization/approvals/try": {"tool": "execute"},
    "POST /api-keys": {"name": "new", "scopes": ["read"]},
    "PATCH /organization/settings": {"instructions": "foreign"},
    "PUT /chats/{chat_id}/workspace": {},
    "POST /organization/providers": {"name": "foreign", "vendor": "openai"},
    "PATCH /organization/providers/{provider_id}": {"name": "foreign"},
    "PUT /provider-keys/{provider_id}": {"key": "foreign-key"},
    "POST /organization/models": {"name": "foreign", "provider_id": "{provider_id}"},
    "PATCH /organization/models/{model_id}": {"name": "foreign"},
}
"""What a valid request says; routes that are not here take no body."""

KEYS_DO_NOT: Final = {"DELETE /sessions/current", "POST /me/password"} | {
    "POST /oidc/{provider}/link",
    "POST /api-keys",
}
"""For browsers: a key is refused, whosoever it is."""
COLLEAGUES_MAY: Final = {"GET /users/{user_id}"}
UNSCOPED: Final = {"GET /chats", "GET /me", "GET /users", "GET /api-keys", "GET /sessions"} | {
    "GET /models",
    "GET /provider-keys",
    "GET /workspace-templates",
    "GET /events",
    "WEBSOCKET /events",
}
"""Without an id in them: every user may ask, and gets what is theirs."""
ADMINS_ONLY: Final = {"POST /users", "GET /metrics"} | {
    "GET /organization/chats",
    "GET /organization/audit-log",
    "GET /organization/settings",
    "PATCH /organization/settings",
    "GET /organization/providers",
    "POST /organization/providers",
    "GET /organization/models",
    "POST /organization/models",
    "GET /organization/overview",
    "GET /organization/users",
    "GET /organization/vendors",
    "GET /organization/approvals",
    "POST /organization/approvals/try",
}
ADMINS_OF_OTHERS: Final = {"POST /organization/chats/{chat_id}/stop"}
"""What an admin does to a chat of any user of the organisation."""
_REQUEST_ID: Final = re.compile(rb'"request_id":"req_[0-9a-f]+",?')
DIGITS: Final = 32
SENDER: Final = "sender"
"""The owner's own key, with the scopes read and write: it may do all but approve tool calls, so it
only tries that."""
GUEST: Final = "guest"
"""A member with whom the chat is shared: reads its present history, not what an edit hid."""
GUESTS_DO_NOT: Final = {
    "GET /chats/{chat_id}/shares",
    "GET /chats/{chat_id}/branches",
    "GET /chats/{chat_id}/workspace",
}
ROUTES: Final = [(each.method, each.path) for each in all_routes()]


@dataclass
class Scene:
    """Whose things are at stake, and who comes for them."""

    admin: Client
    ids: dict[str, str]
    actors: dict[str, Client]
    canaries: dict[str, list[str]]


async def set_scene(admin: Client, keys: ApiKeys, database_url: str) -> Scene:
    """An admin with a chat, a colleague, a key and a session; and nine who want them."""
    anonymous = admin.as_(None)
    chat_id = await admin.new_chat('[[sim: say "canary-edited"]]')
    await admin.until(chat_id, "idle")
    said = {"text": '[[sim: say "canary-words"]]'}
    assert (await admin.post(f"chats/{chat_id}/messages/1/edit", said)).status == 202
    await admin.until(chat_id, "idle")
    await admin.ask("PATCH", f"chats/{chat_id}", {"title": "canary-title"})
    victim = await admin.post("users", {"name": "Victim", "email": "victim@acme.example"})
    login = {"email": ADMIN_EMAIL, "password": PASSWORD}
    assert (await anonymous.post("sessions", login, origin=OUR_ORIGIN)).status == 201
    session = (await admin.get("sessions")).json["data"][0]["id"]
    spare = await admin.new_key("canary-key")
    served = {"name": "canary-provider", "vendor": "openai", "is_enabled": False}
    provider = (await admin.post("organization/providers", served)).json["id"]
    named = {"name": "canary-model", "provider_id": provider}
    model = (await admin.post("organization/models", named)).json["id"]
    ids = {
        "provider_id": provider,
        "model_id": model,
        "chat_id": chat_id,
        "user_id": victim.json["id"],
        "session_id": session,
        "api_key_id": spare["id"],
        "seq": "3",
        "queued_id": "1",
        "provider": "nobodys-provider",
    }
    inside = [chat_id, "canary-words", "canary-title", "canary-key", session]
    inside += ["canary-provider", "canary-edited"]
    outside = [*inside, ids["user_id"], "Victim", "acme.example", "canary-model"]
    actors = {
        "colleague": await add_member(admin, "Bob", ("read", "write", "approve", "admin")),
        "foreign admin": admin.as_(await _foreign_admin(keys, database_url)),
        "expired": await _expired_key(admin, database_url),
        "revoked": await _revoked_key(admin),
        "reader": admin.as_((await _new_key(admin, "read"))["secret"]),
        SENDER: admin.as_((await _new_key(admin, "read", "write"))["secret"]),
        "anonymous": anonymous,
        "garbage": admin.as_("hfst_garbage"),
    }
    guest = actors[GUEST] = await add_member(admin, "Gil", ("read", "write", "approve", "admin"))
    guest_id = (await guest.get("me")).json["user"]["id"]
    assert (await admin.ask("PUT", f"chats/{chat_id}/shares/{guest_id}")).status == 204
    shown = {chat_id, "canary-words", "canary-title"}
    kept = [each for each in inside if each not in shown]
    canaries = {"colleague": inside, "foreign admin": outside, GUEST: kept}
    return Scene(admin, ids, actors, canaries)


async def _new_key(admin: Client, *scopes: str) -> dict[str, Any]:
    return await admin.new_key("k", *scopes)


async def _expired_key(admin: Client, database_url: str) -> Client:
    made = await _new_key(admin, "read", "write", "admin")
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "update api_keys set expires_at = now() - interval '1 second' where id = $1",
        uuid_of(made["id"]),
    )
    await connection.close()
    return admin.as_(made["secret"])


async def _revoked_key(admin: Client) -> Client:
    made = await _new_key(admin, "read", "write", "admin")
    assert (await admin.ask("DELETE", f"api-keys/{made['id']}")).status == 204
    return admin.as_(made["secret"])


async def _foreign_admin(keys: ApiKeys, database_url: str) -> str:
    org_id, user_id = OrgId(uuid4()), UserId(uuid4())
    connection = await asyncpg.connect(database_url)
    await connection.execute("insert into organisations (id, name) values ($1, 'Other')", org_id)
    await connection.execute(
        "insert into users (id, org_id, name, email, role)"
        " values ($1, $2, 'Eve', 'eve@other.example', 'admin')",
        user_id,
        org_id,
    )
    await connection.close()
    who = Principal(
        org_id=org_id,
        user_id=user_id,
        role=OrgRole.ADMIN,
        scopes=EVERY_SCOPE,
        credential=Credential("session", SignInId(UUID(int=9))),
    )
    return (await keys.create(who, name="k", scopes=frozenset(Scope))).secret


async def ask(client: Client, method: str, path: str, ids: Mapping[str, str]) -> Answer:
    body = BODIES.get(f"{method} {path.removeprefix(PREFIX)}")
    if body is not None and "provider_id" in body:
        body = {**body, "provider_id": ids["provider_id"]}
    where = path.format_map(ids)
    if method == "WEBSOCKET":
        return await knock(client, where)
    if where.endswith("/events"):
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
    raw = _REQUEST_ID.sub(b"", answer.raw)
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
    if actor in ("anonymous", "expired", "revoked", "garbage"):
        return {401}
    if name in KEYS_DO_NOT:
        return {403}
    if name == "POST /organization/models" and actor == "foreign admin":
        return {422}  # the organisation has no such provider
    if name in ADMINS_ONLY | ADMINS_OF_OTHERS:
        is_found = {404} if name in ADMINS_OF_OTHERS else {200, 201}
        return is_found if actor == "foreign admin" else {403}
    if actor == SENDER:
        return {403}
    if actor == "reader":
        return _of_reader(name, method)
    return _of_member(actor, name, method, path)


def _of_member(actor: str, name: str, method: str, path: str) -> set[int]:
    """Of a member or an admin of another organisation, with a key of every scope."""
    if actor in ("colleague", GUEST) and name in COLLEAGUES_MAY:
        return {200}
    if actor == GUEST and "{chat_id}" in path:
        return _of_guest(name, method)
    if "{" in path:
        return {404} if actor == "foreign admin" or "{chat_id}" in path else {403, 404}
    assert name in UNSCOPED or name == "POST /chats", name
    return {200, 201}


NO_WORKSPACE: Final = "GET /chats/{chat_id}/workspace"
"""A reader of the chat may learn that it has no workspace."""


NOT_FOR_READERS: Final = {
    "GET /organization/providers/{provider_id}",
    "GET /organization/models/{model_id}",
}
"""They ask for the scope `admin`."""


def _of_reader(name: str, method: str) -> set[int]:
    if name == "PUT /chats/{chat_id}/read-marker":
        return {200}  # how far one has read is part of reading
    if name == NO_WORKSPACE:
        return {404}
    if name in NOT_FOR_READERS:
        return {403}
    return {200} if is_read(method) and name != "GET /chats/{chat_id}/shares" else {403}


def _of_guest(name: str, method: str) -> set[int]:
    if name == "POST /chats/{chat_id}/fork":
        return {201}
    if name == "PUT /chats/{chat_id}/read-marker":
        return {200}
    return {200} if is_read(method) and name not in GUESTS_DO_NOT else {404}


async def trespass(scene: Scene) -> Found:
    """Every actor tries every route; nothing may come of it."""
    found, before = Found(0), await state_of(scene)
    for actor, client in scene.actors.items():
        for method, path in ROUTES:
            name = f"{method} {path.removeprefix(PREFIX)}"
            if actor == "reader" and name == "POST /sessions":
                continue
            if actor == SENDER and not name.endswith("decisions"):
                continue
            said = await ask(client, method, path, scene.ids)
            wrong = list(_leaks(scene, actor, name, said))
            if said.status not in expected(actor, name, method, path):
                wrong.append(f"was told {said.status} {said.raw[:200]!r}")
            elif (
                said.status in (403, 404)
                and (name != NO_WORKSPACE or actor not in ("reader", GUEST))
                and await _differs(scene, client, method, path, said)
            ):
                wrong.append("learns from the refusal that it is there")
            found.count += 1
            found.violations += [f"{actor} on {name} {sentence}" for sentence in wrong]
    if await state_of(scene) != before:
        found.violations.append("an actor changed what it may not change")
    return found


def _leaks(scene: Scene, actor: str, name: str, said: Answer) -> Iterator[str]:
    if name in COLLEAGUES_MAY:
        return
    for canary in scene.canaries.get(actor, ()):
        if canary.encode() in _unasked(said, scene.ids):
            yield f"gets to see {canary!r}"


async def _differs(scene: Scene, client: Client, method: str, path: str, said: Answer) -> bool:
    unknown = {key: another(value) for key, value in scene.ids.items()}
    other = await ask(client, method, path, unknown)
    return blanked(said, scene.ids) != blanked(other, unknown)


def another(public_id: str) -> str:
    """A well-formed id of the same type that names nothing; numbers stay as they are."""
    return public_id if public_id.isdigit() else public_id[:-DIGITS] + uuid4().hex


def _unasked(said: Answer, ids: Mapping[str, str]) -> bytes:
    """What was said, without the ids that the actor itself has named."""
    return blanked(said, ids)[1] if said.status in (403, 404) else said.raw


async def state_of(scene: Scene) -> Any:
    admin, chat_id = scene.admin, scene.ids["chat_id"]
    chat = (await admin.get(f"chats/{chat_id}")).json
    del chat["read_seq"], chat["unread"]  # which the reader, who is the owner, moves
    messages = (await admin.get(f"chats/{chat_id}/messages")).json
    victim = (await admin.get(f"users/{scene.ids['user_id']}")).json
    settings = (await admin.get("organization/settings")).json
    keys = [k for k in (await admin.get("api-keys")).json["data"] if k["name"] == "canary-key"]
    return chat, messages, victim, keys, settings


async def cross(order: Order, only: str = "") -> Found:
    """The matrix, on a server of its own. `only`: what one of the actors tries."""
    async with _served() as scene:
        if only:
            scene.actors = {only: scene.actors[only]}
        found = await trespass(scene)
    if found.count < order.count:
        found.violations.append(f"only {found.count} were tried")
    found.figures |= {"routes": len(ROUTES), "actors": len(scene.actors)}
    return found


@asynccontextmanager
async def _served() -> AsyncGenerator[Scene]:
    async with theatre() as stage:
        url = await stage.new_database()
        settings = settings_for(stage, url, "postgres", role="all")
        async with open_door(settings) as door:
            yield await set_scene(door.admin, door.identity.keys, url)
