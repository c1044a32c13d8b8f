"""Every call of the SDK against a real server, by both halves; and answers that get lost."""

import asyncio

import pytest

from holdfast_client import AsyncClient, errors, models
from tests.support.identity import PASSWORD
from tests.support.proxy import a_proxy
from tests.support.sdk import Half, sdk_client
from tests.support.web import ADMIN_EMAIL, Cell

NOBODY = "00000000-0000-0000-0000-000000000000"


async def test_a_chat_is_begun_found_put_in_order_and_put_away(client: AsyncClient) -> None:
    assert (await client.me()).user.email == ADMIN_EMAIL
    assert (await client.version()).api == "v1"
    assert (await client.models()).default == "sim"
    assert (await client.probe()).date is not None
    assert await client.chats.last() is None

    chat = await client.chats.create('[[sim: say "hello"]]', model="sim", title="First")
    reply = await chat.wait(timeout_s=60)
    assert (reply.status, reply.text, reply.chat_id) == ("idle", "hello", chat.id)
    other = await client.chats.create(key="begun-once")
    assert (await client.chats.create(key="begun-once")).id == other.id

    assert (await chat.pin()).pinned
    assert (await chat.label(["a", "b"])).labels == ["a", "b"]
    assert await chat.mark_read(2) == 2
    assert [each.chat_id async for each in client.chats.list(label="a")] == [chat.id]
    assert [each.chat_id async for each in client.chats.list(search="fir")] == [chat.id]
    assert {each.chat_id async for each in client.chats.list(status=["idle"])} == {
        chat.id,
        other.id,
    }
    assert len([each async for each in client.chats.list(limit=1)]) == 1
    assert [each.chat_id async for each in client.chats.list(shared=True)] == []
    info = await chat.info()
    assert (info.title, info.status, info.unread, info.queue) == ("First", "idle", False, [])
    assert chat.known == info
    page = await chat.messages(limit=1)
    assert [message.text for message in page.messages] == ["hello"]
    assert page.before is not None

    fork = await chat.fork()
    assert [m.role for m in (await fork.messages()).messages] == ["user", "assistant"]
    await other.archive()
    assert [each.chat_id async for each in client.chats.list(archived=True)] == [other.id]
    await other.unarchive()


async def test_a_turn_is_steered(client: AsyncClient) -> None:
    chat = await client.chats.create("[[sim: words=3000 | rate=1]]")
    second = await chat.send('[[sim: say "second"]]', key="second")
    third = await chat.send('[[sim: say "third"]]')
    assert second.queued_id is not None
    assert third.queued_id is not None
    assert (await chat.send('[[sim: say "second"]]', key="second")).repeated
    await chat.queue.move(third.queued_id, before=second.queued_id)
    queued = [each.queued_id for each in (await chat.info()).queue]
    assert queued == [third.queued_id, second.queued_id]
    assert "second" in (await chat.queue.take(second.queued_id)).text
    await chat.queue.delete(third.queued_id)
    with pytest.raises(errors.NotFound) as missing:
        await chat.queue.promote(third.queued_id)
    assert missing.value.code == "queued_not_found"
    with pytest.raises(errors.WaitTimeout):
        await chat.wait(timeout_s=0.2)
    await chat.interrupt()
    assert (await chat.wait("idle", timeout_s=60)).status == "idle"

    version = (await chat.info()).version
    await chat.edit(1, '[[sim: say "edited"]]')
    assert (await chat.wait(timeout_s=60)).text == "edited"
    assert version in [path.version for path in await chat.paths()]
    await chat.restore(version)
    assert "rate=1" in (await chat.messages()).messages[0].text
    with pytest.raises(errors.Conflict) as refused:
        await chat.retry()
    assert refused.value.code == "not_lawful"
    with pytest.raises(errors.Conflict):
        await chat.decide(models.AwaitedCall(call_id="nothing", tool="a", seq=1), "approve")


async def test_people_keys_shares_and_the_audit_log(
    client: AsyncClient, cell: Cell, half: Half
) -> None:
    user = await client.users.create("Grace", "grace@acme.example", password=PASSWORD)
    assert {each.name async for each in client.users.list()} == {"Ada", "Grace"}
    assert (await client.users.set_role(user.user_id, "admin")).role == "admin"
    assert (await client.users.set_role(user.user_id, "member")).role == "member"
    assert (await client.users.set_password(user.user_id, PASSWORD + "!")).has_password
    chat = await client.chats.create()
    await chat.share(user.user_id)
    assert [each.name for each in await chat.shares()] == ["Grace"]

    async with sdk_client(half, cell.urls[0], "hf_wrong") as nobody:
        with pytest.raises(errors.NotAuthenticated):
            await nobody.me()
        await nobody.sign_in("grace@acme.example", PASSWORD + "!")
        made = await nobody.keys.create("mine", scopes=["read"])
        await nobody.sign_out()
        with pytest.raises(errors.NotAuthenticated):
            await nobody.me()
    async with sdk_client(half, cell.urls[0], made.secret) as grace:
        assert (await (await grace.chats.get(chat.id)).info()).owner_id != user.user_id
        with pytest.raises(errors.NotAllowed):
            await grace.chats.create()
        with pytest.raises(errors.NotFound):
            await grace.chats.get(NOBODY)

    await chat.unshare(user.user_id)
    assert made.key_id in [key.key_id for key in await client.keys.list()]
    await client.keys.revoke(made.key_id)
    assert (await client.users.disable(user.user_id)).disabled_at is not None
    assert (await client.users.enable(user.user_id)).disabled_at is None
    assert (await client.users.get(user.user_id)).name == "Grace"
    actions = [entry.action async for entry in client.audit.list(limit=3)]
    assert len(actions) == 3
    with pytest.raises(errors.Refused) as refused:
        await client.chats.create("x", model="no-such-model")
    assert refused.value.code == "field_refused"


async def test_a_failed_turn_is_raised_with_what_it_said(client: AsyncClient) -> None:
    with pytest.raises(errors.TurnFailed) as failed:
        await client.chats.run("[[sim: fault auth]]", timeout_s=60)

    reply = failed.value.reply
    assert reply.status == "failed"
    assert reply.error is not None
    assert str(failed.value) == reply.error.sentence


async def test_the_list_is_watched(client: AsyncClient) -> None:
    chat = await client.chats.create()
    renamed = False
    async with asyncio.timeout(60):
        async for event in client.watch():
            if event.kind == "chats":
                assert [each.chat_id for each in event.data.chats] == [chat.id]
                await chat.rename("Watched")
            if event.kind == "chat" and event.data.title == "Watched":
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
        reply = await chat.wait(timeout_s=60)
        chats = [each.chat_id async for each in client.chats.list()]

    assert sent.repeated
    assert chats == [chat.id]
    assert reply.text == "again"
    page = (await cell.admin.get(f"chats/{chat.id}/messages")).json
    assert [message["role"] for message in page["messages"]] == ["user", "assistant"] * 2
    assert len([line for line in proxy.requests if line.startswith("POST")]) == 6


async def test_what_would_be_done_twice_is_not_repeated(cell: Cell, half: Half, token: str) -> None:
    async with a_proxy(cell.urls) as proxy, sdk_client(half, proxy.url, token) as client:
        proxy.swallow = 1
        with pytest.raises(errors.Unreachable):
            await client.keys.create("lost")

        assert [key.name for key in await client.keys.list()].count("lost") == 1


async def test_many_sends_under_one_key_make_one_message(
    cell: Cell, half: Half, client: AsyncClient
) -> None:
    chat = await client.chats.create()
    number = 200 if half == "async" else 20
    async with asyncio.TaskGroup() as tasks:
        sends = [
            tasks.create_task(chat.send('[[sim: say "once"]]', key="once")) for _ in range(number)
        ]
    await chat.wait(timeout_s=60)

    # None, if the answer of the first was lost and its repeat was answered.
    assert [send.result().repeated for send in sends].count(False) <= 1
    assert [m.role for m in (await chat.messages()).messages] == ["user", "assistant"]


async def test_nobody_there_is_said_in_time(half: Half) -> None:
    async with sdk_client(half, "http://127.0.0.1:9", "hf_x", timeout_s=0.3) as client:
        with pytest.raises(errors.Unreachable, match=r"127\.0\.0\.1:9"):
            await client.me()


async def test_words_that_keep_coming_do_not_make_a_wait_longer(client: AsyncClient) -> None:
    chat = await client.chats.create("[[sim: words=30000 | rate=100]]")
    with pytest.raises(errors.WaitTimeout):
        await chat.wait(timeout_s=1.0)
    assert (await chat.info()).status == "running"
    await chat.interrupt()
    await chat.wait("idle", timeout_s=60)
