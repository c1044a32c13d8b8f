"""The head of a message: a short one whole, of a long one as much as fits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.chats.hints import INLINE_BYTES_MAX, encode_data
from holdfast.domain.chat import AWAITED_BYTES_MAX, QUEUE_LENGTH_MAX
from holdfast.domain.events import EventType, of_state
from holdfast.domain.format import parts_to_json
from holdfast.domain.heads import HEAD_BYTES_MAX, awaited_arguments, head_of, stored_bytes
from holdfast.domain.ids import CallId
from holdfast.domain.parts import (
    Context,
    File,
    FileReference,
    JsonObject,
    Need,
    Part,
    Skill,
    Text,
    ToolCall,
    ToolResult,
)
from tests.requirements import requirement
from tests.support.builders import a_chat, queued, user

TEXTS = st.text(st.characters(blacklist_categories=()), max_size=2_000)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(FileReference, TEXTS, text=TEXTS),
    st.builds(Skill, st.just("name"), TEXTS),
    st.builds(File, TEXTS, st.just("text/plain")),
    st.builds(Context, st.just("name"), TEXTS),
)


def test_a_short_message_is_its_own_head() -> None:
    assert head_of(user("hello")) == (user("hello"), False)


@requirement("L140")
@given(st.lists(PARTS, max_size=4))
def test_a_head_is_bounded_whatever_the_parts(parts: list[Part]) -> None:
    body = replace(user(""), parts=tuple(parts))
    head, cut = head_of(body)
    assert stored_bytes(head.parts) <= HEAD_BYTES_MAX
    assert cut == (stored_bytes(parts) > HEAD_BYTES_MAX)
    assert cut or head == body
    shown = [part for part in parts if not isinstance(part, Context)] if cut else parts
    for kept, whole in zip(head.parts, shown, strict=False):
        assert str(getattr(whole, "text", "")).startswith(str(getattr(kept, "text", "")))


@pytest.mark.parametrize("letter", ["x", "ä", "\n", "\x00", "\ud800", "🙂"])
def test_the_beginning_of_a_long_text_is_kept(letter: str) -> None:
    head, cut = head_of(user(letter * 10_000))
    assert cut
    (part,) = head.parts
    assert isinstance(part, Text)
    assert letter * 50 == part.text[:50]
    assert HEAD_BYTES_MAX - 20 <= stored_bytes(head.parts) <= HEAD_BYTES_MAX


def test_what_the_model_alone_is_told_takes_no_room() -> None:
    body = replace(user(""), parts=(Context("now", "x" * 900), Text("hello")))
    assert head_of(body)[0].parts == (Text("hello"),)


def test_a_part_that_cannot_be_cut_ends_the_head() -> None:
    body = replace(user(""), parts=(Text("hello"), File("f" * 900, "text/plain"), Text("more")))
    assert head_of(body) == (replace(body, parts=(Text("hello"),)), True)


def test_a_part_without_room_for_any_text_is_left_out() -> None:
    body = replace(user(""), parts=(Text("hello"), FileReference("p" * 900, text="x")))
    assert head_of(body) == (replace(body, parts=(Text("hello"),)), True)


def test_the_size_is_that_of_the_stored_json() -> None:
    assert parts_to_json((Text("ä"),)) == [{"kind": "text", "text": "ä"}]
    assert stored_bytes((Text("ä"),)) == len('[{"kind":"text","text":"ä"}]'.encode())
    assert stored_bytes(()) == 2
    output: JsonObject = {"a": [1, 2.5, None, True, {}], "b": []}
    assert stored_bytes((ToolResult(CallId("c"), "t", output),)) == len(
        '[{"kind":"tool_result","call_id":"c","tool":"t",'
        '"output":{"a":[1,2.5,null,true,{}],"b":[]}}]'
    )


@requirement("L140")
def test_the_event_of_a_full_queue_of_long_messages_fits_a_hint() -> None:
    head, _ = head_of(user("ä\n" * 500_000))
    entries = tuple(
        replace(queued(number), head=head, bytes=10**6, cut=True)
        for number in range(1, QUEUE_LENGTH_MAX + 1)
    )
    (told,) = [
        event
        for event in of_state(replace(a_chat(), queue=entries), 0)
        if event.kind is EventType.QUEUE_UPDATED
    ]
    assert len(encode_data(told.data)) < INLINE_BYTES_MAX


def test_awaited_arguments_are_kept_as_far_as_they_fit() -> None:
    def call(call_id: str, size: int, needs: Need = Need.APPROVAL) -> ToolCall:
        return ToolCall(CallId(call_id), "tool", {"text": "x" * size}, needs=needs)

    own = call("own", 10, Need.NOTHING)
    kept = awaited_arguments([own, call("a", 10), call("long", AWAITED_BYTES_MAX), call("b", 10)])
    assert list(kept) == ["a"], "none of a call that waits for nobody, and none after a long one"
    assert kept[CallId("a")] == {"text": "x" * 10}
