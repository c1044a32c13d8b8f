"""The advisor on a real server: an admin turns it on, and the simulator plays both models."""

from typing import Any

import orjson
import pytest

from holdfast_simulator.record import Entry
from holdfast_simulator.server import Simulator
from tests.requirements import requirement
from tests.support.web import Cell

ASKS = r'[[sim: call advisor {"question": "Which way? [[sim: say \"Go left.\"]]"}'
PLAIN = '[[sim: say "Hi."]]'


def quoted(question: str) -> str:
    return f"[[sim: call advisor {orjson.dumps({'question': question}).decode()}"


async def turned_on(cell: Cell, **settings: Any) -> None:
    given = {"advisor_enabled": True, **settings}
    answer = await cell.admin.ask("PATCH", "organization/settings", given)
    assert answer.status == 200, answer.raw


async def a_turn(cell: Cell, text: str) -> list[dict[str, Any]]:
    """The messages of a new chat, once it rests."""
    chat_id = await cell.admin.new_chat(text)
    await cell.admin.until(chat_id, "idle", "failed")
    return (await cell.admin.get(f"chats/{chat_id}/messages")).json["data"]


def results_of(messages: list[dict[str, Any]]) -> list[Any]:
    parts = [part for message in messages for part in message["parts"]]
    return [part["output"] for part in parts if part["type"] == "tool_result"]


def requests_of(cell: Cell) -> list[Entry]:
    simulator = cell.replicas.simulator
    assert isinstance(simulator, Simulator)
    return list(simulator.record)


@requirement("L112")
async def test_off_neither_the_tool_nor_its_text_is_in_the_request_and_on_both_are(
    cell: Cell,
) -> None:
    await a_turn(cell, PLAIN)
    assert "dvisor" not in str(requests_of(cell)[-1].body)
    await turned_on(cell)
    await a_turn(cell, PLAIN)
    body: Any = requests_of(cell)[-1].body
    assert "advisor" in [tool["name"] for tool in body["tools"]]
    assert "<advisor>" in str(body["system"])


@requirement("L112")
async def test_in_plan_mode_neither_the_tool_nor_its_text_is_in_the_request(cell: Cell) -> None:
    await turned_on(cell)
    answer = await cell.admin.post("chats", {"message": {"text": PLAIN, "plan_mode": True}})
    assert answer.status == 201, answer.raw
    await cell.admin.until(answer.json["chat_id"], "idle")
    assert "dvisor" not in str(requests_of(cell)[-1].body)


async def test_the_nested_request_has_no_tools_and_its_advice_is_the_result(cell: Cell) -> None:
    await turned_on(cell, advisor_uses_max=2, advisor_effort="low", advisor_output_max=2_000)
    messages = await a_turn(cell, f'{ASKS} | then | say "I go left."]]')
    (nested,) = [entry for entry in requests_of(cell) if entry.source == "advisor"]
    body: Any = nested.body
    assert "tools" not in body
    assert body["max_tokens"] <= 2_000
    assert "<question>" in str(body["messages"])
    (output,) = results_of(messages)
    assert (output["type"], output["advice"]) == ("advice", "Go left.")
    assert (output["model"], output["remaining_uses"]) == ("sim", 1)
    (told,) = [message for message in messages if message["role"] == "tool"]
    assert told["model"] == "sim"
    assert told["usage"]["output_tokens"] == output["usage"]["output"]
    assert messages[-1]["parts"][0]["text"] == "I go left."


async def test_the_cap_of_the_organisation_is_the_cap_of_a_turn(cell: Cell) -> None:
    await turned_on(cell, advisor_uses_max=1)
    messages = await a_turn(cell, f'{ASKS} | then | {ASKS[len("[[sim: ") :]} | then | say "Ok."]]')
    assert [each["type"] for each in results_of(messages)] == ["advice", "limit_reached"]


@pytest.mark.parametrize("fault", ["invalid-request", "eof-mid"])
async def test_an_advisor_that_fails_is_a_result_and_no_failed_turn(cell: Cell, fault: str) -> None:
    await turned_on(cell)
    question = f'Which way? [[sim: fault={fault} | say "Go left, and then right."]]'
    messages = await a_turn(cell, f'{quoted(question)} | then | say "Alone, then."]]')
    (output,) = results_of(messages)
    assert (output["type"], output["remaining_uses"]) == ("error", 3)
    assert messages[-1]["parts"][0]["text"] == "Alone, then."


async def test_the_metrics_count_calls_of_the_advisor(cell: Cell) -> None:
    await turned_on(cell)
    await a_turn(cell, f'{ASKS} | then | say "Ok."]]')
    text = cell.served[0].server.metrics.text().decode()
    assert "holdfast_advisor_calls_total 1.0" in text
    assert "holdfast_advisor_failures_total 0.0" in text
    assert "holdfast_advisor_seconds_count 1.0" in text
