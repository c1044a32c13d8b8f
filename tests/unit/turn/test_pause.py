"""The pause of a turn after many replies: announced to the model, ended by a retry or a message."""

from itertools import pairwise

from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.commands import Retry, SendMessage
from holdfast.domain.prefix import is_news
from holdfast.tools.toolbox import Functions
from holdfast.turn.options import TurnOptions
from tests.support.builders import user
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.stage import Effects, staged, valid


async def test_after_so_many_replies_in_a_row_the_turn_pauses_until_a_message() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a"))
    options = TurnOptions(replies_max=2)
    async with staged(calls("a:1"), calls("a:2"), tools=tools, options=options) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.STEP_LIMIT
        assert "or send a message" in chat.error.sentence
        assert valid(await stage.history(chat)) == []
        # And the way out works:
        await stage.world.do(chat.chat_id, SendMessage(user("go on")))
        further = stage.with_models(ScriptedModels(says("ok")))
        ended = await further.drive(await further.again(await stage.world.load(chat.chat_id)))
        assert ended.status is Status.IDLE


async def test_a_retry_lets_a_paused_turn_go_on_for_as_many_replies_again() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a"))
    options = TurnOptions(replies_max=2)
    async with staged(calls("a:1"), calls("a:2"), tools=tools, options=options) as stage:
        chat = await stage.turn()
        assert chat.error is not None
        assert chat.error.retryable

        for number in (3, 5):
            await stage.world.do(chat.chat_id, Retry())
            script = ScriptedModels(calls(f"a:{number}"), calls(f"a:{number + 1}"))
            chat = await stage.world.load(chat.chat_id)
            chat = await stage.with_models(script).drive(await stage.again(chat))
            assert chat.status is Status.FAILED
            assert chat.error is not None
            assert f"after {number + 1} replies" in chat.error.sentence

        await stage.world.do(chat.chat_id, Retry())
        last = stage.with_models(ScriptedModels(says("done")))
        ended = await last.drive(await last.again(await stage.world.load(chat.chat_id)))
        assert ended.status is Status.IDLE
        assert valid(await stage.history(ended)) == []


async def test_ten_replies_before_the_pause_the_model_is_told_to_report() -> None:
    tools = Functions(Effects().tool("a"))
    script = [calls(f"a:{number}") for number in range(1, 13)]
    options = TurnOptions(replies_max=12)
    async with staged(*script, tools=tools, options=options) as stage:
        chat = await stage.turn()

        assert chat.error is not None
        assert chat.error.kind is ErrorKind.STEP_LIMIT
        asked = [ask.history for ask in stage.models.asked]
        assert [sum(is_news(body) for body in history) for history in asked] == [0] * 2 + [1] * 10
        assert "10 replies are left" in str(asked[2][-1].parts)
        # Each prompt begins with all of the one before it.
        for before, after in pairwise(asked):
            assert tuple(after[: len(before)]) == tuple(before)
