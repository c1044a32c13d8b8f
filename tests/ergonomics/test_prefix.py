"""Each request of a chat begins with the whole request before it (set 7): providers cache it."""

from itertools import pairwise

import pytest

from holdfast.domain.commands import SendMessage
from holdfast.ports.models import Ask
from holdfast.tools.toolbox import Functions
from holdfast.turn.options import TurnOptions
from tests.support.builders import user
from tests.support.model import WIRE_NAMES, body_of, call_for, endpoint_for
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.stage import Effects, staged

MESSAGES = {"responses": "input", "gemini": "contents"}


async def requests() -> list[Ask]:
    """Two turns: four steps with tools, near the limit of replies, and one after a message."""
    tools = Functions(Effects().tool("a"))
    options = TurnOptions(replies_max=12, system=("Be brief.",))
    script = [calls(f"a:{number}") for number in range(4)]
    async with staged(*script, says("done"), tools=tools, options=options) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("And now?")))
        further = stage.with_models(ScriptedModels(calls("a:9"), says("ok")))
        await further.drive(await further.again(await stage.world.load(chat.chat_id)))
        return [*stage.models.asked, *further.models.asked]


def breaks(asked: list[Ask], wire: str) -> int:
    """How many requests do not begin with all of the one before them, as they are on the wire."""
    count = 0
    key = MESSAGES.get(wire, "messages")
    for before, after in pairwise(asked):
        first, second = (
            body_of(call_for(wire, ask.history, system=ask.system), endpoint_for(wire))
            for ask in (before, after)
        )
        same_head = {k: v for k, v in first.items() if k != key} == {
            k: v for k, v in second.items() if k != key
        }
        same_messages = second[key][: len(first[key])] == first[key]
        count += not (same_head and same_messages)
        count += (before.system, before.tools) != (after.system, after.tools)
    return count


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_every_request_begins_with_the_one_before_it(wire: str) -> None:
    asked = await requests()
    assert len(asked) == 7
    assert breaks(asked, wire) == 0


async def test_a_prompt_that_changes_is_noticed() -> None:
    first, second, *_ = await requests()
    changed = Ask(
        chat_id=second.chat_id,
        model=second.model,
        effort=second.effort,
        history=[user("another"), *list(second.history)[1:]],
        system=second.system,
        tools=second.tools,
    )
    assert breaks([first, changed], "anthropic") == 1
