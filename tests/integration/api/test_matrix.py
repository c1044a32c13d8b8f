"""Every route × every actor: nobody gets at what is not theirs, or learns that it is there (A1).

The matrix itself is an attack of `holdfast lab prove`; here it runs on the servers of the tests.
"""

import asyncio
import re

import orjson
import pytest

from holdfast.api.app import ANONYMOUS, PREFIX
from holdfast.domain.events import EventType
from holdfast.stream.list_watcher import WatchEventType
from holdfast_lab.chaos.faults.permissions.matrix import (
    KEYS_DO_NOT,
    MESSAGE,
    ROUTES,
    Scene,
    ask,
    set_scene,
    trespass,
)
from tests.requirements import requirement
from tests.support.web import Cell

NO_USER_KEYS = {f"{method} /provider-keys/{{provider_id}}" for method in ("PUT", "DELETE")}
"""The provider of the scene does not allow them; `test_provider_keys.py` has one that does."""


@pytest.fixture
async def scene(cell: Cell) -> Scene:
    keys = cell.served[0].edge.identity.keys
    return await set_scene(cell.admin, keys, cell.replicas.database_url)


async def test_the_table_of_routes_is_what_the_app_serves(cell: Cell) -> None:
    """A route that is served and not in the table would be checked by nobody."""
    document = (await cell.nobody.get("openapi.json")).json
    served = {(method.upper(), path) for path, each in document["paths"].items() for method in each}
    assert served == {route for route in ROUTES if route[0] != "WEBSOCKET"}
    assert served >= ANONYMOUS

    assert document["openapi"] == "3.1.0"
    schemas = document["components"]["schemas"]
    told = set(schemas["StreamEvent"]["discriminator"]["mapping"])
    assert told == {*EventType}
    told = set(schemas["WatchEvent"]["discriminator"]["mapping"])
    assert told == {*WatchEventType}
    refs = set(re.findall(rb'"\$ref":"#/components/schemas/(\w+)"', orjson.dumps(document)))
    assert refs <= {name.encode() for name in schemas}


async def test_nobody_gets_at_what_is_not_theirs(scene: Scene) -> None:
    found = await trespass(scene)

    print(f"matrix: {len(ROUTES)} routes, {len(scene.actors)} actors, {found.count} checks")
    assert found.violations == []
    assert found.count == len(ROUTES) * (len(scene.actors) - 1), "the sender tries one, not all"


async def test_the_owner_gets_through_everywhere(scene: Scene) -> None:
    """So that the refusals above are not those of a request that nobody could make."""
    last = [f"{PREFIX}/users/{{user_id}}", f"{PREFIX}/api-keys/{{api_key_id}}"]
    last += [
        f"{PREFIX}/organization/{each}" for each in ("models/{model_id}", "providers/{provider_id}")
    ]
    for method, path in sorted(
        ROUTES, key=lambda route: last.index(route[1]) if route[1] in last else -1
    ):
        name = f"{method} {path.removeprefix(PREFIX)}"
        said = await ask(scene.admin, method, path, scene.ids)
        if (method, path) in ANONYMOUS or name in KEYS_DO_NOT:
            continue
        assert said.status not in (400, 401, 403, 405, 422, 500), (name, said)
        if said.status == 404:
            missing = ("queued_message_not_found", "version_not_found", "workspace_not_found")
            assert said.code in missing or name in NO_USER_KEYS, (name, said)


async def test_ids_in_queries_are_no_way_around(scene: Scene) -> None:
    eve = scene.actors["foreign admin"]
    for query in ("api-keys", "sessions", "organization/audit-log"):
        field = "actor_id" if "audit" in query else "user_id"
        admin_id = (await scene.admin.get("me")).json["user"]["id"]
        said = await eve.get(f"{query}?{field}={admin_id}")
        assert said.status == 200
        assert [] in said.json.values(), (query, said.raw)


@requirement("L128", "L129")
async def test_who_was_given_a_chat_reads_it_and_drives_nothing(scene: Scene) -> None:
    bob = scene.actors["colleague"]
    bobs_id = (await bob.get("me")).json["user"]["id"]
    chat = f"chats/{scene.ids['chat_id']}"
    assert (await scene.admin.ask("PUT", f"{chat}/shares/{bobs_id}")).status == 204

    assert (await bob.get(chat)).status == 200
    assert (await bob.get(f"{chat}/messages")).status == 200
    assert (await bob.ask("PUT", f"{chat}/read-marker", {"seq": 2})).json == {"read_seq": 2}
    for verb in ("interrupt", "compact", "archive"):
        assert (await bob.post(f"{chat}/{verb}")).code == "chat_not_found"
    assert (await bob.post(f"{chat}/messages", MESSAGE)).code == "chat_not_found"
    assert (await scene.admin.get(chat)).json["read_seq"] == 0

    async with asyncio.timeout(60), bob.stream(scene.ids["chat_id"]) as events:
        assert (await anext(events))["type"] == "history.reset"
        await scene.admin.ask("DELETE", f"{chat}/shares/{bobs_id}")
        last = [event async for event in events][-1]
        assert (last["type"], last["data"]["reason"]) == ("closed", "revoked")
    assert (await bob.get(chat)).code == "chat_not_found"
