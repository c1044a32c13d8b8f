"""The count of the advisor's calls, as stores keep it."""

from holdfast.domain.advice import ADVISOR
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, SendMessage
from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import ToolResult
from tests.requirements import requirement
from tests.support.builders import asks, reply, user
from tests.support.world import World


def asked(call_id: str) -> CommitStep:
    return CommitStep((asks(call_id, tool=ADVISOR),), advice_max=1)


def told(call_id: str, *, failed: bool) -> CommitStep:
    part = ToolResult(CallId(call_id), ADVISOR, "words", failed=failed)
    return CommitStep((MessageBody(role=Role.TOOL, parts=(part,)),))


async def taken_over(world: World, chat: Chat) -> Chat:
    assert chat.worker_id is not None
    await world.lapse(chat.worker_id)
    found = await world.acquire(await world.a_worker())
    return next(each for each in found if each.chat_id == chat.chat_id)


@requirement("L113")
async def test_the_count_is_set_loaded_acquired_and_kept(world: World) -> None:
    chat = (await world.drive(await world.running(user()), asked("a"))).chat
    assert chat.advised == 1
    assert await world.load(chat.chat_id) == chat
    found = await taken_over(world, chat)
    assert found.advised == 1
    chat = (await world.drive(found, told("a", failed=True))).chat
    assert (await world.load(chat.chat_id)).advised == 0, "a failure gives its use back"

    chat = (await world.drive(chat, asked("b"))).chat
    chat = (await world.drive(await taken_over(world, chat), told("b", failed=False))).chat
    chat = (await world.drive(chat, asked("c"))).chat
    assert (chat.advised, chat.open_calls) == (1, ()), "refused with its reply"
    history = await world.read(chat.chat_id)
    assert [m.body.role for m in history[-2:]] == ["assistant", "tool"]
    assert history[-2].revision == history[-1].revision, "in one commit"

    chat = (await world.drive(chat, CommitStep((reply(),)))).chat
    assert chat.advised == 1
    await world.do(chat.chat_id, SendMessage(user("more"), "interrupt"))
    assert await world.violations([chat.chat_id]) == []
