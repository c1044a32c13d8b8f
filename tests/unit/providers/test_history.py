"""The rules that hold on every wire, before a wire sees a part."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.providers.history import (
    CONTINUE,
    LOST,
    SUMMARY,
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    prompt_of,
)
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody, Role, Visibility
from holdfast.domain.parts import (
    Context,
    FileReference,
    Native,
    Reasoning,
    Skill,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from tests.support.model import (
    WIRE_NAMES,
    assistant,
    body_of,
    call_for,
    endpoint_for,
    next_request,
    results,
    tool_call,
    tool_result,
    user,
)


def entries(*history: MessageBody, dialect: str = "anthropic") -> list[Entry]:
    return prompt_of(history, (), dialect).entries


def texts(entry: Entry) -> list[str]:
    assert isinstance(entry, (ModelEntry, UserEntry))
    return [part.text for part in entry.parts if isinstance(part, Text)]


def answered(entry: Entry) -> list[tuple[str, Any, bool]]:
    assert isinstance(entry, ResultsEntry)
    return [(result.call_id, result.output, result.failed) for result in entry.results]


@pytest.mark.requirement("L28")
@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u00a0\u2003"])
def test_blank_text_and_reasoning_never_reach_a_provider(wire: str, blank: str) -> None:
    blank_native = Native(wire, {"type": "text", "text": blank})
    said = assistant(
        Reasoning(blank, native=Native(wire, {"type": "thinking", "thinking": blank})),
        Text(blank, blank_native),
        Text(blank),
        Text("Yes."),
    )
    history = [user("Hi", blank), said, user(blank), assistant(Text(blank)), user("Well?")]

    assert next_request(wire, history) == next_request(
        wire, [user("Hi"), assistant(Text("Yes.")), user("Well?")]
    )
    assert said.parts[1] == Text(blank, blank_native)  # the record keeps it


@pytest.mark.requirement("L31")
def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    history = [user("Hi"), assistant(tool_call("a"), tool_call("b")), results(tool_result("b"))]

    said = entries(*history, user("Well?"))

    assert answered(said[2]) == [("a", LOST, True), ("b", "12:00", False)]


@pytest.mark.requirement("L31")
def test_a_result_without_a_call_is_dropped() -> None:
    history = (user("Hi"), results(tool_result("ghost")), assistant(Text("Yes")), user("Well?"))

    assert [type(entry) for entry in entries(*history)] == [UserEntry, ModelEntry, UserEntry]


@pytest.mark.requirement("L31")
def test_results_come_in_call_order_in_one_entry_and_only_once() -> None:
    calls = assistant(tool_call("a"), tool_call("b"))
    history = (
        user("Hi"),
        calls,
        results(tool_result("b", "two")),
        results(tool_result("a", "one"), tool_result("b", "again")),
    )

    assert answered(entries(*history)[2]) == [("a", "one", False), ("b", "two", False)]


@pytest.mark.requirement("L30")
def test_provider_executed_results_sit_right_behind_their_call() -> None:
    def native(name: str) -> Native:
        return Native("anthropic", {"type": name})

    search = ToolCall(CallId("s"), "search", {}, runs_at="provider", native=native("call"))
    found = ToolResult(CallId("s"), "search", [], runs_at="provider", native=native("result"))
    said = assistant(Text("Look"), search, tool_call("a"), found)

    entry = entries(user("Hi"), said, results(tool_result("a")))[1]

    assert isinstance(entry, ModelEntry)
    assert entry.parts[:3] == [Text("Look"), search, found]
    assert [type(part) for part in entry.parts] == [Text, ToolCall, ToolResult, ToolCall]


def test_half_of_a_provider_executed_pair_is_dropped_unless_the_provider_is_still_at_it() -> None:
    search = ToolCall(
        CallId("s"), "search", {}, runs_at="provider", native=Native("anthropic", {"type": "c"})
    )
    orphan = ToolResult(
        CallId("x"), "search", [], runs_at="provider", native=Native("anthropic", {"type": "r"})
    )
    found = ToolResult(
        CallId("s"), "search", [], runs_at="provider", native=Native("anthropic", {"type": "r"})
    )

    cut = entries(user("Hi"), assistant(Text("Look"), search, orphan), user("Well?"))[1]
    assert isinstance(cut, ModelEntry)
    assert cut.parts == [Text("Look")]

    paused = assistant(Text("Look"), search, ending=Ending.PAUSED)
    waiting = entries(user("Hi"), paused)
    assert isinstance(waiting[-1], ModelEntry)  # the same messages again, nothing added
    assert waiting[-1].parts == [Text("Look"), search]

    joined = entries(user("Hi"), paused, assistant(found, Text("There.")), user("Thanks"))
    assert [type(entry) for entry in joined] == [UserEntry, ModelEntry, UserEntry]
    assert isinstance(joined[1], ModelEntry)
    assert joined[1].parts == [Text("Look"), search, found, Text("There.")]


@pytest.mark.requirement("L37")
def test_foreign_reasoning_sources_and_provider_parts_are_dropped() -> None:
    foreign = Native("responses", {"type": "reasoning", "encrypted_content": "x"})
    said = assistant(
        Reasoning("hm", native=foreign),
        Reasoning("unsigned"),
        ToolCall(CallId("w"), "web", {}, runs_at="provider", native=foreign),
        Source("https://x.example"),
        Text("Yes", Native("responses", {"type": "message"})),
    )

    entry = entries(user("Hi"), said, user("Well?"))[1]

    assert isinstance(entry, ModelEntry)
    assert [type(part) for part in entry.parts] == [Text]


@pytest.mark.requirement("L33")
def test_signed_or_redacted_thinking_is_kept_even_when_it_is_empty() -> None:
    signed = Reasoning("", native=Native("anthropic", {"type": "thinking", "signature": "s"}))
    redacted = Reasoning("", native=Native("anthropic", {"type": "redacted_thinking", "data": "d"}))

    entry = entries(user("Hi"), assistant(signed, redacted, Text("Yes")), user("Well?"))[1]

    assert isinstance(entry, ModelEntry)
    assert entry.parts[:2] == [signed, redacted]


def test_reasoning_that_led_nowhere_is_not_sent() -> None:
    signed = Reasoning("hm", native=Native("anthropic", {"type": "thinking", "signature": "s"}))

    said = entries(user("Hi"), assistant(signed, ending=Ending.INTERRUPTED), user("Well?"))

    assert [type(entry) for entry in said] == [UserEntry]
    assert texts(said[0]) == ["Hi", "Well?"]


def test_what_only_people_may_see_is_left_out_and_what_the_model_may_see_is_not() -> None:
    hidden = MessageBody(role=Role.USER, parts=(Text("for you"),), visibility=Visibility.USER)
    shown = MessageBody(role=Role.USER, parts=(Text("for it"),), visibility=Visibility.MODEL)

    assert texts(entries(hidden, shown)[0]) == ["for it"]


def test_context_skills_references_summaries_and_system_rows_are_said() -> None:
    history = (
        MessageBody(role=Role.SYSTEM, parts=(Text("Rule."),)),
        MessageBody(role=Role.BOUNDARY, parts=(Text("So far: nothing."),)),
        user(
            Context("time", "noon"),
            Skill('say "hi"', "wave"),
            FileReference("a.py", 3, 5, "x = 1"),
            FileReference("b.py", text="y"),
        ),
    )

    prompt = prompt_of(history, ("Be kind.", " "), "chat")

    assert prompt.system == ["Be kind.", "Rule."]
    assert texts(prompt.entries[0]) == [
        SUMMARY,
        "So far: nothing.",
        '<context name="time">\nnoon\n</context>',
        "<skill name=\"say 'hi'\">\nwave\n</skill>",
        '<file name="a.py:3-5">\nx = 1\n</file>',
        '<file name="b.py">\ny\n</file>',
    ]


def test_a_reply_that_was_cut_is_continued_by_asking_and_stays_so_in_later_prompts() -> None:
    cut = assistant(Text("One, two,"), ending=Ending.CUT)
    first = entries(user("Count"), cut)
    later = entries(user("Count"), cut, assistant(Text("three.")), user("Thanks"))

    assert texts(first[-1]) == [CONTINUE]
    assert later[: len(first)] == first
    assert [type(entry) for entry in later] == [
        UserEntry,
        ModelEntry,
        UserEntry,
        ModelEntry,
        UserEntry,
    ]


@pytest.mark.requirement("L28")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_reply_without_parts_is_not_sent(wire: str) -> None:
    """A model that is asked to go on from an answer that was whole says nothing more. Providers
    refuse a message without content, and the chat with it."""
    asked, cut = user("Count"), assistant(Text("One, two."), ending=Ending.CUT)

    for rest in (assistant(), assistant(ending=Ending.CUT), assistant(ending=Ending.PAUSED)):
        assert next_request(wire, [asked, cut, rest]) == next_request(wire, [asked, cut])
        assert next_request(wire, [asked, cut, rest, user("Thanks")]) == next_request(
            wire, [asked, cut, user("Thanks")]
        )
    assert next_request(wire, [asked, assistant()]) == next_request(wire, [asked])


def test_every_prompt_begins_with_the_user() -> None:
    assert texts(entries(assistant(Text("Hello")), user("Hi"))[0]) == [CONTINUE]


@pytest.mark.requirement("L34")
@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat"])
def test_call_ids_are_fit_and_do_not_repeat_in_a_prompt(wire: str) -> None:
    odd = "functions.bash:0|" + "x" * 80
    history = [user("Hi")]
    for _ in range(3):  # a server that starts again at call_0 with every reply
        history += [
            assistant(tool_call("call_0"), tool_call(odd)),
            results(tool_result("call_0", "a"), tool_result(odd, "b")),
        ]

    body = str(body_of(call_for(wire, history), endpoint_for(wire)))
    prompt = prompt_of(history, (), wire)
    said = [part for e in prompt.entries if isinstance(e, ModelEntry) for part in e.parts]
    ids: list[str] = [part.call_id for part in said if isinstance(part, ToolCall)]
    answers = [r.call_id for e in prompt.entries if isinstance(e, ResultsEntry) for r in e.results]

    assert len(ids) == len(set(ids)) == 6
    assert ids == answers
    assert all(len(i) <= 64 and i.replace("_", "").replace("-", "").isalnum() for i in ids)
    assert all(body.count(f"'{call_id}'") == 2 for call_id in ids)
    assert next_request(wire, history) == next_request(wire, history)


CALLS = st.lists(st.sampled_from("abc"), max_size=3, unique=True)


def called(ids: list[str], text: str) -> MessageBody:
    return assistant(Text(text), *(tool_call(call_id) for call_id in ids))


def answers(ids: list[str]) -> MessageBody:
    return results(*(tool_result(call_id) for call_id in ids))


MESSAGES = st.one_of(
    st.builds(user, st.sampled_from(["Hi", " ", ""])),
    st.builds(called, CALLS, st.sampled_from(["Yes", " "])),
    st.builds(answers, CALLS),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(MESSAGES, max_size=8))
@pytest.mark.requirement("L31")
def test_whatever_happened_every_call_is_answered_once_before_anybody_speaks(
    history: list[MessageBody],
) -> None:
    said = entries(*history)

    for before, after in zip(said, [*said[1:], None][: len(said)], strict=True):
        calls: list[ToolCall] = []
        if isinstance(before, ModelEntry):
            calls = [part for part in before.parts if isinstance(part, ToolCall)]
        if calls:
            assert isinstance(after, ResultsEntry)
            assert [c.call_id for c in calls] == [r.call_id for r in after.results]
        else:
            assert not isinstance(after, ResultsEntry)
        assert type(before) is not type(after)
    assert not said or isinstance(said[0], UserEntry)
    assert not said or not isinstance(said[-1], ModelEntry)
    for wire in WIRE_NAMES:
        next_request(wire, history)
