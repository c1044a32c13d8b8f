"""`ask_user`: a chat waits for a person, without a worker, and goes on with the answer."""

import asyncio
import json
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.web import Cell, Client, a_cell, on_socket

QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "Which database?",
        "options": [{"label": "PostgreSQL", "detail": "As now."}, {"label": "SQLite"}],
    },
    {"question": "Which port?"},
]
ANSWERS: dict[str, Any] = {"answers": [{"chosen": ["SQLite"]}, {"text": "5433"}]}
A_DAY_AGO = """
    do $$ declare c record; begin
        for c in select table_name, column_name from information_schema.columns
            where table_schema = current_schema() and table_name in ('chats', 'messages')
                and data_type like 'timestamp%' and is_generated = 'NEVER'
        loop
            execute format(
                'update %1$I set %2$I = %2$I - interval %3$L',
                c.table_name, c.column_name, '25 hours'
            );
        end loop;
    end $$
"""


def asking(questions: Any) -> str:
    call = f"call ask_user {json.dumps({'questions': questions})}"
    return f'[[sim: {call} | then | say "so be it"]]'


async def asked(client: Client, questions: Any = QUESTIONS) -> tuple[str, str]:
    """A chat that waits for answers, and the call that it waits for."""
    chat_id = await client.new_chat(asking(questions))
    action = (await client.until(chat_id, "awaiting"))["action_required"]
    assert (action["type"], action["expires_at"]) == ("answer", None)
    (call,) = action["calls"]
    assert call["arguments"] == {"questions": questions}
    return chat_id, call["call_id"]


async def answered(client: Client, chat_id: str, call_id: str, output: Any = ANSWERS) -> Any:
    results = [{"call_id": call_id, "output": output}]
    return await client.post(f"chats/{chat_id}/tool-results", {"results": results})


async def result_in(client: Client, chat_id: str) -> dict[str, Any]:
    page = (await client.get(f"chats/{chat_id}/messages")).json
    (result,) = [p for m in page["data"] for p in m["parts"] if p["type"] == "tool_result"]
    return result


@requirement("F18")
async def test_a_person_answers_and_the_model_reads_questions_and_answers(cell: Cell) -> None:
    chat_id, call_id = await asked(cell.admin)
    wrong = await answered(cell.admin, chat_id, call_id, {"answers": [{"chosen": ["Oracle"]}] * 2})
    assert (wrong.status, wrong.code) == (422, "answer_not_valid")
    assert wrong.json["detail"] == "Answer 1 chooses what is no option of its question."

    assert (await answered(cell.admin, chat_id, call_id)).status == 202
    await cell.admin.until(chat_id, "idle")
    result = await result_in(cell.admin, chat_id)
    assert (result["executed_by"], result["is_error"]) == ("client", False)
    assert result["output"] == {
        "answers": [
            {"question": "Which database?", "chosen": ["SQLite"]},
            {"question": "Which port?", "text": "5433"},
        ]
    }


@requirement("F18")
async def test_of_two_tabs_at_two_servers_one_answers_and_the_other_is_told(cell: Cell) -> None:
    other = cell.admin.at((await cell.another()).url)
    chat_id, call_id = await asked(cell.admin, [QUESTIONS[1]])
    tabs = (answered(cell.admin, chat_id, call_id, "1"), answered(other, chat_id, call_id, "2"))
    both = await asyncio.gather(*tabs)
    assert sorted(each.status for each in both) == [202, 409]
    (late,) = [each for each in both if each.status == 409]
    assert late.json["detail"] == "The call is answered already."

    await other.until(chat_id, "idle")
    much_later = await answered(cell.admin, chat_id, call_id, "3")
    assert (much_later.status, much_later.json["detail"]) == (409, "The call is answered already.")
    await result_in(other, chat_id)


@requirement("F18")
async def test_a_question_outlives_every_process_and_a_day(empty: Replicas) -> None:
    async with a_cell(empty) as cell:
        chat_id, call_id = await asked(cell.admin)
        key = cell.admin.headers["authorization"].split()[1]
    connection = await asyncpg.connect(empty.database_url)
    await connection.execute(A_DAY_AGO)
    await connection.close()
    async with on_socket(empty) as served, aiohttp.ClientSession() as http:
        admin = Client(http, served.url).as_(key)
        assert (await admin.get(f"chats/{chat_id}")).json["status"] == "awaiting"
        assert (await answered(admin, chat_id, call_id)).status == 202
        await admin.until(chat_id, "idle")
        assert not (await result_in(admin, chat_id))["is_error"]


async def test_stop_cancels_a_question_and_a_late_answer_is_told_so(cell: Cell) -> None:
    chat_id, call_id = await asked(cell.admin)
    assert (await cell.admin.post(f"chats/{chat_id}/interrupt", {})).status == 202
    await cell.admin.until(chat_id, "idle")
    assert (await result_in(cell.admin, chat_id))["synthetic_reason"] == "interrupted"
    late = await answered(cell.admin, chat_id, call_id)
    assert late.status == 409
    assert late.json["detail"] == "The call was cancelled before this answer came."


@pytest.mark.parametrize(("when_busy", "status"), [("queue", "awaiting"), ("interrupt", "idle")])
async def test_a_plain_message_is_no_answer(cell: Cell, when_busy: str, status: str) -> None:
    chat_id, call_id = await asked(cell.admin)
    message = {"text": '[[sim: say "hello"]]', "when_busy": when_busy}
    assert (await cell.admin.post(f"chats/{chat_id}/messages", message)).status == 202
    await cell.admin.until(chat_id, status)
    if when_busy == "queue":
        assert (await answered(cell.admin, chat_id, call_id)).status == 202
        await cell.admin.until(chat_id, "idle")
    reason = "interrupted" if when_busy == "interrupt" else None
    assert (await result_in(cell.admin, chat_id))["synthetic_reason"] == reason


async def test_questions_that_nobody_can_show_hold_up_nothing(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat(asking([{"question": "A?", "options": [{"label": "A"}]}]))
    await cell.admin.until(chat_id, "idle")
    result = await result_in(cell.admin, chat_id)
    assert result["is_error"]
    assert "questions[0].options is no list of 2 to 4." in result["output"]
