"""Compaction between the steps of a turn: when, how it is told, what bounds it, what it keeps."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest

from holdfast.admin.settings import COMPACTION_PERCENT
from holdfast.domain.chat import Chat, ErrorKind, Status
from holdfast.domain.commands import RequestCompaction, Restore, Retry, SendMessage
from holdfast.domain.compaction import COMPACTIONS_MAX, CompactionReason
from holdfast.domain.ids import Version
from holdfast.domain.messages import Message, Role
from holdfast.domain.parts import Context, Text
from holdfast.ports.bus import Episode
from holdfast.tools.toolbox import Functions
from holdfast.turn.compaction import IRREDUCIBLE
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.summary import INSTRUCTION, PIECES_MAX, USER_WORDS
from tests.requirements import requirement
from tests.support.builders import reply, system, user
from tests.support.doubles import FixedSettings
from tests.support.scripted import Failed, Hold, ScriptedModels, TextDelta, Usage, says
from tests.support.stage import Stage, driving, staged, until, valid
from tests.support.windowed import (
    WINDOW_TOKENS,
    UnknownWindow,
    Work,
    WorkingModel,
    asks_for_summary,
    tokens_of,
)

NEVER = FixedSettings({COMPACTION_PERCENT.name: 100})
FULL = Usage(input=8_000, output=10)


@asynccontextmanager
async def working(model: Any, work: Work | None = None, **more: Any) -> AsyncGenerator[Stage]:
    work = work or Work()
    async with staged(tools=Functions(work.tool()), **more) as stage:
        yield stage.with_models(model)


def boundaries(history: tuple[Message, ...]) -> list[Message]:
    return [message for message in history if message.body.role is Role.BOUNDARY]


def deltas(stage: Stage, chat: Chat, attempt: int) -> list[dict[str, Any]]:
    """What readers were shown of an episode."""
    parts = stage.server.log.get((chat.chat_id, Episode.of(chat)._replace(attempt=attempt)), {})
    return [delta for seq in sorted(parts) for delta in orjson.loads(parts[seq].payload)]


def all_deltas(stage: Stage) -> list[dict[str, Any]]:
    return [
        delta
        for parts in stage.server.log.values()
        for seq in sorted(parts)
        for delta in orjson.loads(parts[seq].payload)
    ]


def summary_types(stage: Stage) -> list[str]:
    return [str(d["type"]) for d in all_deltas(stage) if str(d["type"]).startswith("summary")]


# Between steps.


@requirement("L15", "L16", "L26")
@pytest.mark.parametrize(
    ("steps", "compactions"), [(75, 2), pytest.param(300, 10, marks=pytest.mark.nightly)]
)
async def test_a_long_task_is_finished_on_a_small_window(steps: int, compactions: int) -> None:
    model, work = WorkingModel(steps), Work(output_bytes=750)
    async with working(model, work) as first:
        stage = first.with_models(model, replies_max=1_000)
        chat = await stage.turn(user("Do all the steps."))

        assert chat.status is Status.IDLE
        assert work.done == list(range(1, steps + 1)), "a step was lost, or done twice"
        history = await stage.history(chat)
        assert [m.body.role for m in history].count(Role.USER) == 1
        assert len(boundaries(history)) >= compactions
        assert model.refused == 0, "the decision came too late"
        assert max(map(tokens_of, model.asked)) <= WINDOW_TOKENS
        assert chat.steps == steps + 1, "a summary begins the count of steps anew"
        assert not valid(history)


@requirement("L20")
@pytest.mark.parametrize("turns", [20, pytest.param(1_000, marks=pytest.mark.nightly)])
async def test_below_the_threshold_nothing_is_committed_or_told(turns: int) -> None:
    async with staged(*[says("Hi.")] * turns, window=200_000) as stage:
        chat = await stage.turn(user())
        for number in range(turns - 1):
            await stage.world.do(chat.chat_id, SendMessage(user(f"more {number}")))
            chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))

        assert stage.store.calls["commit"] == turns, "a turn is one commit"
        assert summary_types(stage) == []
        assert stage.counters.compactions == 0
        assert chat.compaction is None


@requirement("L15", "L16")
async def test_the_decision_rides_in_the_commit_of_the_results() -> None:
    model = WorkingModel(3, step_bytes=20_000)
    async with working(model) as stage:
        chat = await stage.turn(user("Go."))
        commits = stage.store.calls["commit"]
        compactions = len(boundaries(await stage.history(chat)))
        # Each step is a reply and its results; the last reply ends the turn in its own commit.
        assert compactions >= 1
        assert commits == 2 * 3 + 1 + compactions


@requirement("L23")
async def test_an_unknown_window_and_100_percent_switch_the_threshold_off() -> None:
    for model, settings in ((WorkingModel(30, window=None), None), (WorkingModel(30), NEVER)):
        async with working(model) as first:
            stage = first.with_models(model, settings=settings)
            chat = await stage.turn(user("Go."))
            assert boundaries(await stage.history(chat)) == []


@requirement("L23", "L24")
async def test_100_percent_leaves_compaction_to_people() -> None:
    async with staged(says("hi", usage=FULL), says("Where I am."), window=8_192) as first:
        stage = replace(first, settings=NEVER)
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, RequestCompaction(keep="The names of all files."))
        chat = await stage.drive(await stage.again(chat))

        assert len(boundaries(await stage.history(chat))) == 1
        assert chat.compaction is not None
        assert not chat.compaction_requested
        asked = str(stage.models.asked[1].history[-1].parts[-1])
        assert "The names of all files." in asked
        assert "word for word" in asked


@requirement("L15")
async def test_a_message_to_a_full_chat_is_answered_after_a_summary() -> None:
    """The count of the reply before, and an estimate of what came since."""
    scripts = says("hi", usage=Usage(input=5_000, output=10)), says("Summary."), says("Done.")
    async with staged(*scripts, window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("x" * 6_000)))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))

        said = [message.body.role for message in await stage.history(chat)]
        assert said == [*(Role.USER, Role.ASSISTANT, Role.USER), Role.BOUNDARY, Role.ASSISTANT]


# How it is told.


@requirement("L19")
async def test_readers_are_told_begin_summary_end_and_then_the_boundary() -> None:
    hold = Hold()
    scripts = says("hi", usage=FULL), [TextDelta(0, "Where "), hold, *says("I am.")]
    async with staged(*scripts, says("Done."), window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.again(await stage.world.load(chat.chat_id))
        async with driving(stage, chat) as (task, _):
            await until(lambda: "summary" in summary_types(stage))
            now = stage.now(chat)
            assert now.compaction_requested, "the decision is no committed fact"
            assert now.compaction is not None
            assert now.compaction.reason is CompactionReason.THRESHOLD
            said = deltas(stage, now, now.attempt)
            assert [d["type"] for d in said] == ["summary_started", "summary"]
            assert [m.body.role for m in await stage.history(chat)][-1] is Role.USER
            hold.until.set()
            chat = await task

        await stage.bus_is_quiet()
        told = [d for d in all_deltas(stage) if str(d["type"]).startswith("summary")]
        assert told[0] == {"index": 0, "type": "summary_started", "reason": "threshold"}
        assert "".join(str(d["text"]) for d in told if d["type"] == "summary") == "Where I am."
        assert told[-1] == {"index": 0, "type": "summary_ended", "error": None}
        (boundary,) = boundaries(await stage.history(chat))
        assert boundary.body.parts[0] == Text("Where I am.")


@requirement("L25")
async def test_an_empty_summary_is_told_as_failed_and_stores_nothing() -> None:
    scripts = says("hi"), says(" "), says("Better.")
    async with staged(*scripts) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, RequestCompaction())
        chat = await stage.drive(await stage.again(chat))

        await stage.bus_is_quiet()
        ends = [d["error"] for d in all_deltas(stage) if d["type"] == "summary_ended"]
        assert ends == ["The model's answer ended before it was complete.", None]
        assert len(boundaries(await stage.history(chat))) == 1


@requirement("L25")
async def test_an_interrupt_in_the_middle_of_a_summary_stores_nothing() -> None:
    hold = Hold()
    async with staged(says("hi", usage=FULL), [TextDelta(0, "Where"), hold], window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.again(await stage.world.load(chat.chat_id))
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: "summary" in summary_types(stage))
            await stage.interrupt(chat, nudges)
            chat = await task
        assert chat.status is Status.IDLE
        assert not chat.compaction_requested
        assert await stage.said(chat) == ["user: hello", "assistant: hi", "user: more"]
        await stage.bus_is_quiet()
        assert summary_types(stage)[-1] == "summary_ended"


async def test_a_summary_of_a_dead_worker_is_made_anew_and_never_kept_as_a_reply() -> None:
    hold = Hold()
    async with staged(says("hi", usage=FULL), [TextDelta(0, "Where"), hold], window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.again(await stage.world.load(chat.chat_id))
        task = asyncio.create_task(stage.driver.drive(chat, Interrupts(chat)))
        await until(lambda: "summary" in summary_types(stage))
        task.cancel()
        await asyncio.wait({task})
        chat = await stage.again(stage.now(chat))
        assert chat.compaction_requested, "the successor would decide again"
        other = stage.with_models(ScriptedModels(says("Summary."), says("Done."), window=8_192))
        chat = await other.drive(chat)
        said = await other.said(chat)
        assert said[2:] == ["user: more", "boundary: Summary. + context", "assistant: Done."]


# What bounds it.


@requirement("L17")
async def test_an_irreducible_prompt_ends_in_one_clear_error() -> None:
    model = WorkingModel(50, summary_bytes=24_000)
    async with working(model) as stage:
        chat = await stage.turn(user("Go."))

        assert chat.status is Status.FAILED
        assert chat.error == IRREDUCIBLE
        assert model.summaries == COMPACTIONS_MAX
        history = await stage.history(chat)
        first = boundaries(history)[0]
        before = [m for m in history if m.seq < first.seq]
        assert before[0].body.role is Role.USER, "the old path is gone"
        assert not valid(history)

        # A person may try again: a few more calls, and the same error.
        await stage.world.do(chat.chat_id, Retry())
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        assert chat.status is Status.FAILED
        assert model.summaries <= 2 * COMPACTIONS_MAX + 1


@requirement("L17")
async def test_a_system_prompt_that_fills_the_window_ends_in_one_clear_error() -> None:
    model = WorkingModel(50)
    async with working(model) as stage:
        chat = await stage.turn(system("s" * 40_000), user("Go."))
        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.CONTEXT_OVERFLOW
        assert model.summaries <= COMPACTIONS_MAX


@requirement("L17")
@pytest.mark.parametrize("window_known", [True, False])
async def test_a_prompt_of_ten_times_the_window_is_rescued(*, window_known: bool) -> None:
    model, work = (WorkingModel if window_known else UnknownWindow)(12), Work()
    async with working(model, work) as stage:
        history = [user("Constraint 1: say it in Danish."), reply("x" * 150_000)]
        history += [user(f"Question {n}: " + "y" * 16_000) for n in range(10)]
        assert sum(len(str(body.parts)) for body in history) // 4 > 9 * WINDOW_TOKENS
        chat = await stage.turn(*history, user("Do the steps."))

        assert chat.status is Status.IDLE
        assert work.done == list(range(1, 13))
        after = next(n for n, ask in enumerate(model.asked) if not asks_for_summary(ask) and n)
        assert model.summaries <= PIECES_MAX
        assert any("Constraint 1" in str(body.parts) for body in model.asked[after].history)
        said = [m.body for m in await stage.history(chat)]
        assert said[: len(history)] == history, "the history itself is unchanged"


@requirement("L15")
async def test_a_prompt_that_the_provider_refuses_as_too_long_is_compacted_once() -> None:
    overflow = [Failed(ErrorKind.CONTEXT_OVERFLOW, retryable=False)]
    scripts = says("hi"), overflow, says("Summary."), says("Done.")
    async with staged(*scripts) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        assert chat.status is Status.IDLE
        assert (await stage.said(chat))[-1] == "assistant: Done."
        assert not any(ask.tools for ask in stage.models.asked[2:3])


@requirement("L17")
async def test_a_prompt_that_is_refused_again_right_after_a_summary_fails_clearly() -> None:
    overflow = [Failed(ErrorKind.CONTEXT_OVERFLOW, retryable=False)]
    async with staged(overflow, says("Summary."), overflow) as stage:
        chat = await stage.turn()
        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.sentence == IRREDUCIBLE.sentence


@requirement("L23")
async def test_where_only_people_compact_a_refused_prompt_fails_as_the_provider_said() -> None:
    overflow = [Failed(ErrorKind.CONTEXT_OVERFLOW, retryable=False)]
    async with staged(overflow) as stage:
        chat = await replace(stage, settings=NEVER).turn()
        assert chat.error is not None
        assert chat.error.sentence == "It is context_overflow."


async def test_a_piece_that_is_refused_is_halved_within_the_bound_of_calls() -> None:
    overflow = [Failed(ErrorKind.CONTEXT_OVERFLOW, retryable=False)]
    async with staged(*[overflow] * (1 + PIECES_MAX), window=8_192) as stage:
        chat = await stage.turn(user("y" * 60_000))
        assert chat.status is Status.FAILED
        assert len(stage.models.asked) == 1 + PIECES_MAX


@requirement("L17")
async def test_a_summary_that_fails_for_good_is_left_out_where_there_is_room() -> None:
    refused = [Failed(ErrorKind.CONTENT_FILTER, retryable=False)]
    scripts = says("hi", usage=Usage(input=6_000)), refused, says("Done.")
    async with staged(*scripts, window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        assert chat.status is Status.IDLE
        assert (await stage.said(chat))[-1] == "assistant: Done."
        assert boundaries(await stage.history(chat)) == []


async def test_a_summary_that_fails_for_good_in_a_full_window_fails_the_turn() -> None:
    refused = [Failed(ErrorKind.CONTENT_FILTER, retryable=False)]
    async with staged(says("hi", usage=FULL), refused, window=8_192) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.CONTENT_FILTER


# What it keeps.


@requirement("L22")
async def test_twenty_constraints_survive_five_compactions() -> None:
    wanted = [f"Constraint {n}: keep the word «{n * 7919}» as it is" for n in range(1, 21)]
    model = WorkingModel(180)
    async with working(model) as stage:
        chat = await stage.turn(user("\n".join(["Do all the steps.", *wanted])))
        found = boundaries(await stage.history(chat))
        assert len(found) >= 5
        for boundary in found:
            text = boundary.body.parts[0]
            assert isinstance(text, Text)
            assert all(line in text.text for line in wanted)
        asked = [ask for ask in model.asked if asks_for_summary(ask)]
        assert all("word for word" in str(ask.history[-1].parts) for ask in asked)


@requirement("L22")
async def test_what_the_user_said_is_carried_verbatim_whatever_the_summary_says() -> None:
    model = ScriptedModels(says("hi"), says("I forgot."), says("ok"), says("Again."), says("Yes."))
    async with staged() as first:
        stage = first.with_models(model)
        chat = await stage.turn(user("Never touch main.py."))
        for text in ("And be brief.", "Go on."):
            await stage.world.do(chat.chat_id, RequestCompaction())
            chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
            await stage.world.do(chat.chat_id, SendMessage(user(text)))
            chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))

        kept = boundaries(await stage.history(chat))[-1].body.parts[1]
        assert kept == Context(USER_WORDS, "Never touch main.py.\n\nAnd be brief.")
        assert kept in model.asked[-1].history[0].parts


def test_the_instruction_asks_for_state_next_action_and_the_users_words() -> None:
    for words in ("word for word", "constraint", "Done", "In progress", "Remaining", "next action"):
        assert words in INSTRUCTION


@requirement("L18")
async def test_undo_gives_back_the_same_prompt() -> None:
    scripts = says("hi", usage=Usage(input=100)), says("Summary."), says("Undone.")
    async with staged(*scripts, window=8_192) as stage:
        chat = await stage.turn(system("be brief"), user("hello"))
        await stage.world.do(chat.chat_id, RequestCompaction())
        chat = await stage.drive(await stage.again(chat))
        (boundary,) = boundaries(await stage.history(chat))
        await stage.world.do(chat.chat_id, Restore(Version(boundary.revision - 1)))
        await stage.world.do(chat.chat_id, SendMessage(user("more")))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))

        first, asked, again = stage.models.asked
        assert again.history[:3] == asked.history[:3]
        assert asked.history[:2] == first.history
        assert (again.system, again.tools) == (first.system, first.tools)
        assert boundaries(await stage.history(chat)) == []


# Kills.


@requirement("L24", "L26")
async def test_a_worker_that_dies_anywhere_in_a_compaction_leaves_all_of_it_or_nothing() -> None:
    """Before each call of the model, in the middle of each summary, and before each commit."""
    for strike in range(40):
        model, work = WorkingModel(4, step_bytes=20_000), Work()
        async with working(model, work) as stage:
            assert not await killed(stage, model, work, strike), strike


async def killed(stage: Stage, model: WorkingModel, work: Work, strike: int) -> list[str]:
    """What is wrong after a worker was killed at its nth wait for the database or the model."""
    chat = await stage.world.running(user("Go."))
    task = asyncio.create_task(stage.driver.drive(chat, Interrupts(chat)))
    for _ in range(10 * strike):
        if task.done():
            break
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    chat = stage.now(chat)
    found: list[str] = []
    roles = [m.body.role for m in await stage.history(chat)]
    if roles and roles[-1] is Role.BOUNDARY and chat.compaction_requested:
        found.append("a boundary, and a summary is still to be made")
    if chat.status is Status.RUNNING:
        chat = await stage.with_models(model).drive(await stage.again(chat))
    if chat.status is not Status.IDLE:
        found.append(f"it ended {chat.status}: {chat.error}")
    if sorted(set(work.done)) != [1, 2, 3, 4]:
        found.append(f"steps {work.done}")
    history = await stage.history(chat)
    for one, two in pairwise(history):
        if one.body.role is two.body.role is Role.BOUNDARY:
            found.append("two summaries of the same")
    return found + valid(history)
