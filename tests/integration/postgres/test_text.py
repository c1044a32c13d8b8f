"""Hostile text and JSON through the real database: stored and read again, or refused at once."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.adapters.postgres.codec import DEPTH_MAX
from holdfast.adapters.postgres.pool import Pool
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.commands import CommitStep, Fail, SendMessage
from holdfast.domain.errors import ContentRefused, QueueFull
from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Native, Text, ToolCall, ToolResult
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.doubles import SeededIds
from tests.support.world import ACTOR, World, keyed_by, postgres_world
from tests.unit.postgres.test_codec import JSON, TEXT, nested

KEYED = keyed_by("k", "a request")
IDS = SeededIds()  # shared by all examples, which share a database
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)


@requirement("M5", "L88", "L89")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXT, arguments=OBJECTS, output=JSON, block=OBJECTS)
async def test_whatever_is_accepted_loads_again(
    pool: Pool, text: str, arguments: Any, output: Any, block: Any
) -> None:
    world = postgres_world(pool)
    world.ids = IDS
    sent = user(text, model=text, effort=text)
    chat = await world.running(sent)
    call = ToolCall(CallId(f"c{text}"), text, arguments, native=Native("wire", block))
    asked = MessageBody(role=Role.ASSISTANT, parts=(Text(text), call))
    answer = ToolResult(call.call_id, text, output)
    step = await world.drive(chat, CommitStep((asked,)))
    assert (await world.load(chat.chat_id)).open_calls == step.chat.open_calls
    done = await world.drive(step.chat, CommitStep((MessageBody(role=Role.TOOL, parts=(answer,)),)))
    failed = await world.drive(
        done.chat, Fail(TurnError(kind=ErrorKind.UNKNOWN, sentence=text, provider=text))
    )

    assert await world.load(chat.chat_id) == failed.chat
    assert [m.body.parts for m in await world.read(chat.chat_id)] == [
        (Text(text),),
        (Text(text), call),
        (answer,),
    ]
    assert (await world.load(chat.chat_id)).model == (text or None)


@requirement("M5")
@pytest.mark.parametrize(
    "hostile", [nested(DEPTH_MAX + 1), nested(10_000), "x" * 10_000_000, float("nan"), 2**64]
)
async def test_what_is_refused_leaves_no_trace(pool: Pool, hostile: Any) -> None:
    world: World = postgres_world(pool)
    chat = await world.create(user())
    body = MessageBody(
        role=Role.USER, parts=(Text("see"), ToolResult(CallId("c"), "tool", hostile))
    )

    # The chat is busy: what is too long for the queue is refused before it is encoded.
    request = ChangeRequest((SendMessage(body),), by=ACTOR, key=KEYED)
    with pytest.raises((ContentRefused, QueueFull)):
        await world.ledger.transact(chat.chat_id, request)

    assert await world.load(chat.chat_id) == chat
    plain = SendMessage(user("plain"))
    after = await world.ledger.transact(chat.chat_id, ChangeRequest((plain,), by=ACTOR, key=KEYED))
    assert not after.repeated
