"""Tools that a chat declares: the model calls one, the chat waits, and a result goes on with it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import pytest

from holdfast.bootstrap import Adapters
from holdfast.chats.declare import SCHEMA_DEPTH_MAX, TOOLS_MAX
from holdfast.domain.parts import Need
from holdfast.ports.tools import Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Combined, Function, Functions
from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.web import Cell, Client, a_cell

LOOK_UP: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks a word up.",
    "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
    "open_world": False,
}
CALL = '[[sim: call look_up {"word": "kelp"} | then | say "so it is"]]'


async def awaited(client: Client, text: str = CALL, tools: Any = (LOOK_UP,)) -> tuple[str, str]:
    """A chat that waits for a result, and the call that it waits for."""
    begun = await client.post("chats", {"tools": tools, "message": {"text": text}})
    assert begun.status == 201, begun.raw
    chat_id = begun.json["chat_id"]
    chat = await client.until(chat_id, "awaiting")
    return chat_id, chat["action_required"]["calls"][0]["call_id"]


async def parts_of(client: Client, chat_id: str) -> list[dict[str, Any]]:
    page = (await client.get(f"chats/{chat_id}/messages")).json
    return [part for message in page["data"] for part in message["parts"]]


def given(call_id: str, output: Any = "a brown alga") -> dict[str, Any]:
    return {"results": [{"call_id": call_id, "output": output}]}


async def test_a_result_from_outside_is_what_the_turn_goes_on_with(cell: Cell) -> None:
    admin = cell.admin
    chat_id, call_id = await awaited(admin)

    chat = (await admin.get(f"chats/{chat_id}")).json
    assert chat["tools"] == [LOOK_UP]
    action = chat["action_required"]
    assert action["type"] == "result"
    awaited_call = {
        "call_id": call_id,
        "tool_name": "look_up",
        "seq": 2,
        "arguments": {"word": "kelp"},
        "digest": None,
    }
    assert action["calls"] == [awaited_call], "a result is given, not decided about"
    assert action["expires_at"] is not None
    async with asyncio.timeout(60), admin.stream(chat_id) as events:
        assert (await first(events, "chat.state"))["action_required"] == action
    async with admin.http.get(f"{cell.replicas.simulator.url}/sim/requests/1") as asked:
        offered = (await asked.json())["body"]["tools"]
    assert {tool["name"] for tool in offered} == {"ask_user", "clock", "update_plan", "look_up"}

    said = await admin.post(f"chats/{chat_id}/tool-results", given(call_id, {"means": ["alga", 1]}))
    assert said.status == 202, said.raw
    await admin.until(chat_id, "idle")
    call, result, text = (await parts_of(admin, chat_id))[1:]
    assert (call["tool_name"], call["arguments"], call["action_required"]) == (
        "look_up",
        {"word": "kelp"},
        "result",
    )
    assert (result["output"], result["is_error"]) == ({"means": ["alga", 1]}, False)
    assert text["text"] == "so it is"


async def first(events: AsyncIterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    return await anext(event["data"] async for event in events if event["type"] == kind)


async def test_results_for_other_calls_and_second_results_change_nothing(cell: Cell) -> None:
    admin = cell.admin
    chat_id, call_id = await awaited(admin)
    results = f"chats/{chat_id}/tool-results"

    assert (await admin.post(results, given("no_such_call"))).code == "call_not_open"
    mixed = given(call_id)["results"] + given("no_such_call")["results"]
    assert (await admin.post(results, {"results": mixed})).code == "call_not_open"
    decision = {"decisions": [{"call_id": call_id, "decision": "approve"}]}
    assert (await admin.post(f"chats/{chat_id}/tool-decisions", decision)).code == "call_not_open"
    assert (await admin.get(f"chats/{chat_id}")).json["status"] == "awaiting"

    first = await admin.post(results, given(call_id), idempotency_key="r")
    again = await admin.post(results, given(call_id), idempotency_key="r")
    assert (first.status, again.status) == (202, 202)
    assert again.json == first.json
    assert again.headers["idempotent-replayed"] == "true"
    await admin.until(chat_id, "idle")
    assert (await admin.post(results, given(call_id))).code == "chat_state_conflict"
    kinds = [part["type"] for part in await parts_of(admin, chat_id)]
    assert kinds.count("tool_result") == 1


@requirement("L147", "X5")
async def test_result_that_is_too_long_is_cut_and_does_not_end_its_chat(cell: Cell) -> None:
    admin = cell.admin
    chat_id, call_id = await awaited(admin)
    long, results = given(call_id, "x" * 900_000), f"chats/{chat_id}/tool-results"

    first = await admin.post(results, long, idempotency_key="r")
    assert first.status == 202, first.raw
    assert (await admin.until(chat_id, "idle", "failed"))["status"] == "idle"

    (output,) = [p["output"] for p in await parts_of(admin, chat_id) if p["type"] == "tool_result"]
    assert len(output.encode()) <= 32 * 1024
    again = await admin.post(results, long, idempotency_key="r")
    assert (again.status, again.json) == (202, first.json)
    assert again.headers["idempotent-replayed"] == "true"


async def test_of_two_calls_both_must_be_answered(cell: Cell) -> None:
    admin = cell.admin
    text = '[[sim: call look_up {"word": "a"} | call look_up {"word": "b"} | then | say "both"]]'
    chat_id, first = await awaited(admin, text)
    calls = (await admin.get(f"chats/{chat_id}")).json["action_required"]["calls"]
    second = calls[1]["call_id"]
    assert first != second

    assert (await admin.post(f"chats/{chat_id}/tool-results", given(second, "B"))).status == 202
    chat = (await admin.get(f"chats/{chat_id}")).json
    assert (chat["status"], len(chat["action_required"]["calls"])) == ("awaiting", 1)
    assert (
        await admin.post(f"chats/{chat_id}/tool-results", given(second, "B"))
    ).code == "call_not_open"
    assert (await admin.post(f"chats/{chat_id}/tool-results", given(first, "A"))).status == 202
    await admin.until(chat_id, "idle")
    outputs = {
        part["call_id"]: part["output"]
        for part in await parts_of(admin, chat_id)
        if part["type"] == "tool_result"
    }
    assert outputs == {first: "A", second: "B"}


async def test_a_wait_outlives_the_server_that_began_it(empty: Replicas) -> None:
    async with a_cell(empty) as cell:
        admin = cell.admin
        chat_id, call_id = await awaited(admin)
        cell.served[0].drain()  # which holds nothing for the chat that waits
        other = await cell.another()
        admin = admin.at(other.url)
        assert (await admin.get(f"chats/{chat_id}")).json["status"] == "awaiting"
        assert (await admin.post(f"chats/{chat_id}/tool-results", given(call_id))).status == 202
        await admin.until(chat_id, "idle")
        assert (await parts_of(admin, chat_id))[-1]["text"] == "so it is"


async def test_nobody_answers_in_time_and_the_model_is_told(cell: Cell) -> None:
    admin = cell.admin
    chat_id, call_id = await awaited(admin)
    connection = await asyncpg.connect(cell.replicas.database_url)
    await connection.execute("update chats set awaiting_until = now() - interval '1 s'")
    await connection.close()

    await admin.until(chat_id, "idle")
    result = next(p for p in await parts_of(admin, chat_id) if p["type"] == "tool_result")
    assert (result["synthetic_reason"], result["is_error"]) == ("expired", True)
    assert (
        await admin.post(f"chats/{chat_id}/tool-results", given(call_id))
    ).code == "chat_state_conflict"


async def test_tools_are_replaced_whole_and_from_the_next_turn_on(cell: Cell) -> None:
    admin = cell.admin
    chat_id, call_id = await awaited(admin)
    other = {**LOOK_UP, "name": "other"}
    declare = f"chats/{chat_id}/tools"

    replaced = await admin.ask("PUT", declare, {"tools": [other]})
    assert replaced.status == 200, replaced.raw
    assert (await admin.get(f"chats/{chat_id}")).json["tools"] == [other]
    same = await admin.ask("PUT", declare, {"tools": [other]})
    assert same.json["version"] == replaced.json["version"], "nothing changed, so no version did"
    assert (await admin.post(f"chats/{chat_id}/tool-results", given(call_id))).status == 202
    await admin.until(chat_id, "idle")

    # The model calls what is no longer offered: it is told so, and nobody waits.
    await admin.post(f"chats/{chat_id}/messages", {"text": CALL})
    await admin.until(chat_id, "idle")
    failed = [p for p in await parts_of(admin, chat_id) if p.get("is_error")]
    assert [part["tool_name"] for part in failed] == ["look_up"]
    assert "no tool called" in failed[0]["output"]


def deep(levels: int) -> Any:
    schema: Any = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"type": "object", "items": schema}
    return schema


REFUSED: list[tuple[str, Any, str]] = [
    ("the server's own name", [{**LOOK_UP, "name": "clock"}], "invalid_request"),
    ("one name twice", [LOOK_UP, LOOK_UP], "invalid_request"),
    ("no name", [{**LOOK_UP, "name": ""}], "invalid_request"),
    ("a name with a blank", [{**LOOK_UP, "name": "look up"}], "invalid_request"),
    ("a name with a line break", [{**LOOK_UP, "name": "look\n"}], "invalid_request"),
    ("a long name", [{**LOOK_UP, "name": "x" * 65}], "invalid_request"),
    ("a list as schema", [{**LOOK_UP, "input_schema": []}], "invalid_request"),
    ("no object", [{**LOOK_UP, "input_schema": {"type": "string"}}], "invalid_request"),
    ("too deep", [{**LOOK_UP, "input_schema": deep(SCHEMA_DEPTH_MAX + 1)}], "invalid_request"),
    (
        "too long",
        [{**LOOK_UP, "input_schema": {"type": "object", "x": "y" * 70_000}}],
        "invalid_request",
    ),
    (
        "too many",
        [{**LOOK_UP, "name": f"t{n}"} for n in range(TOOLS_MAX + 1)],
        "invalid_request",
    ),
    ("another field", [{**LOOK_UP, "needs": "nothing"}], "invalid_request"),
]


async def test_tools_past_a_bound_are_refused_and_nothing_is_begun(cell: Cell) -> None:
    admin = cell.admin
    chat_id = await admin.new_chat()
    for name, tools, code in REFUSED:
        begun = await admin.post("chats", {"tools": tools})
        replaced = await admin.ask("PUT", f"chats/{chat_id}/tools", {"tools": tools})
        assert (begun.code, replaced.code) == (code, code), name
    assert len((await admin.get("chats")).json["data"]) == 1
    assert (await admin.get(f"chats/{chat_id}")).json["tools"] == []

    full = [{**LOOK_UP, "name": f"t{n}"} for n in range(TOOLS_MAX)]
    full[0] = {**full[0], "input_schema": deep(SCHEMA_DEPTH_MAX)}
    assert (await admin.ask("PUT", f"chats/{chat_id}/tools", {"tools": full})).status == 200
    assert (await admin.get(f"chats/{chat_id}")).json["tools"] == full


# Approvals, of a tool that this server has.

PAY = '[[sim: call pay {"sum": 5} | then | say "done"]]'


@dataclass
class Paying:
    """A server with a tool that needs an approval, and what was paid by it."""

    cell: Cell
    around: Callable[[Adapters], Adapters]
    paid: list[Any]


@pytest.fixture
async def paying(empty: Replicas) -> AsyncGenerator[Paying]:
    paid: list[Any] = []

    async def pay(run: Run) -> ToolOutput:
        paid.append(run.call.arguments)
        return ToolOutput("paid")

    spec = ToolSpec(name="pay", description="Pays.", schema={"type": "object"}, needs=Need.APPROVAL)

    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, tools=Combined(Functions(Function(spec, pay)), adapters.tools))

    async with a_cell(empty, around=around) as cell:
        yield Paying(cell, around, paid)


async def asked_to_pay(admin: Client) -> tuple[str, dict[str, str]]:
    """A chat that waits for approval, and what every decision about its call says."""
    chat_id = await admin.new_chat(PAY)
    action = (await admin.until(chat_id, "awaiting"))["action_required"]
    assert action["type"] == "approval"
    (waits,) = action["calls"]
    return chat_id, {"call_id": waits["call_id"], "digest": waits["digest"]}


async def test_an_approved_call_is_run_once_and_a_denied_one_never(paying: Paying) -> None:
    admin, paid = paying.cell.admin, paying.paid
    chat_id, about = await asked_to_pay(admin)
    call_id = about["call_id"]
    decisions = f"chats/{chat_id}/tool-decisions"
    yes, no = ({"decisions": [{**about, "decision": each}]} for each in ("approve", "deny"))

    other = {"decisions": [{**about, "call_id": "other", "decision": "approve"}]}
    assert (await admin.post(decisions, other)).code == "call_not_open"
    early = await admin.post(f"chats/{chat_id}/tool-results", given(call_id))
    assert early.code == "call_not_open"
    assert paid == []
    first = await admin.post(decisions, yes, idempotency_key="d")
    assert first.status == 202, first.raw
    again = await admin.post(decisions, yes, idempotency_key="d")
    assert again.headers["idempotent-replayed"] == "true"
    assert (await admin.post(decisions, no, idempotency_key="d")).code == "idempotency_key_reused"
    await admin.until(chat_id, "idle")
    assert (await admin.post(decisions, no)).code == "chat_state_conflict"
    assert paid == [{"sum": 5}]

    chat_id, about = await asked_to_pay(admin)
    denied = {"decisions": [{**about, "decision": "deny"}]}
    assert (await admin.post(f"chats/{chat_id}/tool-decisions", denied)).status == 202
    await admin.until(chat_id, "idle")
    result = next(p for p in await parts_of(admin, chat_id) if p["type"] == "tool_result")
    assert (result["synthetic_reason"], result["is_error"]) == ("denied", True)
    assert paid == [{"sum": 5}]


async def test_an_approval_after_a_restart_runs_the_very_call(paying: Paying) -> None:
    cell, paid = paying.cell, paying.paid
    chat_id, about = await asked_to_pay(cell.admin)
    cell.served[0].drain()
    other = await cell.another(around=paying.around)
    admin = cell.admin.at(other.url)
    yes = {"decisions": [{**about, "decision": "approve"}]}
    assert (await admin.post(f"chats/{chat_id}/tool-decisions", yes)).status == 202
    await admin.until(chat_id, "idle")
    assert paid == [{"sum": 5}]
    assert (await parts_of(admin, chat_id))[-1]["text"] == "done"
