"""What the advisor is sent: bounded, newest first, and without calls of tools."""

from typing import Any

import pytest

from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.parts import Context, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.ports.tools import AskedPrompt
from holdfast.tools.advisor_prompt import (
    GUIDANCE,
    MESSAGES_BYTES_MAX,
    MESSAGES_MAX,
    NOW_BYTES_MAX,
    SYSTEM_BYTES_MAX,
    asking_text,
    json_bytes,
    shortened,
)
from tests.support.builders import boundary, reply, system, user


def asked(*messages: MessageBody, system: tuple[str, ...] = (), parts: Any = ()) -> str:
    said: tuple[Part, ...] = tuple(parts)
    prompt = AskedPrompt(
        system=system, messages=messages, reply=MessageBody(role=Role.ASSISTANT, parts=said)
    )
    return asking_text(prompt, "Left or right?", "I would go left.")


def block(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def test_calls_and_results_are_notes_and_the_question_comes_last() -> None:
    call = ToolCall(CallId("c"), "execute", {"command": "ls"})
    result = ToolResult(CallId("c"), "execute", "a.txt", failed=True)
    text = asked(
        user("Go."),
        MessageBody(role=Role.ASSISTANT, parts=(Reasoning("hidden"), Text("Looking."), call)),
        MessageBody(role=Role.TOOL, parts=(result,)),
        system=("Be brief.",),
        parts=(Reasoning("hm"), Text("I ask.")),
    )
    assert block(text, "transcript") == (
        "[user] Go.\n[assistant] Looking.\n[assistant] calls execute {'command': 'ls'}\n"
        "[tool] result of execute (failed): a.txt"
    )
    assert block(text, "instructions_of_the_agent") == "Be brief."
    assert block(text, "reply_of_the_agent") == "hm\nI ask."
    assert block(text, "intent") == "I would go left."
    assert text.endswith("<question>\nLeft or right?\n</question>")


def test_the_guidance_is_left_out_and_a_summary_is_told() -> None:
    news = MessageBody(role=Role.SYSTEM, parts=(Text("Changed."), Context("Advisor", GUIDANCE)))
    text = asked(boundary("so far"), news, system=("One.", GUIDANCE))
    assert "`advisor`" not in text
    assert block(text, "instructions_of_the_agent") == "One.\n\nChanged."
    assert block(text, "transcript") == "[summary] so far"


def test_of_long_instructions_the_newest_are_kept() -> None:
    text = asked(system("the last"), system=("x" * 2 * SYSTEM_BYTES_MAX, "second"))
    assert block(text, "instructions_of_the_agent") == "second\n\nthe last"
    assert json_bytes(block(asked(system=("x" * 20_000,)), "instructions_of_the_agent")) <= (
        SYSTEM_BYTES_MAX + 10
    )


def test_messages_are_the_newest_without_a_gap() -> None:
    text = asked(*(user(f"m{n}") for n in range(30)))
    assert block(text, "transcript").split("\n") == [
        f"[user] m{n}" for n in range(30 - MESSAGES_MAX, 30)
    ]
    long = asked(user("old"), reply("x" * 20_000), *(reply("y" * 2_900) for _ in range(5)))
    told = block(long, "transcript")
    assert "old" not in told
    assert "x" not in told
    assert MESSAGES_BYTES_MAX * 0.9 < json_bytes(told) <= MESSAGES_BYTES_MAX + 10


def test_what_only_people_see_is_not_told() -> None:
    hidden = MessageBody(
        role=Role.ASSISTANT, parts=(Text("for people"),), visibility=Visibility.USER
    )
    assert "for people" not in asked(hidden, user("Go."))


@pytest.mark.parametrize("letter", ["x", "ü", "\x01", "\ud800", '"'])
def test_a_text_is_cut_to_its_bytes_as_json(letter: str) -> None:
    cut = shortened(letter * 50_000, NOW_BYTES_MAX)
    assert NOW_BYTES_MAX * 0.7 < json_bytes(cut) <= NOW_BYTES_MAX
    assert shortened(letter, 100) == letter
    assert shortened(letter * 100, 3) == ""
