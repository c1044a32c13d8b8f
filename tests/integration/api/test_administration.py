"""Administration over HTTP: overview, people and their links, discovery, approval rules, audit."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from holdfast_lab.chaos.harness.client import OUR_ORIGIN, add_member
from holdfast_simulator.server import Simulator
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

PASSWORD = "a password of the link"
BY_LINK = "sessions/by-account-link"
KEY = "sk-canary-of-the-list-4711"
ENDED = "sim-until-1"
"""A key that the simulator refuses."""


@pytest.fixture
async def keyed(empty: Replicas, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with a_cell(empty, master_key_file=key_file) as cell:
        yield cell


def served(cell: Cell, **more: Any) -> dict[str, Any]:
    simulator = cell.replicas.simulator
    assert isinstance(simulator, Simulator)
    at = {"vendor": "simulator-anthropic", "base_url": simulator.url}
    return {"name": "acme", "key": KEY, **at, **more}


async def test_overview_says_what_an_admin_has_to_do(cell: Cell) -> None:
    told = (await cell.admin.get("organization/overview")).json
    checks = {each["name"]: each for each in told["checks"]}
    assert checks["database"]["ok"]
    assert checks["workers"]["ok"]
    assert checks["models"]["ok"]
    assert not checks["secrets"]["ok"]
    assert "HOLDFAST_MASTER_KEY_FILE" in checks["secrets"]["detail"]
    assert [each["is_alive"] for each in told["workers"]] == [True] * len(told["workers"])
    assert told["users"] == 1
    assert told["chats"]["waiting"] == 0


async def test_a_link_sets_a_password_once(cell: Cell) -> None:
    admin, nobody = cell.admin, cell.nobody
    user = (await admin.post("users", {"name": "Bob", "email": "bob@acme.example"})).json
    before = (await admin.get("organization/users?q=bob")).json["data"][0]
    assert (before["last_seen_at"], before["link_expires_at"]) == (None, None)

    first = await admin.post(f"users/{user['id']}/link", None)
    made = await admin.post(f"users/{user['id']}/link", None)
    assert (made.status, made.json["user"]["id"]) == (201, user["id"])
    waiting = (await admin.get("organization/users?q=bob")).json["data"][0]
    assert waiting["link_expires_at"] == made.json["expires_at"]

    async def use(token: str, password: str = PASSWORD) -> Any:
        body = {"token": token, "password": password}
        return await nobody.post(BY_LINK, body, origin=OUR_ORIGIN)

    assert (await use(first.json["token"])).code == "sign_in_link_not_valid"
    assert (await use(made.json["token"], "short")).code == "weak_password"
    used = await use(made.json["token"])
    assert (used.status, used.json["id"]) == (201, user["id"])
    assert "set-cookie" in used.headers
    again = await use(made.json["token"])
    assert (again.status, again.code) == (401, "sign_in_link_not_valid")
    assert "administrator" in again.json["detail"]

    login = {"email": "bob@acme.example", "password": PASSWORD}
    assert (await nobody.post("sessions", login, origin=OUR_ORIGIN)).status == 201
    seen = (await admin.get("organization/users?q=bob")).json["data"][0]
    assert seen["last_seen_at"] is not None
    assert (seen["session_count"], seen["link_expires_at"]) == (2, None)
    assert (await admin.ask("DELETE", f"users/{user['id']}/sessions")).status == 204
    ended = (await admin.get("organization/users?q=bob")).json["data"][0]
    assert ended["session_count"] == 0

    said = (await admin.get("organization/audit-log?action=user.link_created")).json["data"]
    assert [each["target_name"] for each in said] == ["Bob", "Bob"]
    assert [each["actor_name"] for each in said] == ["Ada", "Ada"]
    by_link = await admin.get("organization/audit-log?action=password.set_by_link")
    assert [each["actor_id"] for each in by_link.json["data"]] == [user["id"]]
    for token in (first.json["token"], made.json["token"]):
        assert token.encode() not in (await admin.get("organization/audit-log")).raw


async def test_a_link_ends_with_a_new_password_and_with_the_account(cell: Cell) -> None:
    admin, nobody = cell.admin, cell.nobody
    user = (await admin.post("users", {"name": "Bob", "email": "bob@acme.example"})).json
    path = f"users/{user['id']}"
    made = (await admin.post(f"{path}/link", None)).json
    assert (await admin.ask("PUT", f"{path}/password", {"password": PASSWORD})).status == 200
    body = {"token": made["token"], "password": PASSWORD}
    assert (await nobody.post(BY_LINK, body, origin=OUR_ORIGIN)).status == 401
    made = (await admin.post(f"{path}/link", None)).json
    assert (await admin.ask("PATCH", path, {"disabled": True})).status == 200
    body = {"token": made["token"], "password": PASSWORD}
    assert (await nobody.post(BY_LINK, body, origin=OUR_ORIGIN)).status == 401
    assert (await admin.post(f"{path}/link", None)).status == 404
    foreign = await nobody.post(BY_LINK, body, origin="https://elsewhere.example")
    assert foreign.code == "origin_not_allowed"


async def test_the_list_of_a_provider_is_asked_for_with_its_words(keyed: Cell) -> None:
    admin = keyed.admin
    vendors = (await admin.get("organization/vendors")).json["data"]
    openai = next(each for each in vendors if each["name"] == "openai")
    assert openai["base_url"] == "https://api.openai.com/v1"

    provider = (await admin.post("organization/providers", served(keyed))).json["id"]
    path = f"organization/providers/{provider}"
    found = (await admin.post(f"{path}/discover", None)).json
    assert found["failure"] is None
    model = found["data"][0]["id"]
    assert not found["data"][0]["is_added"]
    named = {"name": "added", "provider_id": provider, "settings": {"model": model}}
    assert (await admin.post("organization/models", named)).status == 201
    found = (await admin.post(f"{path}/discover", None)).json
    assert [each["id"] for each in found["data"] if each["is_added"]] == [model]

    assert (await admin.ask("PATCH", path, {"key": ENDED})).status == 200
    refused = (await admin.post(f"{path}/discover", None)).json
    assert (refused["data"], "invalid x-api-key" in refused["failure"]) == ([], True), refused
    assert ENDED not in refused["failure"]
    away = {"base_url": "http://127.0.0.1:9", "key": KEY}
    assert (await admin.ask("PATCH", path, away)).status == 200
    unreachable = (await admin.post(f"{path}/discover", None)).json
    assert "no connection" in unreachable["failure"], unreachable


async def test_rules_are_tried_before_they_are_saved(cell: Cell) -> None:
    admin = cell.admin
    call = {"tool": "execute", "arguments": {"command": "git push --force"}}
    tried = (await admin.post("organization/approvals/try", call)).json
    assert (tried["action"], tried["decided_by"]) == ("allow", "server")
    rule = {"tool": "execute", "action": "ask", "arguments": {"command": {"glob": "git push*"}}}
    rules = {"rules": [{"tool": "other", "action": "deny"}, rule], "default": "allow"}
    tried = (await admin.post("organization/approvals/try", {**call, "approvals": rules})).json
    assert (tried["action"], tried["decided_by"]) == ("ask", "organization")
    assert [each["rule_number"] for each in tried["judgements"]] == [None, 2]
    assert tried["judgements"][1]["rule"]["arguments"] == {"command": {"glob": "git push*"}}
    known = (await admin.get("organization/approvals")).json
    assert known["organization"]["rules"] == [], "nothing was saved"

    saved = {"approvals": rules}
    assert (await admin.ask("PATCH", "organization/settings", saved)).status == 200
    assert (await admin.post("organization/approvals/try", call)).json["action"] == "ask"
    wrong = {"rules": [{"tool": "x", "action": "ask", "arguments": {"a": {"regex": "("}}}]}
    refused = await admin.post("organization/approvals/try", {**call, "approvals": wrong})
    assert refused.status == 422
    assert refused.json["errors"][0]["pointer"].startswith("/approvals/rules/0")


async def test_the_audit_log_is_filtered(cell: Cell) -> None:
    admin = cell.admin
    user = (await admin.post("users", {"name": "Bob", "email": "bob@acme.example"})).json
    about = await admin.get(f"organization/audit-log?target_id={user['id']}")
    assert [each["action"] for each in about.json["data"]] == ["user.created"]
    assert (await admin.get("organization/audit-log?target_id=what")).status == 422
    assert (await admin.get("organization/audit-log?target_id=user_what")).status == 422
    late = await admin.get("organization/audit-log?since=2100-01-01T00:00:00Z")
    assert late.json == {"data": [], "next_cursor": None}
    assert (await admin.get("organization/audit-log?since=2100-01-01T00:00:00")).status == 422


async def test_an_admin_stops_the_chat_of_a_member_once_per_key(cell: Cell) -> None:
    admin = cell.admin
    bob = await add_member(admin, "Bob", ("read", "write"))
    chat_id = await bob.new_chat("[[sim: words=4000 | rate=25]]")
    path = f"organization/chats/{chat_id}/stop"
    assert (await bob.post(path, None)).status == 403
    key = {"idempotency_key": "stop-1"}
    stopped = await admin.post(path, None, **key)
    assert (stopped.status, stopped.json["chat_id"]) == (202, chat_id)
    await bob.until(chat_id, "idle")
    again = await admin.post(path, None, **key)
    assert again.headers["idempotent-replayed"] == "true"
    assert (await admin.post(path, None)).status == 202, "nothing runs, and nothing changes"
    said = (await admin.get("organization/audit-log?action=chat.stopped")).json["data"]
    assert [(each["target_id"], each["actor_name"]) for each in said] == [(chat_id, "Ada")]
    assert (await admin.get(f"chats/{chat_id}")).status == 404, "to stop is not to read"
