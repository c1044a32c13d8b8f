"""A turn, from `send` to its end: this one and no other, whatever happens around it."""

import asyncio
from typing import Any

import pytest

from holdfast_client import AsyncClient, errors
from holdfast_client.models import TextPart
from tests.support.proxy import Cut, a_proxy
from tests.support.sdk import Half, sdk_client
from tests.support.waits import HANG_S
from tests.support.web import Cell

SAID = " ".join(f"word-{number}" for number in range(30))


async def test_a_turn_ends_with_its_own_answer_and_not_with_a_later_one(
    client: AsyncClient,
) -> None:
    chat = await client.chats.create()
    first = await chat.send('[[sim: say "one two three four" | rate=8]]')
    second = await chat.send('[[sim: say "second"]]')
    third = await chat.send('[[sim: say "third"]]')
    assert (first.seq, second.seq) == (1, None)

    text = "".join([chunk.text async for chunk in second.text_stream(timeout=60)])
    assert text == "second"
    reply = await second.result(timeout=60)
    assert (reply.text, reply.turn_seq, reply.finish_reason) == ("second", second.seq, "stop")
    assert (await first.result(timeout=60)).text == "one two three four"
    assert (await third.result(timeout=60)).text == "third"
    assert [await turn.result() for turn in (first, second)][1] == reply

    again = client.chat(chat.id)
    assert second.seq is not None
    assert (await again.turn(second.seq).result(timeout=60)).text == "second"


async def test_a_queued_turn_is_interrupted_and_a_running_one_too(client: AsyncClient) -> None:
    chat = await client.chats.create()
    first = await chat.send("[[sim: words=3000 | rate=5]]")
    second = await chat.send('[[sim: say "never"]]')
    await second.interrupt()
    with pytest.raises(errors.TurnRemovedError):
        await second.result(timeout=60)
    with pytest.raises(errors.WaitTimeoutError):
        await first.result(timeout=0.2)
    await first.interrupt()
    assert (await first.result(timeout=60)).status == "idle"
    third = await chat.send("[[sim: words=3000 | rate=5]]")
    await first.interrupt()
    assert (await chat.refresh()).status == "running", "it stops its own turn only"
    await third.interrupt()
    await third.result(timeout=60)


async def test_the_text_is_whole_where_every_stream_is_cut(
    cell: Cell, half: Half, token: str
) -> None:
    async with (
        a_proxy(cell.urls, lambda number: Cut(1, 40, ("reset", "close")[number % 2])) as proxy,
        sdk_client(half, proxy.url, token) as client,
    ):
        chat = await client.chats.create()
        turn = await chat.send(f'[[sim: say "{SAID}" | rate=10]]')
        chunks = [chunk async for chunk in turn.text_stream(timeout=90)]

    assert "".join(chunk.text for chunk in chunks) == SAID
    assert [chunk for chunk in chunks if chunk.reset] == []
    assert len(chunks) > 1
    assert proxy.streams > 3


async def test_an_attempt_that_was_given_up_is_taken_back(client: AsyncClient) -> None:
    chat = await client.chats.create()
    turn = await chat.send(f'[[sim: say "{SAID}" | rate=40 | fault=eof-mid@9 | times=1]]')
    text = ""
    async for chunk in turn.text_stream(timeout=90):
        text = chunk.text if chunk.reset else text + chunk.text
    reply = await turn.result()
    assert text == "\n\n".join(m.text for m in reply.messages if m.role == "assistant")
    assert text.endswith("word-29")


async def test_a_failed_turn_is_raised_and_tried_again(client: AsyncClient) -> None:
    chat = await client.chats.create()
    turn = await chat.send('[[sim: say "at last" | fault=unauthorized | times=1]]')
    with pytest.raises(errors.TurnFailedError) as failed:
        await turn.result(timeout=60)
    reply = failed.value.reply
    assert (reply.status, reply.turn_seq, reply.chat.id) == ("failed", 1, chat.id)
    again = await chat.retry(turn_seq=1, idempotency_key="again")
    assert (await again.result(timeout=60)).text == "at last"
    assert again.receipt.version > turn.receipt.version
    assert chat.view.version > again.receipt.version, "it waited for the end of this try"


async def test_parts_are_sent_and_an_edit_needs_the_history_that_was_seen(
    client: AsyncClient,
) -> None:
    chat = await client.chats.create()
    parts = [TextPart(text="Say so: "), {"type": "text", "text": '[[sim: say "parts"]]'}]
    turn = await chat.send(parts)
    assert (await turn.result(timeout=60)).text == "parts"
    assert len((await chat.messages.retrieve(1)).parts) == 2

    await chat.refresh()
    seen = chat.etag
    edited = await chat.edit(1, '[[sim: say "first"]]', if_match=seen, idempotency_key="edit")
    same = await chat.edit(1, '[[sim: say "first"]]', if_match=seen, idempotency_key="edit")
    assert (same.receipt.replayed, same.seq) == (True, edited.seq)
    assert (await edited.result(timeout=60)).text == "first"
    assert edited.seq is not None
    with pytest.raises(errors.PreconditionFailedError):
        await chat.edit(edited.seq, "Other words", if_match=seen)
    with pytest.raises(errors.TurnRemovedError):
        await client.chat(chat.id).turn(1).result(timeout=60)


async def test_two_forks_under_one_key_are_one(client: AsyncClient) -> None:
    reply = await client.chats.run('[[sim: say "hello"]]', timeout=60)
    chat = client.chat(reply.chat.id)
    forks = {(await chat.fork(idempotency_key="fork")).id for _ in range(2)}
    assert len(forks) == 1
    assert forks != {chat.id}


async def test_options_of_one_call(client: AsyncClient) -> None:
    quick = client.with_options(timeout=5)
    assert (await quick.me()).user.name == "Ada"
    assert quick.url == client.url


async def test_settings_and_sessions(client: AsyncClient) -> None:
    settings = client.organization.settings
    assert (await settings.retrieve()).instructions == ""
    seen = settings.etag
    assert seen is not None
    changed = await settings.update(instructions="Be brief.", if_match=seen)
    assert changed.instructions == "Be brief."
    with pytest.raises(errors.PreconditionFailedError):
        await settings.update(instructions="Be long.", if_match=seen)
    assert (await settings.update(instructions=None)).instructions == ""
    assert [each async for each in client.sessions.list()] == []
    assert [each async for each in client.organization.chats.list()] == []


async def test_no_answer_in_time_is_said_so(half: Half) -> None:
    reading = set[asyncio.Task[Any]]()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        reading.add(task)
        await reader.read()  # until the client is gone
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, sdk_client(half, url, "hfst_x", timeout=0.4) as client:
        with pytest.raises(errors.APITimeoutError) as raised:
            await client.me()
        assert (raised.value.code, raised.value.retryable) == ("timeout", True)
        assert (raised.value.status, raised.value.request_id) == (None, None)
    await asyncio.wait_for(asyncio.gather(*reading), HANG_S)
