"""The example of the documentation, as a program, on a real server: sync and async."""

import asyncio
from collections.abc import AsyncGenerator

import orjson
import pytest

from holdfast_client import (
    AsyncClient,
    AsyncToolApproval,
    Client,
    NotFoundError,
    ToolApproval,
    TurnFailedError,
    tool,
)
from holdfast_client.events import ChatState, MessageCreated
from holdfast_client.models import ChatInfo
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

RULES = orjson.dumps({"rules": [{"tool": "clock", "action": "ask"}]}).decode()
QUESTION = (
    "What is kelp?"
    ' [[sim: say "Wait." | call look_up {"word": "kelp"} | then'
    ' | call clock {"command": "git status"} | call clock {"command": "rm"} | then'
    ' | say "Kelp is a brown alga." ]]'
)
Said = tuple[int, str, str]
DICTIONARY = {"kelp": "a brown alga"}
GIVEN = ["Kelp", ["water"], {"order": "4711"}, "sim", "low"]
TEXT = "Wait.\n\nKelp is a brown alga."


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator), approvals=RULES) as cell,
    ):
        yield cell


@pytest.fixture(autouse=True)
def _environment(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", cell.urls[0])
    key = cell.admin.headers["authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("HOLDFAST_API_KEY", key)


def given(chat: ChatInfo) -> list[object]:
    return [chat.title, chat.labels, chat.metadata, chat.model, chat.effort]


@tool
def look_up(word: str) -> str:
    """Look a word up in our dictionary."""
    return DICTIONARY[word]


def sync_program(told: list[object], messages: list[Said]) -> None:
    def decide(call: ToolApproval) -> None:
        if call.tool_name == "clock" and call.arguments["command"] == "git status":
            call.approve()
        else:
            call.deny("Only git status is allowed here.")

    with Client(timeout=30) as client:
        chat = client.chats.create(
            title="Kelp",
            labels=["water"],
            metadata={"order": "4711"},
            model="sim",
            effort="low",
            idempotency_key="order-4711",
        )
        turn = chat.send(QUESTION, tools=[look_up], idempotency_key="order-4711-1")
        text = ""
        for chunk in turn.text_stream(on_approval=decide):
            text = chunk.text if chunk.reset else text + chunk.text
        told.append(text)
        reply = turn.result(timeout=600)
        told += [reply.text, reply.finish_reason, (reply.usage.output_tokens or 0) > 0]
        try:
            client.chats.run("[[sim: fault=auth]]")
        except TurnFailedError as error:
            told.append(error.reply.error and error.reply.error.retryable)
        told.append(chat.ask('And in Japanese? [[sim: say "昆布"]]').text)
        for event in chat.events(until="settled"):
            match event:
                case MessageCreated(data=message):
                    messages.append((message.seq, message.role, message.text))
                case ChatState(data=state):
                    told.append(state.status)
                case _:
                    pass
        told.append(list(chat.events(after=chat.view.cursor, until="settled")))
        told.append([message.seq for message in chat.messages.list(order="asc")])
        assert chat.etag is not None
        assert chat.data is not None
        told.append(given(chat.data))
        told.append(chat.update(labels=["sea"], if_match=chat.etag).labels)
        try:
            client.chats.retrieve("chat_unknown")
        except NotFoundError as error:
            told += [error.code, error.request_id is not None]


async def async_program(told: list[object], messages: list[Said]) -> None:
    async def decide(call: AsyncToolApproval) -> None:
        if call.tool_name == "clock" and call.arguments["command"] == "git status":
            await call.approve()
        else:
            await call.deny("Only git status is allowed here.")

    async with AsyncClient(timeout=30) as client:
        chat = await client.chats.create(
            title="Kelp",
            labels=["water"],
            metadata={"order": "4711"},
            model="sim",
            effort="low",
            idempotency_key="order-4711",
        )
        turn = await chat.send(QUESTION, tools=[look_up], idempotency_key="order-4711-1")
        text = ""
        async for chunk in turn.text_stream(on_approval=decide):
            text = chunk.text if chunk.reset else text + chunk.text
        told.append(text)
        reply = await turn.result(timeout=600)
        told += [reply.text, reply.finish_reason, (reply.usage.output_tokens or 0) > 0]
        try:
            await client.chats.run("[[sim: fault=auth]]")
        except TurnFailedError as error:
            told.append(error.reply.error and error.reply.error.retryable)
        told.append((await chat.ask('And in Japanese? [[sim: say "昆布"]]')).text)
        async for event in chat.events(until="settled"):
            match event:
                case MessageCreated(data=message):
                    messages.append((message.seq, message.role, message.text))
                case ChatState(data=state):
                    told.append(state.status)
                case _:
                    pass
        told.append([each async for each in chat.events(after=chat.view.cursor, until="settled")])
        told.append([message.seq async for message in chat.messages.list(order="asc")])
        assert chat.etag is not None
        assert chat.data is not None
        told.append(given(chat.data))
        told.append((await chat.update(labels=["sea"], if_match=chat.etag)).labels)
        try:
            await client.chats.retrieve("chat_unknown")
        except NotFoundError as error:
            told += [error.code, error.request_id is not None]


@pytest.mark.parametrize("half", ["sync", "async"])
async def test_the_example_runs(half: str) -> None:
    told: list[object] = []
    messages: list[Said] = []
    async with asyncio.timeout(100):
        if half == "sync":
            await asyncio.to_thread(sync_program, told, messages)
        else:
            await async_program(told, messages)

    assert told[:5] == [TEXT, "Kelp is a brown alga.", "stop", True, False]
    roles = [role for _, role, _ in messages]
    called = ["assistant", "tool", "assistant", "tool", "tool"]
    assert roles == ["user", *called, "assistant", "user", "assistant"]
    assert told[5] == "昆布"
    seqs = [seq for seq, _, _ in messages]
    assert told[-7:-4] == ["idle", [], seqs]
    assert told[-4:] == [GIVEN, ["sea"], "chat_not_found", True]
