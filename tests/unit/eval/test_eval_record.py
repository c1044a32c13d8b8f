"""What the messages of a run show."""

from datetime import UTC, datetime
from typing import Any

from holdfast_client.models import Message
from holdfast_lab.eval.record import Activity, activity_of, last_text
from holdfast_lab.eval.transcript import TEXT_MAX, transcript_of


class History:
    """Messages as the API gives them, built call by call."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: str, *parts: dict[str, Any], **more: Any) -> "History":
        seq = len(self.messages) + 1
        given = {"seq": seq, "role": role, "finish_reason": "stop", "version": seq, **more}
        at = datetime(2026, 1, 5, tzinfo=UTC)
        message = Message.model_validate({**given, "parts": [*parts], "created_at": at})
        self.messages.append(message)
        return self

    def call(
        self, tool: str, arguments: dict[str, Any], output: str = "ok", **result: Any
    ) -> "History":
        call_id = f"c{len(self.messages)}"
        known = {"call_id": call_id, "tool_name": tool}
        self.add("assistant", {"type": "tool_call", **known, "arguments": arguments})
        return self.add("tool", {"type": "tool_result", **known, "output": output, **result})

    def say(self, text: str, **more: Any) -> "History":
        return self.add("assistant", {"type": "text", "text": text}, **more)

    @property
    def activity(self) -> Activity:
        return activity_of(self.messages)


def edit(path: str) -> dict[str, Any]:
    return {"path": path, "edits": []}


def test_calls_failures_and_cuts_are_counted() -> None:
    history = (
        History()
        .add("user", {"type": "text", "text": "Do it."})
        .call("execute", {"command": "make"}, truncated=True)
        .call("execute", {"command": "make"})
        .call("read_file", {"path": "a"}, "not found\nmore", is_error=True)
        .say("Done.")
    )

    found = history.activity

    assert found.replies == 4
    assert found.calls == {"execute": 2, "read_file": 1}
    assert found.failed_calls == {"not found": 1}
    assert found.cut_results == 1


def test_tokens_and_cost_are_those_of_all_replies() -> None:
    usage = {"input_tokens": 100, "output_tokens": 7, "cache_read_tokens": 60}
    history = History().say("a", usage=usage, cost_micro_usd=1500).say("b", usage=usage)

    found = history.activity

    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (200, 14, 120)
    assert found.cost_usd == 0.0015
    assert History().say("no price").activity.cost_usd is None


def test_repeated_edit_after_a_failure_is_no_further_first_try() -> None:
    history = (
        History()
        .call("edit_file", edit("a.py"), is_error=True)
        .call("edit_file", edit("a.py"))
        .call("edit_file", edit("b.py"))
        .call("edit_file", edit("a.py"))
    )

    assert (history.activity.edits, history.activity.edits_first_try) == (3, 2)


def test_edit_of_several_files_counts_once() -> None:
    files = {"patch": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"}
    history = History().call("apply_patch", files, is_error=True).call("apply_patch", files)

    assert (history.activity.edits, history.activity.edits_first_try) == (1, 0)


def test_arguments_of_any_shape_are_counted() -> None:
    history = (
        History()
        .call("edit_file", {"path": 3, "edits": "x"})
        .call("apply_patch", {"patch": ["a"]}, is_error=True)
        .call("read_file", {"files": []})
    )

    assert history.activity.edits == 2


def test_read_of_the_same_range_counts_unless_the_file_may_have_changed() -> None:
    read = {"path": "a.py", "offset": 1}
    history = (
        History()
        .call("read_file", read)
        .call("read_file", {"path": "a.py", "offset": 200})
        .call("read_file", read)  # again
        .call("edit_file", edit("b.py"))
        .call("read_file", read)  # again: another file was edited
        .call("edit_file", edit("a.py"))
        .call("read_file", read)
        .call("execute", {"command": "make"})
        .call("read_file", read)
    )

    assert history.activity.re_reads == 2


def test_final_message_is_the_last_text_of_the_model() -> None:
    history = History().say("First.").say("ANSWER: dues").call("execute", {"command": "ls"})

    assert last_text(history.messages) == "ANSWER: dues"
    assert last_text([]) == ""


def test_transcript_has_every_part_and_leaves_out_the_middle_of_a_long_text() -> None:
    history = History().call("execute", {"command": "ls"}, "x" * (TEXT_MAX + 10)).say("Done.")

    call, result, text = transcript_of(history.messages)

    assert (call["kind"], call["tool"], call["text"]) == ("call", "execute", "command: ls")
    assert "10 characters left out" in result["text"]
    assert (text["role"], text["text"]) == ("assistant", "Done.")
