"""Functions of this process that a chat calls, through the declared tools of the server."""

import pytest

from holdfast_client import AsyncClient, errors, models, tool
from holdfast_client.models import ToolResultPart
from tests.support.sdk import Half

ran: list[tuple[int, int]] = []


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    ran.append((a, b))
    if b == 13:
        raise ValueError("not 13")
    return a + b


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


async def results(client: AsyncClient, chat_id: str) -> list[ToolResultPart]:
    messages = client.chat(chat_id).messages.list(order="asc")
    return [
        part
        async for message in messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


async def test_a_call_is_run_here_and_the_turn_goes_on_with_its_result(
    client: AsyncClient,
) -> None:
    reply = await client.chats.run(
        '[[sim: call add {"a": 3, "b": 4} | then | call add {"a": 5} | then | say "done"]]',
        tools=[add],
        timeout=90,
    )

    assert (reply.status, reply.text) == ("idle", "done")
    assert ran == [(3, 4), (5, 2)]
    assert [(each.output, each.is_error) for each in await results(client, reply.chat_id)] == [
        (7, False),
        (7, False),
    ]


async def test_what_a_function_raises_and_arguments_that_do_not_fit_are_told_to_the_model(
    client: AsyncClient,
) -> None:
    reply = await client.chats.run(
        '[[sim: call add {"a": 1, "b": 13} | then | call add {"a": "x"} | then | say "sorry"]]',
        tools=[add],
        timeout=90,
    )

    assert reply.text == "sorry"
    told = await results(client, reply.chat_id)
    assert [each.is_error for each in told] == [True, True]
    assert told[0].output == "ValueError: not 13"
    assert "valid integer" in str(told[1].output)
    assert ran == [(1, 13)]


async def test_a_call_that_is_not_ours_is_left_to_others(client: AsyncClient) -> None:
    chat = await client.chats.create('[[sim: call add {"a": 1} | then | say "so"]]', tools=[add])

    reply = await chat.wait(timeout=60)
    assert reply.status == "awaiting"
    assert reply.action_required is not None
    (call,) = reply.action_required.calls
    assert (call.tool_name, ran) == ("add", [])
    with pytest.raises(errors.ConflictError):
        await chat.submit_results({"no-such-call": 1})
    await chat.submit_results({call.call_id: "three"})
    assert (await chat.wait("idle", timeout=60)).text == "so"


ASK = (
    '[[sim: call ask_user {"questions": [{"question": "Which?", "multiple": true, "options":'
    ' [{"label": "A"}, {"label": "B", "detail": null}]}, {"question": "Why?"}]}'
    ' | then | say "so"]]'
)


async def test_questions_of_the_model_are_read_and_answered_once(client: AsyncClient) -> None:
    chat = await client.chats.create(ASK)
    reply = await chat.wait(timeout=60)
    assert reply.action_required is not None
    assert reply.action_required.type == "answer"
    (call,) = reply.action_required.calls
    which, why = await chat.questions(call)
    assert ([option.label for option in which.options], which.multiple) == (["A", "B"], True)
    assert (why.question, why.options) == ("Why?", [])

    with pytest.raises(errors.APIStatusError, match="what is no option"):
        await chat.answer(call, models.Answer(chosen=["C"]), "So.")
    await chat.answer(call, models.Answer(chosen=["B", "A"]), "So.")
    assert (await chat.wait("idle", timeout=60)).text == "so"
    (told,) = await results(client, chat.id)
    assert told.output == {
        "answers": [
            {"question": "Which?", "chosen": ["A", "B"]},
            {"question": "Why?", "text": "So."},
        ]
    }
    with pytest.raises(errors.ConflictError, match="answered already"):
        await chat.answer(call, "Too", "late")


async def test_an_async_function_needs_a_loop(client: AsyncClient, half: Half) -> None:
    @tool(name="wait_a_little", description="Waits.")
    async def function() -> str:
        return "waited"

    reply = await client.chats.run(
        '[[sim: call wait_a_little {} | then | say "done"]]', tools=[function], timeout=90
    )

    (told,) = await results(client, reply.chat_id)
    assert told.is_error == (half == "sync")
    assert ("waited" in str(told.output)) == (half == "async")
