"""Approvals on real servers: bound to what was shown, decided once, told to the audit log once, and
run once, whoever dies meanwhile."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import asyncpg
import orjson
import pytest

from holdfast_lab.chaos.harness.recorder import Recorder, recording
from tests.requirements import requirement
from tests.support.recording_worker import recording_worker
from tests.support.replica import Replicas
from tests.support.web import Cell, Client, a_cell, uuid_of

ASK = {"tool": "clock", "action": "ask"}
DENY = {"tool": "look_*", "action": "deny", "reason": "Ask a person instead."}
RULES = {"rules": [ASK, DENY]}
CLOCK = '[[sim: call clock {} | then | say "so late"]]'
TWO = '[[sim: call clock {} | call clock {} | then | say "so late"]]'
LOOK_UP: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up.",
    "input_schema": {"type": "object"},
}


@pytest.fixture
async def cell(empty: Replicas) -> AsyncGenerator[Cell]:
    async with a_cell(empty, approvals=orjson.dumps(RULES).decode()) as cell:
        yield cell


async def asking(client: Client, text: str = CLOCK) -> tuple[str, list[dict[str, Any]]]:
    """A chat that waits for approval, and the calls that do."""
    chat_id = await client.new_chat(text)
    action = (await client.until(chat_id, "awaiting"))["action_required"]
    assert action["type"] == "approval"
    return chat_id, action["calls"]


def decision(call: dict[str, Any], verdict: str = "approve", **more: Any) -> dict[str, Any]:
    one = {"call_id": call["call_id"], "digest": call["digest"], "decision": verdict, **more}
    return {"decisions": [one]}


async def results_of(client: Client, chat_id: str) -> list[dict[str, Any]]:
    page = (await client.get(f"chats/{chat_id}/messages")).json
    parts = [part for message in page["data"] for part in message["parts"]]
    return [part for part in parts if part["type"] == "tool_result"]


async def decisions_logged(client: Client, chat_id: str) -> list[dict[str, Any]]:
    entries = (await client.get("organization/audit-log")).json["data"]
    return [e for e in entries if e["action"].startswith("call.") and e["target_id"] == chat_id]


@requirement("L151", "X4")
async def test_exact_arguments_of_a_call_are_sent_as_text(cell: Cell) -> None:
    given = '{"account": 9007199254740993, "note": "rent"}'
    chat_id, _ = await asking(cell.admin, f"[[sim: call clock {given}]]")
    page = (await cell.admin.get(f"chats/{chat_id}/messages")).json
    (call,) = [p for m in page["data"] for p in m["parts"] if p["type"] == "tool_call"]
    assert call["arguments"] == {"account": 9007199254740993, "note": "rent"}
    assert call["exact_arguments"] == {"account": "9007199254740993"}


@requirement("X4")
async def test_a_decision_without_the_digest_of_what_was_shown_decides_nothing(cell: Cell) -> None:
    admin = cell.admin
    chat_id, (call,) = await asking(admin)
    page = (await admin.get(f"chats/{chat_id}/messages")).json
    shown = next(p for p in page["data"][-1]["parts"] if p["type"] == "tool_call")
    assert (shown["digest"], shown["action_required"]) == (call["digest"], "approval")
    async with asyncio.timeout(60), admin.stream(chat_id) as events:
        told = await anext(e["data"] async for e in events if e["type"] == "chat.state")
    assert told["action_required"]["calls"] == [call]
    assert call["arguments"] == shown["arguments"], "a decision needs no second request"

    before = (await admin.get(f"chats/{chat_id}")).json
    without = {"call_id": call["call_id"], "decision": "approve"}
    for wrong in (without, {**without, "digest": None}, {**without, "digest": "0" * 64}):
        refused = await admin.post(f"chats/{chat_id}/tool-decisions", {"decisions": [wrong]})
        assert (refused.status, refused.code) == (409, "approval_mismatch")
        assert "digest" in refused.json["detail"]
    assert (await admin.get(f"chats/{chat_id}")).json == before
    assert await decisions_logged(admin, chat_id) == []

    said = await admin.post(f"chats/{chat_id}/tool-decisions", decision(call))
    assert said.status == 202, said.raw
    await admin.until(chat_id, "idle")
    (result,) = await results_of(admin, chat_id)
    assert result["is_error"] is False


async def test_a_key_decides_about_calls_only_with_the_scope_approve(cell: Cell) -> None:
    """A program that sends messages must not approve the calls that they lead to."""
    admin = cell.admin
    chat_id, (call,) = await asking(admin)
    usual = await admin.new_key("usual")
    assert usual["scopes"] == ["read", "write"]
    decides = await admin.new_key("decides", "read", "approve")
    sender, approver = admin.as_(usual["secret"]), admin.as_(decides["secret"])

    refused = await sender.post(f"chats/{chat_id}/tool-decisions", decision(call))
    assert (refused.status, refused.code) == (403, "permission_denied")
    assert refused.json["required_scope"] == "approve"
    assert (await admin.get(f"chats/{chat_id}")).json["status"] == "awaiting"
    assert (await approver.post(f"chats/{chat_id}/messages", {"text": "x"})).status == 403
    assert (await approver.post(f"chats/{chat_id}/tool-decisions", decision(call))).status == 202
    await admin.until(chat_id, "idle")


async def test_who_decided_is_logged_once_with_the_digest(cell: Cell) -> None:
    admin = cell.admin
    chat_id, (first, second) = await asking(admin, TWO)
    path = f"chats/{chat_id}/tool-decisions"
    yes = decision(first)
    for _ in range(2):
        assert (await admin.post(path, yes, idempotency_key="k")).status == 202
    assert (await admin.post(path, yes)).code == "call_not_open"
    no = decision(second, "deny", reason="Once is enough.")
    assert (await admin.post(path, no)).status == 202
    await admin.until(chat_id, "idle")

    denied, approved = await decisions_logged(admin, chat_id)
    assert [approved["action"], denied["action"]] == ["call.approved", "call.denied"]
    me = (await admin.get("me")).json["user"]["id"]
    assert (approved["actor_id"], approved["target_type"]) == (me, "chat")
    assert approved["detail"] == {
        "call_id": first["call_id"],
        "tool": "clock",
        "digest": first["digest"],
    }
    results = {result["call_id"]: result for result in await results_of(admin, chat_id)}
    assert results[second["call_id"]]["synthetic_reason"] == "denied"
    assert results[second["call_id"]]["output"].endswith("They said: Once is enough.")
    assert results[first["call_id"]]["is_error"] is False


async def test_a_batch_of_decisions_is_one_commit_or_none(cell: Cell) -> None:
    admin = cell.admin
    chat_id, (first, second) = await asking(admin, TWO)
    path = f"chats/{chat_id}/tool-decisions"
    yes = decision(first)["decisions"]
    stale = decision({**second, "digest": "0" * 64})["decisions"]
    before = (await admin.get(f"chats/{chat_id}")).json
    assert (await admin.post(path, {"decisions": yes + stale})).code == "approval_mismatch"
    assert (await admin.post(path, {"decisions": yes + yes})).code == "invalid_request"
    assert (await admin.get(f"chats/{chat_id}")).json == before
    assert await decisions_logged(admin, chat_id) == []

    both = yes + decision(second, "deny")["decisions"]
    said = await admin.post(path, {"decisions": both})
    assert (said.status, said.json["version"]) == (202, before["version"] + 1)
    entry = (await admin.get("organization/audit-log")).json["data"][0]
    assert (entry["action"], entry["target_id"]) == ("calls.decided", chat_id)
    assert [each["decision"] for each in entry["detail"]["decisions"]] == ["approve", "deny"]
    await admin.until(chat_id, "idle")


async def test_of_many_who_decide_at_once_one_is_heard(cell: Cell) -> None:
    other = await cell.another(approvals=orjson.dumps(RULES).decode())
    places = [cell.admin, cell.admin.at(other.url)]
    for _ in range(5):
        chat_id, (call,) = await asking(cell.admin)
        said = await asyncio.gather(
            *(
                places[number % 2].post(
                    f"chats/{chat_id}/tool-decisions",
                    decision(call, "approve" if number % 3 else "deny"),
                )
                for number in range(8)
            )
        )
        assert sorted(answer.status for answer in said) == [202, *[409] * 7]
        assert {answer.code for answer in said if answer.status == 409} <= {
            "call_not_open",
            "chat_state_conflict",
        }
        await cell.admin.until(chat_id, "idle")
        (result,) = await results_of(cell.admin, chat_id)
        (logged,) = await decisions_logged(cell.admin, chat_id)
        assert (logged["action"] == "call.denied") == (result["synthetic_reason"] == "denied")


async def test_a_rule_denies_and_the_model_is_told_which(cell: Cell) -> None:
    admin = cell.admin
    text = '[[sim: call look_up {} | then | say "well"]]'
    begun = await admin.post("chats", {"tools": [LOOK_UP], "message": {"text": text}})
    chat_id = begun.json["chat_id"]
    await admin.until(chat_id, "idle")
    (result,) = await results_of(admin, chat_id)
    assert (result["synthetic_reason"], result["is_error"]) == ("denied", True)
    assert "rule 2 of the server's approval rules: Ask a person instead." in result["output"]


async def test_an_organisation_is_stricter_from_the_next_step_on(empty: Replicas) -> None:
    async with a_cell(empty) as cell:
        admin = cell.admin
        rules = {"rules": [{"tool": "clock", "action": "deny"}], "default": "allow"}
        changed = await admin.ask("PATCH", "organization/settings", {"approvals": rules})
        assert changed.status == 200, changed.raw
        kept = changed.json["approvals"]
        assert kept["rules"] == [{**rules["rules"][0], "arguments": {}, "reason": ""}]  # type: ignore[index]
        assert (await admin.get("organization/settings")).json == changed.json
        chat_id = await admin.new_chat(CLOCK)
        await admin.until(chat_id, "idle")
        (result,) = await results_of(admin, chat_id)
        assert "rule 1 of the organisation's approval rules" in result["output"]

        wrongs: list[Any] = [
            {"rules": [{"tool": "clock", "action": "maybe"}]},
            {"rules": [{"tool": "clock", "action": "deny", "argument": {}}]},
            {"rules": [{"tool": "a", "action": "deny", "arguments": {"x": {"regex": "("}}}]},
            {"default": None},
        ]
        for wrong in wrongs:
            refused = await admin.ask("PATCH", "organization/settings", {"approvals": wrong})
            assert (refused.status, refused.code) == (422, "invalid_request"), wrong
        assert (await admin.get("organization/settings")).json == changed.json


async def test_a_wait_for_approval_ends_in_time(empty: Replicas) -> None:
    rules = orjson.dumps(RULES).decode()
    async with a_cell(empty, approvals=rules, approval_wait_s=3600) as cell:
        admin = cell.admin
        chat_id, (call,) = await asking(admin)
        connection = await asyncpg.connect(cell.replicas.database_url)
        left_s = await connection.fetchval(
            "select extract(epoch from awaiting_until - now()) from chats where id = $1",
            uuid_of(chat_id),
        )
        assert 3000 < left_s <= 3600
        await connection.execute(
            "update chats set awaiting_until = clock_timestamp() where id = $1", uuid_of(chat_id)
        )
        await connection.close()
        await admin.until(chat_id, "idle", within_s=60)
        (result,) = await results_of(admin, chat_id)
        assert result["synthetic_reason"] == "expired"
        late = await admin.post(f"chats/{chat_id}/tool-decisions", decision(call))
        assert (late.status, late.code) == (409, "chat_state_conflict")


RECORDED = '[[sim: call record_once {"seconds": SECONDS} | then | say "done"]]'
ASK_ALL = {"default": "ask"}


async def happened(recorder: Recorder, call_id: str) -> None:
    async with asyncio.timeout(60):
        while not recorder.effects[call_id]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@requirement("X1")
async def test_an_approved_call_happens_once_whichever_worker_dies(empty: Replicas) -> None:
    """The worker that asked is killed while the chat waits; the one that runs the call, while it
    does. Nobody runs it again, and the model is told that nobody knows."""
    rules = orjson.dumps(ASK_ALL).decode()
    async with a_cell(empty, role="api") as cell, recording() as recorder:
        admin = cell.admin
        async with recording_worker(empty, recorder.url, approvals=rules) as asker:
            quick, (first,) = await asking(admin, RECORDED.replace("SECONDS", "0"))
            slow, (second,) = await asking(admin, RECORDED.replace("SECONDS", "30"))
            asker.kill()
        assert recorder.effects == {}
        async with recording_worker(empty, recorder.url, approvals=rules) as runner:
            for chat_id, call in ((quick, first), (slow, second)):
                said = await admin.post(f"chats/{chat_id}/tool-decisions", decision(call))
                assert said.status == 202, said.raw
            await admin.until(quick, "idle")
            await happened(recorder, second["call_id"])
            runner.kill()
        async with recording_worker(empty, recorder.url, approvals=rules):
            await admin.until(slow, "idle", within_s=60)
        assert recorder.effects == {first["call_id"]: 1, second["call_id"]: 1}
        (done,) = await results_of(admin, quick)
        assert done["output"] == f"recorded {first['call_id']}"
        (doubtful,) = await results_of(admin, slow)
        assert doubtful["synthetic_reason"] == "unknown_outcome"
