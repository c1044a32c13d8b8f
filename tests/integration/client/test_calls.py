"""Every call of the SDK against a real server, by both halves; and answers that get lost."""

import asyncio

import pytest

from holdfast_client import AsyncClient, errors, models
from tests.support.identity import PASSWORD
from tests.support.proxy import a_proxy
from tests.support.sdk import Half, sdk_client
from tests.support.web import ADMIN_EMAIL, Cell

NOBODY = "chat_00000000000000000000000000000000"


async def test_a_chat_is_begun_found_put_in_order_and_put_away(client: AsyncClient) -> None:
    assert (await client.me()).user.email == ADMIN_EMAIL
    assert (await client.version()).api == "v1"
    assert [each.id for each in await client.models.list() if each.is_default] == ["sim"]
    assert (await client.probe()).date is not None
    assert [each async for each in client.chats.list()] == []

    chat = await client.chats.create(
        '[[sim: say "hello"]]', model="sim", title="First", metadata={"of": "us"}
    )
    reply = await chat.wait(timeout=60)
    assert (reply.status, reply.text, reply.chat_id) == ("idle", "hello", chat.id)
    assert (await chat.update(metadata={"order": "4711", "of": None})).metadata == {"order": "4711"}
    found = client.chats.list(metadata={"order": "4711"})
    assert [each.id async for each in found] == [chat.id]
    assert [each async for each in client.chats.list(metadata={"order": "1"})] == []
    assert (await chat.update(metadata=None)).metadata == {}
    other = await client.chats.create(idempotency_key="begun-once")
    assert (await client.chats.create(idempotency_key="begun-once")).id == other.id

    assert (await chat.update(pinned=True)).pinned
    assert (await chat.update(labels=["a", "b"])).labels == ["a", "b"]
    assert await chat.mark_read(2) == 2
    assert [each.id async for each in client.chats.list(label="a")] == [chat.id]
    assert [each.id async for each in client.chats.list(search="fir")] == [chat.id]
    assert {each.id async for each in client.chats.list(status=["idle"])} == {
        chat.id,
        other.id,
    }
    assert len([each async for each in client.chats.list(limit=1)]) == 1
    assert [each.id async for each in client.chats.list(owner="others")] == []
    info = await chat.refresh()
    assert (info.title, info.status, info.unread, info.queue) == ("First", "idle", False, [])
    assert chat.data == info
    assert [message.text async for message in chat.messages.list(limit=1)] == ["hello"]
    asc = [message.seq async for message in chat.messages.list(order="asc")]
    assert (asc, [m.seq async for m in chat.messages.list()]) == ([1, 2], [2, 1])
    assert (await chat.messages.retrieve(2)).text == "hello"

    fork = await chat.fork()
    assert [m.role async for m in fork.messages.list(order="asc")] == ["user", "assistant"]
    await other.archive()
    assert [each.id async for each in client.chats.list(archived=True)] == [other.id]
    await other.unarchive()


async def test_a_turn_is_steered(client: AsyncClient) -> None:
    chat = await client.chats.create("[[sim: words=3000 | rate=1]]")
    second = (await chat.send('[[sim: say "second"]]', idempotency_key="second")).receipt
    third = (await chat.send('[[sim: say "third"]]')).receipt
    assert second.queued_id is not None
    assert third.queued_id is not None
    again = await chat.send('[[sim: say "second"]]', idempotency_key="second")
    assert again.receipt.replayed
    await chat.queue.move(third.queued_id, before_id=second.queued_id)
    queued = [each.queued_id for each in await chat.queue.list()]
    assert queued == [third.queued_id, second.queued_id]
    assert "second" in (await chat.queue.delete(second.queued_id)).text
    await chat.queue.delete(third.queued_id)
    with pytest.raises(errors.NotFoundError) as missing:
        await chat.queue.send_now(third.queued_id)
    assert missing.value.code == "queued_message_not_found"
    with pytest.raises(errors.WaitTimeoutError):
        await chat.wait(timeout=0.2)
    await chat.interrupt()
    assert (await chat.wait("idle", timeout=60)).status == "idle"

    version = (await chat.refresh()).version
    edited = await chat.edit(1, '[[sim: say "edited"]]')
    assert (await edited.result(timeout=60)).text == "edited"
    assert version in [each.version async for each in chat.branches()]
    await chat.restore(version)
    assert "rate=1" in [m.text async for m in chat.messages.list()][-1]
    with pytest.raises(errors.ConflictError) as refused:
        await chat.retry()
    assert refused.value.code == "chat_state_conflict"
    with pytest.raises(errors.ConflictError):
        await chat.approve(models.AwaitedCall(call_id="nothing", tool_name="a", seq=1))


async def test_people_keys_shares_and_the_audit_log(
    client: AsyncClient, cell: Cell, half: Half
) -> None:
    user = await client.users.create("Grace", "grace@acme.example", password=PASSWORD)
    assert {each.name async for each in client.users.list()} == {"Ada", "Grace"}
    assert (await client.users.update(user.id, role="admin")).role == "admin"
    assert (await client.users.update(user.id, role="member")).role == "member"
    assert (await client.users.set_password(user.id, PASSWORD + "!")).has_password
    chat = await client.chats.create()
    await chat.share(user.id)
    assert [each.name for each in await chat.shares()] == ["Grace"]

    async with sdk_client(half, cell.urls[0], "hfst_wrong") as nobody:
        with pytest.raises(errors.AuthenticationError):
            await nobody.me()
        await nobody.sessions.create("grace@acme.example", PASSWORD + "!")
        made = await nobody.api_keys.create("mine", scopes=["read"])
        await nobody.sessions.delete_current()
        with pytest.raises(errors.AuthenticationError):
            await nobody.me()
    async with sdk_client(half, cell.urls[0], made.secret) as grace:
        found = (await grace.chats.retrieve(chat.id)).data
        assert found is not None
        assert found.owner_id != user.id
        with pytest.raises(errors.PermissionDeniedError):
            await grace.chats.create()
        with pytest.raises(errors.NotFoundError):
            await grace.chats.retrieve(NOBODY)

    await chat.unshare(user.id)
    assert made.id in [key.id async for key in client.api_keys.list("any")]
    await client.api_keys.revoke(made.id)
    assert (await client.users.update(user.id, disabled=True)).disabled_at is not None
    assert (await client.users.update(user.id, disabled=False)).disabled_at is None
    assert (await client.users.retrieve(user.id)).name == "Grace"
    actions = [entry.action async for entry in client.organization.audit_log.list(limit=3)]
    assert len(actions) == 3
    with pytest.raises(errors.BadRequestError) as refused:
        await client.chats.create("x", model="no-such-model")
    assert refused.value.code == "invalid_request"


async def test_a_failed_turn_is_raised_with_what_it_said(client: AsyncClient) -> None:
    with pytest.raises(errors.TurnFailedError) as failed:
        await client.chats.run("[[sim: fault auth]]", timeout=60)

    reply = failed.value.reply
    assert reply.status == "failed"
    assert reply.error is not None
    assert str(failed.value) == reply.error.message


async def test_the_list_is_watched(client: AsyncClient) -> None:
    chat = await client.chats.create()
    renamed = False
    async with asyncio.timeout(60):
        async for event in client.events():
            if event.type == "chats.snapshot":
                assert [each.id for each in event.data.chats] == [chat.id]
                await chat.update(title="Watched")
            if event.type == "chat.updated" and event.data.title == "Watched":
                renamed = True
                break
    assert renamed


async def test_a_lost_answer_and_the_repeat_make_one_message(
    cell: Cell, half: Half, token: str
) -> None:
    async with a_proxy(cell.urls) as proxy, sdk_client(half, proxy.url, token) as client:
        proxy.swallow = 2
        chat = await client.chats.create('[[sim: say "hello"]]')
        proxy.swallow = 2
        sent = await chat.send('[[sim: say "again"]]')
        reply = await chat.wait(timeout=60)
        chats = [each.id async for each in client.chats.list()]

    assert sent.receipt.replayed
    assert chats == [chat.id]
    assert reply.text == "again"
    page = (await cell.admin.get(f"chats/{chat.id}/messages")).json
    assert [message["role"] for message in page["data"]] == ["user", "assistant"] * 2
    assert len([line for line in proxy.requests if line.startswith("POST")]) == 6


async def test_what_would_be_done_twice_is_not_repeated(cell: Cell, half: Half, token: str) -> None:
    async with a_proxy(cell.urls) as proxy, sdk_client(half, proxy.url, token) as client:
        await client.sessions.create("ada@acme.example", PASSWORD)
        proxy.swallow = 1
        with pytest.raises(errors.APIConnectionError):
            await client.api_keys.create("lost")

        assert [key.name async for key in client.api_keys.list("any")].count("lost") == 1


async def test_many_sends_under_one_key_make_one_message(
    cell: Cell, half: Half, client: AsyncClient
) -> None:
    chat = await client.chats.create()
    number = 200 if half == "async" else 20
    async with asyncio.TaskGroup() as tasks:
        sends = [
            tasks.create_task(chat.send('[[sim: say "once"]]', idempotency_key="once"))
            for _ in range(number)
        ]
    await chat.wait(timeout=60)

    # None, if the answer of the first was lost and its repeat was answered.
    assert [send.result().receipt.replayed for send in sends].count(False) <= 1
    assert [m.role async for m in chat.messages.list(order="asc")] == ["user", "assistant"]


async def test_nobody_there_is_said_in_time(half: Half) -> None:
    async with sdk_client(half, "http://127.0.0.1:9", "hfst_x", timeout=0.3) as client:
        with pytest.raises(errors.APIConnectionError, match=r"127\.0\.0\.1:9"):
            await client.me()


async def test_words_that_keep_coming_do_not_make_a_wait_longer(client: AsyncClient) -> None:
    chat = await client.chats.create("[[sim: words=30000 | rate=100]]")
    with pytest.raises(errors.WaitTimeoutError):
        await chat.wait(timeout=1.0)
    assert (await chat.refresh()).status == "running"
    await chat.interrupt()
    await chat.wait("idle", timeout=60)
