"""Preserved thinking: a changed conversation before a bound block is refused in Anthropic's words,
dropped on request, and accepted from accounts of before 2026-08-31."""

import copy
from collections.abc import Callable

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.server import Config, Simulator, running
from tests.support.raw_http import Json, Outcome, post
from tests.support.simulator import KEYS, PATHS, body

A = WireName.ANTHROPIC
BETA = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
TEXT = '[[sim: think "one" | call get_weather {"city": "Oslo"} | then | think "two" | say "Rain."]]'
MARK = {"type": "ephemeral"}

Change = Callable[[Json], object]


def _other_system(given: Json) -> None:
    given["system"] = "You are someone else."


def _other_tools(given: Json) -> None:
    given["tools"][0]["description"] = "another one"


def _other_words(given: Json) -> None:
    given["messages"][0]["content"] = given["messages"][0]["content"] + " "


def _first_block_gone(given: Json) -> None:
    del given["messages"][1]["content"][0]


CHANGES: dict[str, tuple[Change, str, str]] = {
    "system": (_other_system, "messages.1.content.0", "The `system` prompt differs"),
    "tools": (_other_tools, "messages.1.content.0", "The `tools` differ"),
    "message": (_other_words, "messages.1.content.0", "The messages before this block differ"),
    "block": (_first_block_gone, "messages.3.content.0", "The messages before this block differ"),
}


async def ask(simulator: Simulator, given: Json, headers: dict[str, str] | None = None) -> Outcome:
    return await post(simulator.url, PATHS[A], given, KEYS[A] | (headers or {}))


async def said(
    simulator: Simulator, model: str = "claude-opus-5-5", text: str = TEXT
) -> tuple[Json, Json]:
    """A turn with two bound blocks: as it was sent, and as a client replays it."""
    given: Json = body(A, text, stream=False, tools=True)
    given |= {"model": model, "system": "Be brief."}
    for _ in range(2):
        reply = (await ask(simulator, given)).json()
        given["messages"].append({"role": "assistant", "content": reply["content"]})
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in calls
        ]
        asked = results or [{"type": "text", "text": 'And now? [[sim: think | say "Still."]]'}]
        given["messages"].append({"role": "user", "content": asked})
    return given, copy.deepcopy(given)


async def test_an_unchanged_conversation_is_accepted_wherever_its_cache_marks_are(
    simulator: Simulator,
) -> None:
    given, replay = await said(simulator)
    replay["messages"][2]["content"][0]["cache_control"] = MARK
    replay["tools"][0]["cache_control"] = MARK
    replay["system"] = "Be brief."
    assert (await ask(simulator, given)).status == 200
    assert (await ask(simulator, replay)).status == 200


@pytest.mark.parametrize("name", CHANGES)
async def test_a_changed_conversation_is_refused(simulator: Simulator, name: str) -> None:
    change, place, cause = CHANGES[name]
    _, replay = await said(simulator)
    change(replay)
    outcome = await ask(simulator, replay)
    assert outcome.status == 400
    error = outcome.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(
        f"{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` "
        'to "drop_block".'
    )
    assert cause in error["message"]


async def test_dropped_blocks_are_reported_and_stay_dropped(simulator: Simulator) -> None:
    _, replay = await said(simulator)
    _other_system(replay)
    replay["thinking"] = DROP
    reply = (await ask(simulator, replay, BETA)).json()
    assert reply["input_transformations"] == [
        {
            "type": "thinking_dropped",
            "path": f"messages.{at}.content.0",
            "reason": "prefix_binding_mismatch",
        }
        for at in (1, 3)
    ]
    replay["messages"] += [
        {"role": "assistant", "content": reply["content"]},
        {"role": "user", "content": "Thanks."},
    ]
    later = (await ask(simulator, replay, BETA)).json()
    assert len(later["input_transformations"]) == 2, "the block made after the drop fits"


async def test_binding_controls_need_their_beta(simulator: Simulator) -> None:
    given = body(A, stream=False) | {"model": "claude-opus-5-5", "thinking": DROP}
    error = (await ask(simulator, given)).json()["error"]
    assert error["message"] == "thinking.adaptive.block_binding: Extra inputs are not permitted"
    reply = (await ask(simulator, given, BETA)).json()
    assert reply["input_transformations"] == []


async def test_old_accounts_and_older_models_may_change_it() -> None:
    async with running(Config(old_account=True)) as simulator:
        _, replay = await said(simulator)
        _other_system(replay)
        assert (await ask(simulator, replay)).status == 200
    async with running(Config()) as simulator:
        _, replay = await said(simulator, "claude-sonnet-5")
        _other_system(replay)
        assert (await ask(simulator, replay)).status == 200
        _, replay = await said(simulator, "claude-sonnet-5", TEXT.replace("sim:", "sim: bound |"))
        _other_system(replay)
        assert (await ask(simulator, replay)).status == 400
