"""A chat that a newer version wrote: the API says so, of this chat only."""

import asyncpg
import pytest

from holdfast.domain.format import READS
from tests.requirements import requirement
from tests.support.web import Cell, uuid_of

TOO_NEW = {
    "a higher reader level": f"update chats set reads = {READS + 1}, version = version + 1",
    "an unknown error": """update chats set version = version + 1, status = 'failed', error =
        '{"kind":"budget","sentence":"","provider":null,"status_code":null,"retryable":false}'""",
    "an unknown wait": """update chats set version = version + 1, status = 'awaiting',
        awaiting = '{"kind":"child","calls":[]}'""",
}


@requirement("L138")
@pytest.mark.parametrize("why", TOO_NEW)
async def test_a_chat_of_a_newer_version_answers_upgrading(cell: Cell, why: str) -> None:
    chat_id, other = await cell.admin.new_chat(), await cell.admin.new_chat()
    connection = await asyncpg.connect(cell.replicas.database_url)
    await connection.execute(f"{TOO_NEW[why]} where id = $1", uuid_of(chat_id))
    await connection.close()

    answer = await cell.admin.ask("POST", f"chats/{chat_id}/messages", {"text": "hello"})

    assert (answer.status, answer.json["code"]) == (503, "upgrading")
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json["detail"] is None
    stream = await cell.admin.ask("GET", f"chats/{chat_id}/events")
    assert (stream.status, stream.json["code"]) == (503, "upgrading")
    listed = (await cell.admin.get("chats")).json["data"]
    assert {chat["id"] for chat in listed} == {chat_id, other}
    sent = await cell.admin.ask("POST", f"chats/{other}/messages", {"text": "hello"})
    assert sent.status == 202
