"""After a worker died in mid-reply, the next one goes on from the words that readers have seen."""

import asyncio
import random
from typing import Any

import pytest

from holdfast.chats.hints import decode_inline
from holdfast.domain.chat import ATTEMPTS_MAX, Chat, Status
from holdfast.domain.commands import EditMessage, Interrupt, Retry, SendMessage
from holdfast.domain.events import EventType
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.messages import Ending, Role
from holdfast.ports.bus import Gap, Hint, LivePart
from holdfast.ports.models import ArgumentsDelta, CallStarted, Event, ReasoningDelta, TextDelta
from holdfast.turn.prompt import GO_ON
from holdfast.turn.takeover import CUTS_MAX
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import Failed, Hold, Item, ScriptedModels, says
from tests.support.stage import QUICK, Stage, driving, staged, until, valid

WORDS = tuple(f"w{number} " for number in range(1, 21))


def text_of(script: list[Event]) -> str:
    return "".join(d.text for d in script if isinstance(d, TextDelta | ReasoningDelta))


async def dies_after(stage: Stage, script: list[Event], chat: Chat | None = None) -> Chat:
    """Drive a chat until all of this is on the bus, and die; the chat as a successor acquires
    it."""
    chat = chat or await stage.world.running(user())
    process = stage.with_models(ScriptedModels([*script, Hold()]))
    async with driving(process, chat) as (task, _):
        await until(lambda: process.counters.attempts == 1)
        begun = stage.now(chat)
        await until(lambda: stage.shown(begun) == text_of(script))
        await stage.bus_is_quiet()
        task.cancel()
    return await stage.again(await stage.world.load(chat.chat_id))


def reads_of(stage: Stage) -> list[int]:
    """The attempts whose live parts are asked for from here on."""
    asked: list[int] = []
    read_live = stage.bus.read_live

    async def counted(chat_id: Any, episode: Any, after_seq: int = 0) -> Any:
        asked.append(episode.attempt)
        return await read_live(chat_id, episode, after_seq)

    bus: Any = stage.bus
    bus.read_live = counted
    return asked


@requirement("L153", "M4")
@pytest.mark.parametrize("seed", range(12))
async def test_a_reply_goes_on_from_the_words_that_were_shown(seed: int) -> None:
    """Killed after token N for random N, once or twice: what was shown is a prefix of what is
    stored, and nothing is said twice."""
    chance = random.Random(seed)
    deaths = sorted(chance.sample(range(1, len(WORDS)), chance.randint(1, CUTS_MAX)))
    async with staged() as stage:
        chat, begin = None, 0
        for end in deaths:
            chat = await dies_after(stage, [TextDelta(0, w) for w in WORDS[begin:end]], chat)
            begin = end
        assert chat is not None
        models = ScriptedModels(says(*WORDS[begin:]))
        successor = stage.with_models(models)
        ended = await successor.drive(chat)

        history = await stage.history(ended)
        replies = [m.body for m in history if m.body.role is Role.ASSISTANT]
        assert [body.ending for body in replies] == [Ending.CUT] * len(deaths) + [Ending.COMPLETE]
        told = ["".join(getattr(part, "text", "") for part in body.parts) for body in replies]
        assert told[0] == "".join(WORDS[: deaths[0]])
        assert "".join(told) == "".join(WORDS)
        assert getattr(models.asked[0].history[-1].parts[0], "text", "") == GO_ON
        assert valid(history) == []
        assert ended.status is Status.IDLE
        assert successor.counters.continued == 1


@requirement("L153")
async def test_readers_are_told_the_message_and_no_reset() -> None:
    async with staged() as stage:
        chat = await stage.world.running(user())
        async with stage.server.open() as replica, replica.subscribe(chat.chat_id) as news:
            found = await dies_after(stage, [TextDelta(0, "so far ")], chat)
            await stage.with_models(ScriptedModels(says("and on"))).drive(found)
            told: list[str] = []
            async with asyncio.timeout(5):
                while not told or not told[-1].startswith("idle"):
                    told.append(_told(await anext(news)))
        assert told == [
            *(
                "part 1",
                "running message.created chat.state",
                "part 1",
                "idle message.created chat.state",
            ),
        ]


def _told(news: Hint | LivePart | Gap) -> str:
    assert not isinstance(news, Gap)
    if isinstance(news, LivePart):
        return f"part {news.episode.attempt}"
    inline = decode_inline(news.inline)
    assert inline is not None
    assert EventType.PREVIEW_RESET not in {event.kind for event in inline.events}
    return " ".join([news.status, *(event.kind for event in inline.events)])


@requirement("L146", "L153")
async def test_words_of_a_lost_attempt_are_not_kept_by_an_attempt_with_the_same_numbers() -> None:
    """A failover lost commits, and the bus still has what was said in them."""
    async with staged(says("hi")) as stage:
        chat = await stage.turn(user("hello"))
        lose_commits = await stage.world.keep(chat.chat_id)
        await stage.world.do(chat.chat_id, SendMessage(user("pay 100 to ALICE")))
        lost = await dies_after(stage, [TextDelta(0, "ALICE gets ")], await stage.again(chat))
        await lose_commits()
        await stage.world.do(chat.chat_id, SendMessage(user("pay 5 to BOB")))
        await stage.again(chat)  # and its worker dies before the model says a word
        found = await stage.again(await stage.world.load(chat.chat_id))
        assert (found.history_version, found.attempt) == (lost.history_version, lost.attempt)

        ended = await stage.with_models(ScriptedModels(says("BOB gets 5"))).drive(found)
        assert (await stage.said(ended))[2:] == ["user: pay 5 to BOB", "assistant: BOB gets 5"]


@requirement("L153", "L09")
@pytest.mark.parametrize(
    "script",
    [
        [ReasoningDelta(0, "Hm, ")],
        [ReasoningDelta(0, "Hm, "), CallStarted(1, CallId("c"), "a"), ArgumentsDelta(1, '{"n": ')],
        [ReasoningDelta(0, "Hm, "), TextDelta(1, " \n")],
    ],
    ids=["reasoning alone", "half of a call", "blanks"],
)
async def test_what_cannot_be_gone_on_from_is_not_kept(script: list[Event]) -> None:
    async with staged() as stage:
        found = await dies_after(stage, script)
        models = ScriptedModels(says("anew"))
        ended = await stage.with_models(models).drive(found)

        assert await stage.said(ended) == ["user: hello", "assistant: anew"]
        assert len(models.asked[0].history) == 1  # and no word of a message that broke off


@requirement("L153", "L09")
async def test_calls_of_the_dead_attempt_are_left_to_the_next_one() -> None:
    script: list[Event] = [
        ReasoningDelta(0, "Hm, "),
        TextDelta(1, "let me see"),
        CallStarted(2, CallId("c"), "a"),
        ArgumentsDelta(2, '{"n": 1}'),
    ]
    async with staged() as stage:
        found = await dies_after(stage, script)
        ended = await stage.with_models(ScriptedModels(says(" again"))).drive(found)

        assert await stage.said(ended) == [
            *("user: hello", "assistant (cut): <Hm, > + let me see", "assistant:  again"),
        ]


@requirement("L153")
async def test_an_episode_without_its_beginning_is_made_anew() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "one "), TextDelta(0, "two ")])
        (episode,) = (key for key in stage.server.log if key[0] == found.chat_id)
        assert stage.server.log[episode].pop(1) is not None
        ended = await stage.with_models(ScriptedModels(says("anew"))).drive(found)

        assert await stage.said(ended) == ["user: hello", "assistant: anew"]


@requirement("L153")
async def test_words_behind_a_hole_are_not_kept_for_no_reader_was_shown_them() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, word) for word in WORDS])
        (key,) = (key for key in stage.server.log if key[0] == found.chat_id)
        parts = stage.server.log[key]
        assert len(parts) > 1
        del parts[2]
        ended = await stage.with_models(ScriptedModels(says("and on"))).drive(found)

        assert await stage.said(ended) == [
            *("user: hello", f"assistant (cut): {WORDS[0]}", "assistant: and on"),
        ]


@requirement("L153")
async def test_words_of_a_frozen_worker_that_come_before_the_hint_of_acquiring_are_kept() -> None:
    """Readers are shown them until the hint has reached the feeds."""
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, word) for word in WORDS])
        (key,) = (key for key in stage.server.log if key[0] == found.chat_id)
        late = stage.server.log[key].pop(2)
        successor = stage.with_models(ScriptedModels(says("and on")))
        async with driving(successor, found) as (task, _):
            await asyncio.sleep(QUICK.pause_s / 2)
            stage.server.log[key][2] = late
            ended = await task

        kept = f"assistant (cut): {''.join(WORDS)}"
        assert await stage.said(ended) == ["user: hello", kept, "assistant: and on"]


@requirement("L153")
async def test_a_bus_that_stays_away_leads_to_a_reply_made_anew() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "gone ")])
        await stage.server.stop()
        successor = stage.with_models(ScriptedModels(says("anew")))
        ended = await successor.drive(found)

        assert await stage.said(ended) == ["user: hello", "assistant: anew"]
        assert successor.counters.partials_missed == 1


async def test_a_chat_that_no_worker_died_of_costs_no_read_of_the_bus() -> None:
    async with staged([Failed()], says("hi")) as stage:
        asked = reads_of(stage)
        chat = await stage.turn()
        assert chat.status is Status.IDLE
        assert asked == []


async def test_an_attempt_that_a_person_repeats_is_not_gone_on_from() -> None:
    async with staged([Failed(retryable=False)], says("hi")) as stage:
        chat = await stage.turn()
        assert chat.status is Status.FAILED
        await stage.world.do(chat.chat_id, Retry())
        asked = reads_of(stage)
        ended = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        assert await stage.said(ended) == ["user: hello", "assistant: hi"]
        assert asked == []


@requirement("L153")
async def test_a_worker_that_dies_before_it_kept_the_words_leaves_them_to_the_next() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "so far ")])
        found = await stage.again(found)  # nothing was driven in between
        asked = reads_of(stage)
        ended = await stage.with_models(ScriptedModels(says("and on"))).drive(found)

        assert await stage.said(ended) == [
            *("user: hello", "assistant (cut): so far ", "assistant: and on"),
        ]
        assert asked == [2, 1]


@requirement("L153", "L06")
async def test_an_edit_while_the_bus_is_read_keeps_nothing_of_the_dead_attempt() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "void ")])
        successor = stage.with_models(ScriptedModels(says("new")))
        edit = EditMessage(Seq(1), user("other"))

        async def edited() -> None:
            await stage.world.do(found.chat_id, edit)

        successor.before_commit(1, edited)
        ended = await successor.drive(found)
        assert await stage.said(ended) == ["user: other", "assistant: new"]


@requirement("L153", "M4")
async def test_an_interrupt_right_after_the_takeover_keeps_the_words() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "so far ")])
        successor = stage.with_models(ScriptedModels())
        async with driving(successor, found) as (task, nudges):
            await successor.interrupt(found, nudges)
        assert await stage.said(task.result()) == [
            *("user: hello", "assistant (interrupted): so far "),
        ]


@requirement("L153", "M4")
async def test_an_interrupt_while_the_words_are_kept_ends_the_turn() -> None:
    async with staged() as stage:
        found = await dies_after(stage, [TextDelta(0, "so far ")])
        successor = stage.with_models(ScriptedModels())

        async def interrupted() -> None:
            await stage.world.do(found.chat_id, Interrupt())

        successor.before_commit(1, interrupted)
        ended = await successor.drive(found)
        assert ended.status is Status.IDLE
        assert await stage.said(ended) == ["user: hello", "assistant (cut): so far "]


# The bound.


async def deaths_until_failed(deaths_max: int) -> int:
    """How many workers a chat kills, each after one word, before it fails."""
    async with staged() as stage:
        chat = await stage.world.running(user())
        for deaths in range(deaths_max):
            word: list[Item] = [TextDelta(0, f"w{deaths} "), Hold()]
            process = stage.with_models(ScriptedModels(word))
            async with driving(process, chat) as (task, _):
                await until(lambda task=task, p=process: task.done() or p.counters.attempts == 1)
                if task.done():
                    assert task.result().status is Status.FAILED
                    return deaths
                await stage.bus_is_quiet()
                task.cancel()
            chat = await stage.again(await stage.world.load(chat.chat_id))
        return deaths_max


@requirement("L153", "P3")
async def test_a_chat_that_kills_every_worker_fails_after_the_bound() -> None:
    assert await deaths_until_failed(100) == CUTS_MAX + ATTEMPTS_MAX


async def test_the_mutant_without_a_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.turn.steps.generate.CUTS_MAX", 1_000_000)
    assert await deaths_until_failed(30) == 30
    with pytest.raises(AssertionError, match="100 == "):
        await test_a_chat_that_kills_every_worker_fails_after_the_bound()
