"""What is written of a chat as it happens."""

from typing import Any

import pytest

from holdfast.cli.render.live import Ink, LiveRenderer, LiveRendererOptions
from holdfast.cli.render.takeover import takeover_line
from holdfast.cli.render.text import ASCII
from tests.requirements import requirement

AT = "2026-01-01T00:00:00+00:00"
LATER = "2026-01-01T00:00:07+00:00"


def message(seq: int, role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "seq": seq,
        "role": role,
        "finish_reason": "stop",
        "parts": list(parts),
        "created_at": AT,
        **more,
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "call_id": call_id, "tool_name": "clock", "arguments": arguments}


def result(call_id: str, output: Any, *, failed: bool = False) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "call_id": call_id,
        "tool_name": "clock",
        "output": output,
        "is_error": failed,
    }


def part(seq: int, *deltas: dict[str, Any], attempt: int = 1) -> dict[str, Any]:
    return {"attempt": attempt, "index": seq, "deltas": list(deltas)}


def delta(said: str, index: int = 0, kind: str = "text") -> dict[str, Any]:
    return {"index": index, "type": kind, "text": said}


def status(name: str, **facts: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("model", "effort", "retry", "error", "action_required"))
    return {"status": name, "archived": False, "attempt": 1, **nothing, **facts}


def written(inks: list[Ink], to: str | None = None) -> str:
    return "".join(ink.text for ink in inks if to in (None, ink.to))


def fed(live: LiveRenderer, *events: tuple[str, dict[str, Any]]) -> list[Ink]:
    return [ink for kind, data in events for ink in live.feed(kind, data)] + live.finish()


def test_text_is_written_as_it_comes_and_not_again_when_it_is_committed() -> None:
    live = LiveRenderer()

    assert live.feed("preview.delta", part(1, delta("Hel"))) == [Ink("answer", "Hel")]
    assert live.feed("preview.delta", part(2, delta("lo"))) == [Ink("answer", "lo")]
    rest = live.feed("message.created", message(2, "assistant", text("Hello")))

    assert rest == [Ink("answer", "\n")]


def test_what_was_not_told_live_is_written_with_the_commit() -> None:
    inks = fed(
        LiveRenderer(),
        ("preview.delta", part(1, delta("Hel"))),
        ("message.created", message(2, "assistant", text("Hello there"))),
    )

    assert written(inks) == "Hello there\n"


def test_a_commit_that_says_something_else_is_written_whole() -> None:
    inks = fed(
        LiveRenderer(),
        ("preview.delta", part(1, delta("Hullo"))),
        ("message.created", message(2, "assistant", text("Hello"))),
    )

    assert written(inks, "answer") == "Hullo\nHello\n"


def test_without_a_terminal_only_what_is_committed_is_written() -> None:
    live = LiveRenderer(LiveRendererOptions(live=False))

    inks = fed(
        live,
        ("preview.delta", part(1, delta("void"))),
        ("preview.reset", {"attempt": 2}),
        ("preview.delta", part(1, delta("Hello"), attempt=2)),
        ("message.created", message(2, "assistant", text("Hello"))),
    )

    assert written(inks) == "Hello\n"


def test_an_abandoned_attempt_is_said_to_be_void() -> None:
    inks = fed(
        LiveRenderer(),
        ("preview.delta", part(1, delta("Hel"))),
        ("preview.reset", {"attempt": 2}),
        ("preview.delta", part(1, delta("Hello"), attempt=2)),
        ("message.created", message(2, "assistant", text("Hello"))),
    )

    assert written(inks, "answer") == "Hel\nHello\n"
    assert "begins again" in written(inks, "note")


def test_a_call_and_its_result_stand_on_one_line() -> None:
    live = LiveRenderer()
    asked = message(2, "assistant", call("c1", zone="Oslo"))

    first = live.feed("message.created", asked)
    second = live.feed("message.created", message(3, "tool", result("c1", "12:00")))

    assert written(first) == '· clock {"zone":"Oslo"}'
    assert written(second) == " ✓ → 12:00\n"


def test_parallel_calls_have_a_line_each_and_so_have_their_results() -> None:
    inks = fed(
        LiveRenderer(),
        ("message.created", message(2, "assistant", call("c1"), call("c2"))),
        ("message.created", message(3, "tool", result("c1", 1), result("c2", "no", failed=True))),
    )

    assert written(inks) == "· clock\n· clock\n· clock ✓ → 1\n· clock ✗ → no\n"


def test_a_patch_is_told_by_its_files() -> None:
    lines = (
        *("*** Begin Patch", "*** Update File: a.py", "*** Move to: b.py", "-x"),
        *("*** Add File: c.py", "+ *** Delete File: x", "*** Delete File: d.py", "*** End Patch"),
    )
    live = LiveRenderer()
    patch = {**call("c1", patch="\n".join(lines)), "tool_name": "apply_patch"}
    inks = live.feed("message.created", message(2, "assistant", patch))
    assert written(inks) == "· apply_patch a.py → b.py, add c.py, de…"

    for broken in ("nothing", 1, "*** Move to: x"):
        odd = {**call("c2", patch=broken), "tool_name": "apply_patch"}
        inks = LiveRenderer().feed("message.created", message(2, "assistant", odd))
        assert written(inks).startswith('· apply_patch {"patch":')


@pytest.mark.parametrize("live", [True, False])
def test_a_plan_is_a_line_for_each_step(live: bool) -> None:
    steps = [
        {"text": "read the parser", "status": "completed"},
        {"text": "mend it", "status": "in_progress"},
        {"text": "rewrite it", "status": "dropped"},
        {"text": "run the tests", "status": "pending"},
        {"text": "no status"},
    ]
    plan = {**call("c1", steps=steps), "tool_name": "update_plan"}
    told = {**result("c1", "Plan updated."), "tool_name": "update_plan"}

    inks = fed(
        LiveRenderer(LiveRendererOptions(live=live)),
        ("message.created", message(2, "assistant", plan)),
        ("message.created", message(3, "tool", told)),
    )

    assert written(inks, "note").splitlines() == [
        "[x] read the parser",
        "[>] mend it",
        "[-] rewrite it",
        "[ ] run the tests",
        "· update_plan ✓ → Plan updated.",
    ]


def test_a_slow_call_tells_how_long_it_took() -> None:
    inks = fed(
        LiveRenderer(),
        ("message.created", message(2, "assistant", call("c1"))),
        ("message.created", message(3, "tool", result("c1", 1), created_at=LATER)),
    )

    assert written(inks) == "· clock ✓ · 7.0 s → 1\n"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_lines_of_calls_and_reasoning_fit_the_width(width: int) -> None:
    live = LiveRenderer(LiveRendererOptions(width=width))
    inks = fed(
        live,
        *(
            ("preview.delta", part(n, delta("thinking on and on ", kind="reasoning")))
            for n in range(1, 20)
        ),
        ("message.created", message(2, "assistant", call("c1", word="x" * 100))),
        ("message.created", message(3, "tool", result("c1", "y" * 300))),
    )

    lines = written(inks).splitlines()
    assert len(lines) == 2
    assert all(len(line) < width for line in lines), lines
    assert lines[0].startswith("thinking on")


def test_reasoning_is_written_as_it_comes_on_one_line_and_no_further() -> None:
    live = LiveRenderer(LiveRendererOptions(width=20))

    seen = [
        written(live.feed("preview.delta", part(n, delta(said, kind="reasoning"))))
        for n, said in enumerate(("let ", "me\n", "see ", "whether this fits", " or not"), 1)
    ]

    assert seen == ["let", " me", " see", " whether…", ""]


def test_reasoning_that_was_shown_live_is_not_shown_again() -> None:
    thought = {"type": "reasoning", "text": "hm", "finished_at": None}
    inks = fed(
        LiveRenderer(),
        ("preview.delta", part(1, delta("hm", kind="reasoning"), delta("Yes", index=1))),
        ("message.created", message(2, "assistant", thought, text("Yes"))),
    )

    assert written(inks) == "hm\nYes\n"


def test_of_a_snapshot_only_the_tail_is_shown() -> None:
    live = LiveRenderer(LiveRendererOptions(tail=2))
    inks = fed(
        live,
        ("history.reset", {"from_seq": 1, "older_before_seq": 7}),
        *(("message.created", message(seq, "assistant", text(f"m{seq}"))) for seq in (7, 8, 9)),
        ("chat.state", status("running")),
        ("message.created", message(10, "assistant", text("m10"))),
    )

    assert written(inks) == "m8\n\nm9\n\nm10\n"


def test_a_second_snapshot_repeats_no_message() -> None:
    live = LiveRenderer()
    snapshot = [
        ("history.reset", {"from_seq": 1, "older_before_seq": None}),
        ("message.created", message(1, "user", text("hi"))),
        ("message.created", message(2, "assistant", text("hello"))),
        ("chat.state", status("idle")),
    ]

    first, second = fed(live, *snapshot), fed(live, *snapshot)

    assert written(first) == "› hi\nhello\n"
    assert second == []


@requirement("L146")
def test_snapshot_with_other_messages_of_the_same_number_is_written() -> None:
    """A failover lost what was written; the numbers came again."""
    live = LiveRenderer(LiveRendererOptions(marks=ASCII))
    fed(
        live,
        ("message.created", message(1, "user", text("hi"))),
        ("message.created", message(2, "user", text("pay ALICE"))),
        ("message.created", message(3, "assistant", text("paid ALICE"))),
    )

    inks = fed(
        live,
        ("history.reset", {"from_seq": 1, "older_before_seq": None}),
        ("message.created", message(1, "user", text("hi"))),
        ("message.created", message(2, "user", text("pay BOB"), created_at=LATER)),
        ("message.created", message(3, "assistant", text("paid BOB"), created_at=LATER)),
        ("chat.state", status("idle")),
    )

    assert written(inks) == "-- rewritten from message 2\n> pay BOB\n\npaid BOB\n"


def test_an_edit_shows_what_is_said_instead() -> None:
    live = LiveRenderer()
    fed(live, ("message.created", message(1, "user", text("hi"))))

    inks = fed(
        live,
        ("history.reset", {"from_seq": 1, "older_before_seq": None}),
        ("message.created", message(2, "user", text("hello"))),
        ("chat.state", status("running")),
    )

    assert written(inks) == "› hello\n"


def test_ones_own_words_are_not_echoed() -> None:
    live = LiveRenderer()
    live.own(1)

    assert fed(live, ("message.created", message(1, "user", text("hi")))) == []


def test_nothing_that_a_model_says_can_move_the_cursor() -> None:
    evil = "a\x1b[2Jb\x1b]0;owned\x07c\x9b1md\re"
    live = LiveRenderer()
    inks = fed(
        live,
        ("preview.delta", part(1, delta(evil))),
        ("message.created", message(2, "assistant", text(evil), call("c1", **{"\x1b[1m": evil}))),
        ("message.created", message(3, "tool", result("c1", evil))),
        ("chat.state", status("failed", error={"message": evil})),
        ("message.created", message(4, "user", text(evil))),
    )

    assert not set(written(inks)) & {"\x1b", "\x07", "\x9b", "\r"}
    assert written(inks, "answer") == "a[2Jb]0;ownedc1mde\n"


def test_a_pipe_gets_every_byte_of_an_answer() -> None:
    live = LiveRenderer(LiveRendererOptions(live=False))

    inks = fed(live, ("message.created", message(2, "assistant", text("a\x1b[1m\r\nb"))))

    assert written(inks) == "a\x1b[1m\r\nb\n"


def test_troubles_are_told_in_a_line_each() -> None:
    live = LiveRenderer(LiveRendererOptions(marks=ASCII, chat="0197"))
    error = {"message": "The provider is busy."}
    action = {"type": "approval", "calls": [{"call_id": "c1", "tool_name": "rm", "seq": 2}]}
    asked = {"type": "answer", "calls": [{"call_id": "c2", "tool_name": "ask", "seq": 2}]}

    inks = fed(
        live,
        ("chat.state", status("running", retry={"delay_ms": 1500, "error": error})),
        ("chat.state", status("running", retry={"delay_ms": 50, "model": "b", "error": error})),
        ("chat.state", status("failed", error=error)),
        ("chat.state", status("awaiting", action_required=action)),
        ("chat.state", status("awaiting", action_required=asked)),
        ("queue.updated", {"messages": [{}, {}]}),
        ("queue.updated", {"messages": [{}]}),
        ("ping", {}),
        ("something_new", {"x": 1}),
    )

    assert written(inks, "answer") == ""
    assert written(inks).splitlines() == [
        "retrying in 1.5 s: The provider is busy.",
        "retrying in 0.1 s with b: The provider is busy.",
        "error: The provider is busy.",
        "rm waits for approval: holdfast approve 0197 c1",
        "ask waits for an answer: holdfast respond 0197 c2 TEXT",
        "2 waiting in the queue",
    ]


def test_an_answer_that_was_interrupted_says_so() -> None:
    cut = message(2, "assistant", text("Hel"), finish_reason="interrupted")

    assert written(fed(LiveRenderer(), ("message.created", cut))) == "Hel\n— interrupted\n"


# A worker was lost.


def takeover(*fates: str, **more: Any) -> dict[str, Any]:
    calls = [{"call_id": f"c{n}", "tool_name": f"tool{n}", "fate": f} for n, f in enumerate(fates)]
    told = {"attempt": 2, "lost_workers": 1, "after_seconds": 8, "kept": False, "calls": calls}
    return told | more


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (takeover(), "worker lost, continued after 8 s, nothing repeated"),
        (takeover(after_seconds=None), "worker lost, continued, nothing repeated"),
        (takeover(lost_workers=2), "2 workers lost, continued after 8 s, nothing repeated"),
        (takeover("joined"), "worker lost, continued after 8 s, nothing repeated"),
        (takeover("not_started"), "worker lost, continued after 8 s, nothing repeated"),
        (takeover("repeated"), "worker lost, continued after 8 s, 1 call repeated: tool0"),
        (takeover("unknown"), "worker lost, continued after 8 s, 1 call with unknown outcome"),
        (
            takeover("repeated", "repeated", "unknown", "joined"),
            "worker lost, continued after 8 s, 2 calls repeated: tool0, tool1,"
            " 1 call with unknown outcome",
        ),
        (takeover("something_new"), "worker lost, continued after 8 s"),
    ],
)
def test_the_quiet_line_says_no_more_than_is_true(told: dict[str, Any], line: str) -> None:
    assert takeover_line(told) == line


QUIET = "— worker lost, continued after 8 s, nothing repeated\n"


def test_the_quiet_line_stands_between_what_is_kept_and_what_is_continued() -> None:
    kept = message(
        2, "assistant", text("so far"), finish_reason="provider_error", takeover=takeover(kept=True)
    )
    rest = message(3, "assistant", text("and on"))

    inks = fed(
        LiveRenderer(),
        ("preview.delta", part(1, delta("so "))),
        ("message.created", kept),
        ("message.created", rest),
    )

    assert written(inks) == f"so far\n{QUIET}\nand on\n"
    assert [ink.style for ink in inks if "worker lost" in ink.text] == ["dim"]


def test_the_quiet_line_stands_before_an_answer_that_was_begun_anew() -> None:
    anew = message(2, "assistant", text("anew"), takeover=takeover())

    assert written(fed(LiveRenderer(), ("message.created", anew))) == f"{QUIET}anew\n"
    live = fed(LiveRenderer(), ("preview.delta", part(1, delta("an"))), ("message.created", anew))
    assert written(live) == f"anew\n{QUIET}", "what was written is not taken back"


@pytest.mark.parametrize("is_live", [True, False])
def test_the_quiet_line_stands_behind_the_results_of_tools(is_live: bool) -> None:
    live = LiveRenderer(LiveRendererOptions(live=is_live))

    inks = fed(
        live,
        ("message.created", message(2, "assistant", call("c1"))),
        ("message.created", message(3, "tool", result("c1", "ok"), takeover=takeover("repeated"))),
    )

    assert written(inks).splitlines() == [
        "· clock ✓ → ok",
        "— worker lost, continued after 8 s, 1 call repeated: tool0",
    ]


def advised(**output: Any) -> list[Ink]:
    asked = {**call("c1", question="Which way?"), "tool_name": "advisor"}
    failed = output["type"] != "advice"
    told = {**result("c1", ""), "tool_name": "advisor", "output": output, "is_error": failed}
    return fed(
        LiveRenderer(LiveRendererOptions(width=100)),
        ("message.created", message(2, "assistant", asked)),
        ("message.created", message(3, "tool", told)),
    )


def test_advice_is_written_below_its_call() -> None:
    inks = advised(type="advice", advice="Go left.\nThen right.", model="oracle", remaining_uses=1)
    lines = written(inks).splitlines()
    assert "advice of oracle, 1 left in this turn" in lines[0]
    assert lines[1:] == ["  Go left.", "  Then right."]


def test_a_limit_and_a_failure_of_the_advisor_are_written_in_different_words() -> None:
    none = {"message": "Decide without it.", "model": None, "remaining_uses": 0}
    for kind, words in (("limit_reached", "limit reached"), ("error", "no advice")):
        (line,) = written(advised(type=kind, **none)).splitlines()
        assert line.endswith(f"{words}: Decide without it.")


def proposed(output: str, *, failed: bool = False) -> list[str]:
    asked = {**call("c1", path="PLAN.md"), "tool_name": "propose_plan"}
    told = {**result("c1", output), "tool_name": "propose_plan", "is_error": failed}
    inks = fed(
        LiveRenderer(LiveRendererOptions(width=100)),
        ("message.created", message(2, "assistant", asked)),
        ("message.created", message(3, "tool", told)),
    )
    return written(inks).splitlines()


def test_a_proposed_plan_is_written_below_its_call() -> None:
    line, *plan = proposed("# Rename it\n\n1. Change a.py.\n\x1b[2J2. Run the tests.\n")
    assert line.endswith("→ a plan")
    assert plan == ["  # Rename it", "", "  1. Change a.py.", "  [2J2. Run the tests."]


def test_a_plan_that_is_not_there_is_told_in_the_line_of_its_call() -> None:
    (line,) = proposed("Nothing was proposed. PLAN.md is empty.", failed=True)
    assert line.endswith("Nothing was proposed. PLAN.md is empty.")
