"""Ids on the wire: a wrong one is refused on every route, and no answer shows a bare UUID."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.api.app import ANONYMOUS, PREFIX
from holdfast.domain.public_ids import ID_TYPES, USER_ID
from holdfast_lab.chaos.faults.permissions.matrix import (
    KEYS_DO_NOT,
    ROUTES,
    Scene,
    another,
    ask,
    set_scene,
)
from tests.support.web import Answer, Cell

BARE = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rb"|(?<![0-9A-Za-z_])[0-9a-f]{32}(?![0-9A-Za-z])"
)
KNOWN = {
    "chat_id": "chat_",
    "user_id": "user_",
    "session_id": "sess_",
    "api_key_id": "key_",
    "provider_id": "prov_",
    "model_id": "modl_",
}
LAST = [f"{PREFIX}/users/{{user_id}}", f"{PREFIX}/api-keys/{{api_key_id}}"]


@pytest.fixture
async def scene(cell: Cell) -> Scene:
    keys = cell.served[0].edge.identity.keys
    return await set_scene(cell.admin, keys, cell.replicas.database_url)


def wrong_ids(prefix: str) -> Iterator[str]:
    bare = uuid4()
    yield from (f"{each.prefix}{bare.hex}" for each in ID_TYPES if each.prefix != prefix)
    yield from (str(bare), bare.hex, f"{prefix}{bare}", f"{prefix}{bare.hex[1:]}", prefix, "%00")


def bare_in(answer: Answer) -> list[bytes]:
    headers = "\n".join(answer.headers.values()).encode()
    return BARE.findall(answer.raw) + BARE.findall(headers)


async def test_every_id_in_a_path_is_checked(cell: Cell, scene: Scene) -> None:
    """By the parameters that OpenAPI names: a new one must be in `KNOWN`."""
    document = (await cell.nobody.get("openapi.json")).json
    tried = 0
    for method, path in ROUTES:
        names = re.findall(r"\{(\w+_id)\}", path)
        if method != "WEBSOCKET":
            told = document["paths"][path][method.lower()].get("parameters", [])
            patterns = {each["name"]: each["schema"].get("pattern") for each in told}
            assert all(patterns[each] == f"^{KNOWN[each]}" for each in names if each in KNOWN)
        for name in names:
            for wrong in wrong_ids(KNOWN[name]) if name in KNOWN else ():
                said = await ask(scene.admin, method, path, {**scene.ids, name: wrong})
                assert said.status == 404, (method, path, wrong, said)
                if said.raw:  # a refused handshake has no body
                    code = "chat_not_found" if name == "chat_id" else "not_found"
                    assert said.code == code, (method, path, wrong, said)
                tried += 1
    assert {each for _, path in ROUTES for each in re.findall(r"\{(\w+_id)\}", path)} == {
        *KNOWN,
        "queued_id",
    }
    assert tried > 400


async def test_a_wrong_id_in_a_path_is_explained(scene: Scene) -> None:
    chat_id, user_id = scene.ids["chat_id"], scene.ids["user_id"]
    said = await scene.admin.get(f"chats/{user_id}")
    assert said.json["detail"] == "`user_…` names a user, not a chat."
    said = await scene.admin.ask("PUT", f"chats/{chat_id}/shares/{chat_id}")
    assert said.json["detail"] == "`chat_…` names a chat, not a user."
    said = await scene.admin.get(f"chats/{chat_id[5:]}")
    assert said.json["detail"] == "The id of a chat begins with `chat_`."


async def test_an_unknown_id_and_a_foreign_one_are_the_same(scene: Scene) -> None:
    eve, chat_id = scene.actors["foreign admin"], scene.ids["chat_id"]
    unknown = another(chat_id)
    told: list[dict[str, Any]] = []
    for each in (chat_id, unknown):
        said = await eve.get(f"chats/{each}")
        told.append(
            {**said.json, "request_id": "", "detail": said.json["detail"].replace(each, "")}
        )
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "query", ["organization/audit-log?actor_id", "api-keys?user_id", "sessions?user_id"]
)
async def test_a_wrong_id_in_a_query_is_a_field_error(scene: Scene, query: str) -> None:
    for wrong in wrong_ids(USER_ID.prefix):
        said = await scene.admin.get(f"{query}={wrong}")
        (error,) = said.json["errors"]
        assert (said.status, error["in"]) == (422, "query")
        assert error["pointer"] == "/" + query.partition("?")[2]
    said = await scene.admin.get(f"{query}={scene.ids['chat_id']}")
    assert said.json["errors"][0]["detail"].startswith("`chat_…` names a chat, not a user.")


@pytest.mark.parametrize("wrong", [str(UUID(int=7)), "org_", f"user_{UUID(int=7).hex}", 7, {}])
async def test_a_wrong_id_in_a_body_is_a_field_error(cell: Cell, wrong: Any) -> None:
    body = {"email": "a@b.example", "password": "some password", "org_id": wrong}
    said = await cell.nobody.post("sessions", body)
    (error,) = said.json["errors"]
    assert (said.status, error["in"], error["pointer"]) == (422, "body", "/org_id")


async def test_no_answer_shows_a_bare_uuid(scene: Scene) -> None:
    admin, chat_id = scene.admin, scene.ids["chat_id"]
    seen = 0
    for method, path in sorted(ROUTES, key=lambda route: route[1] in LAST):
        name = f"{method} {path.removeprefix(PREFIX)}"
        if (method, path) in ANONYMOUS or name in KEYS_DO_NOT or name == "GET /metrics":
            continue
        for ids in (scene.ids, {key: another(value) for key, value in scene.ids.items()}):
            said = await ask(admin, method, path, ids)
            assert bare_in(said) == [], (name, said)
            seen += len(re.findall(rb"(?:chat|user|key|sess|org)_[0-9a-f]{32}", said.raw))
    assert seen > 50
    for planted in (uuid4(), uuid4().hex):
        said = await admin.post("chats", {"message": {"text": f"{planted}"}})
        found = await admin.get(f"chats/{said.json['chat_id']}/messages")
        # The reply may quote it.
        assert set(bare_in(found)) == {str(planted).encode()}, "else the test above sees nothing"
    assert said.headers["location"] == f"/api/v1/chats/{said.json['chat_id']}"
    assert chat_id != said.json["chat_id"]


async def test_events_show_no_bare_uuid(scene: Scene) -> None:
    chat_id = scene.ids["chat_id"]
    async with scene.admin.watch() as listed, scene.admin.stream(chat_id) as told:
        assert (await anext(listed))["data"]["chats"][0]["id"] == chat_id
        assert (await scene.admin.post(f"chats/{chat_id}/archive")).status == 200
        async for event in listed:
            assert BARE.search(repr(event).encode()) is None
            if event["type"] == "chat.removed":
                assert event["data"]["chat_id"] == chat_id
                break
        me = (await scene.admin.get("me")).json["user"]["id"]
        async for event in told:
            assert BARE.search(repr(event).encode()) is None
            if event["type"] == "message.created" and event["data"]["role"] == "user":
                assert event["data"]["author_id"] == me
            if event["type"] == "chat.state":
                break


async def test_the_audit_log_names_actors_targets_and_credentials(scene: Scene) -> None:
    admin, chat_id, user_id = scene.admin, scene.ids["chat_id"], scene.ids["user_id"]
    assert (await admin.ask("PUT", f"chats/{chat_id}/shares/{user_id}")).status == 204
    settings = await admin.ask("PATCH", "organization/settings", {"instructions": "Be brief."})
    assert settings.status == 200
    me = (await admin.get("me")).json

    changed, shared = (await admin.get("organization/audit-log?limit=2")).json["data"]
    assert (shared["target_type"], shared["target_id"]) == ("chat", chat_id)
    assert (shared["actor_id"], shared["detail"]) == (me["user"]["id"], {"user_id": user_id})
    assert shared["credential_type"] == "api_key"
    assert shared["credential_id"].startswith("key_")
    assert (changed["target_type"], changed["target_id"]) == ("settings", me["org_id"])
    by_me = await admin.get(f"organization/audit-log?actor_id={me['user']['id']}")
    assert by_me.json["data"][0] == changed
