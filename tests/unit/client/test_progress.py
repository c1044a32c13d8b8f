"""How far a turn has come, and what its reader is given, event by event."""

from typing import Any

from holdfast_client import ChatView
from holdfast_client.models import Message
from holdfast_client.progress import Chunk, TurnProgress, TurnText
from holdfast_client.view import EMPTY, Preview, WireView


def message(seq: int, role: str, text: str = "", turn: int = 1, queued: int | None = None) -> Any:
    return {
        "seq": seq,
        "role": role,
        "finish_reason": "stop",
        "parts": [{"type": "text", "text": text}],
        "turn_seq": turn,
        "queued_id": queued,
        "created_at": "2026-01-01T00:00:00Z",
        "version": seq,
    }


def view(status: str, turn: int, *messages: Any, version: int = 9, **more: Any) -> WireView:
    state = {"status": status, "turn_seq": turn, "error": None, "action_required": None}
    return WireView(messages=messages, state=state, version=version, **more)


def live(text: str, *messages: Any) -> WireView:
    parts = {0: {"type": "reasoning", "text": "hm"}, 1: {"type": "text", "text": text}}
    return view("running", 1, *messages, preview=Preview(1, 1, parts))


def test_a_view_that_is_behind_the_receipt_says_nothing() -> None:
    progress = TurnProgress(version=9, seq=3, queued_id=None)
    assert progress.stage(EMPTY) == "behind"
    assert progress.stage(view("idle", 1, version=8)) == "behind"
    assert progress.stage(view("running", 3)) == "running"
    assert progress.stage(view("awaiting", 3)) == "awaiting"


def test_a_turn_is_over_when_the_chat_rests_or_another_one_runs() -> None:
    own = message(3, "user", turn=3)
    progress = TurnProgress(version=9, seq=3, queued_id=None)
    for status, turn in (("idle", 3), ("failed", 3), ("running", 5), ("awaiting", 5)):
        assert progress.stage(view(status, turn, own)) == "over"
        assert progress.stage(view(status, turn)) == "missing"


def test_a_queued_message_is_found_by_its_number() -> None:
    progress = TurnProgress(version=9, seq=None, queued_id=7)
    assert progress.stage(view("running", 1, queue=({"queued_id": 7},))) == "queued"
    assert progress.stage(view("running", 1)) == "missing"
    own = message(4, "user", turn=4, queued=7)
    assert progress.stage(view("running", 4, own)) == "running"
    assert progress.seq == 4


def test_text_comes_once_and_in_order() -> None:
    text, asked = TurnText(), message(1, "user", "What?")
    assert text.next(view("running", 1, asked), None) is None
    assert text.next(live("Ke", asked), 1) == Chunk("Ke")
    assert text.next(live("Kelp", asked), 1) == Chunk("lp")
    assert text.next(live("Kelp", asked), 1) is None
    said = message(2, "assistant", "Kelp.")
    assert text.next(view("running", 1, asked, said), 1) == Chunk(".")
    assert text.next(live("So", asked, said), 1) == Chunk("\n\nSo")
    last = message(3, "assistant", "So.")
    other = message(5, "assistant", "Other", turn=4)
    assert text.next(view("idle", 4, asked, said, last, other), 1) == Chunk(".")
    assert text.last([Message.model_validate(each) for each in (said, last)]) is None


def test_text_that_is_taken_back_is_told_only_when_other_words_come() -> None:
    text = TurnText()
    assert text.next(live("The sea"), 1) == Chunk("The sea")
    assert text.next(view("running", 1), 1) is None
    assert text.next(live("The"), 1) is None
    assert text.next(live("The ocean"), 1) == Chunk("The ocean", reset=True)
    assert text.last([]) == Chunk("", reset=True)


def test_a_view_is_typed_and_parses_a_message_once() -> None:
    first, second = message(1, "user", "a"), message(2, "assistant", "b")
    before = ChatView(view("running", 1, first))
    assert [each.text for each in before.messages] == ["a"]
    skipped = ChatView(view("running", 1, first, second), before)
    after = ChatView(view("idle", 1, first, second), skipped)
    assert [each.text for each in after.messages] == ["a", "b"]
    assert after.messages[0] is before.messages[0]
    assert (after.status, after.version, after.older, after.cursor) == ("idle", 9, None, None)
    assert (after.error, after.action_required, after.queue) == (None, None, [])
    assert (ChatView().status, ChatView().error, ChatView().messages) == (None, None, [])
