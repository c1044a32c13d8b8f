"""The advisor in a turn: its cap, its failures, its neighbours, and the worker after a dead one."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.commands import Interrupt, SendMessage
from holdfast.domain.parts import Synthetic, Text
from holdfast.ports.models import ReasoningDelta
from holdfast.tools.advisor_prompt import GUIDANCE
from holdfast.tools.toolbox import Functions
from tests.requirements import requirement
from tests.support.advising import (
    TERMS,
    Advised,
    advised,
    asks_advisor,
    killed_in_mid_advice,
    kinds_of,
)
from tests.support.builders import user
from tests.support.scripted import End, Failed, Hold, Pause, ScriptedModels, says
from tests.support.stage import Effects, driving, until, valid

NO_ANSWER: Any = [Failed(retryable=False)]


async def _again(here: Advised, chat: Any) -> Any:
    """The next message of the same person."""
    await here.stage.world.do(chat.chat_id, SendMessage(user("more")))
    return await here.stage.drive(await here.stage.again(await here.stage.world.load(chat.chat_id)))


@requirement("L112", "F13")
@pytest.mark.parametrize("offered", [True, False])
async def test_tool_and_text_are_there_together_or_not_at_all(offered: bool) -> None:
    async with advised(says("Hi."), terms=TERMS if offered else None) as here:
        await here.stage.turn()
        (ask,) = here.stage.models.asked
    assert [spec.name for spec in ask.tools] == (["advisor"] if offered else [])
    assert (GUIDANCE in ask.system) is offered
    assert ("advisor" in str(ask)) is offered


@requirement("L113")
async def test_five_calls_in_one_turn_get_two_advices_and_two_more_after_the_next_message() -> None:
    script = [asks_advisor(f"a{n}") for n in range(5)]
    more = [asks_advisor(f"b{n}") for n in range(3)]
    answers = [says(f"Advice {n}.") for n in range(4)]
    async with advised(*script, says("Done."), *more, says("Ok."), answers=answers) as here:
        chat = await here.stage.turn()
        limit = "limit_reached"
        assert kinds_of(await here.results(chat)) == ["advice", "advice", limit, limit, limit]
        chat = await _again(here, chat)
        results = await here.results(chat)
        assert kinds_of(results)[5:] == ["advice", "advice", limit]
        outputs: list[Any] = [result.output for result in results]
        assert [each["remaining_uses"] for each in outputs] == [1, 0, 0, 0, 0, 1, 0, 0]
        assert valid(await here.stage.history(chat)) == []
    assert here.advisor.counters.calls == 4, "a refused call asks no model"
    assert len(here.told) == 4


@requirement("L113")
async def test_the_cap_holds_across_a_takeover_in_mid_advice() -> None:
    """Killed while the advisor speaks: the successor asks again, and there is one cap."""
    hold = Hold()
    script = [asks_advisor(f"a{n}") for n in range(3)]
    answers = [[hold, *says("Never.")], says("First."), says("Second.")]
    async with advised(script[0], answers=answers) as here:
        found = await killed_in_mid_advice(here, hold.until)
        assert found.advised == 1
        here.stage = here.stage.with_models(ScriptedModels(*script[1:], says("Done.")))
        chat = await here.stage.drive(found)
        results = await here.results(chat)
        assert kinds_of(results) == ["advice", "advice", "limit_reached"]
        assert chat.advised == 2
        first: Any = results[0].output
        assert first["advice"] == "First."
        assert here.advisor.counters.calls == 3


async def test_a_failure_after_a_takeover_gives_its_use_back_once() -> None:
    hold = Hold()
    answers = [[hold, *says("Never.")], NO_ANSWER]
    async with advised(asks_advisor("a"), answers=answers) as here:
        found = await killed_in_mid_advice(here, hold.until)
        here.stage = here.stage.with_models(ScriptedModels(says("Done.")))
        chat = await here.stage.drive(found)
        assert kinds_of(await here.results(chat)) == ["error"]
        assert chat.advised == 0


@pytest.mark.parametrize(
    "answer",
    [NO_ANSWER, says(""), [Pause(0.0)], says(" \n")],
    ids=["fails", "empty", "cut", "blank"],
)
async def test_a_call_without_advice_costs_no_use(answer: Any) -> None:
    script = [asks_advisor(f"a{n}") for n in range(4)]
    answers = [answer, says("One."), says("Two.")]
    async with advised(*script, says("Done."), answers=answers) as here:
        chat = await here.stage.turn()
        results = await here.results(chat)
        assert kinds_of(results) == ["error", "advice", "advice", "limit_reached"]
        failed: Any = results[0].output
        assert (results[0].failed, failed["remaining_uses"], failed["model"]) == (True, 2, "oracle")
        assert here.advisor.counters.failures == 1


@requirement("L111")
async def test_beside_another_tool_nothing_runs_and_two_sentences_say_why() -> None:
    effects = Effects()
    script = asks_advisor("a", also="execute"), asks_advisor("b"), says("Done.")
    beside = Functions(effects.tool("execute"))
    async with advised(*script, answers=[says("Do.")], beside=beside) as here:
        chat = await here.stage.turn()
        alone, skipped, advice = await here.results(chat)
    assert effects.done == []
    assert "advisor must be called alone" in str(alone.output)
    assert str(skipped.output).startswith("Skipped, nothing was run: advisor was called")
    assert alone.output != skipped.output
    assert (kinds_of([advice]), chat.advised) == (["advice"], 1)


async def test_two_calls_in_one_reply_ask_no_model_and_cost_no_use() -> None:
    async with advised(asks_advisor("a", "b"), says("Done.")) as here:
        chat = await here.stage.turn()
        assert kinds_of(await here.results(chat)) == ["words", "words"]
    assert (chat.advised, here.advisor.counters.calls) == (0, 0)


async def test_the_nested_call_has_no_tools_and_sees_the_prompt_of_the_agent() -> None:
    script = [ReasoningDelta(9, "hm, risky"), *asks_advisor("a", question="Left or right?")]
    async with advised(script, says("Done."), answers=[says("Left.")]) as here:
        await here.stage.turn(user("Find the way."))
        (ask,) = here.oracle.asked
        asked = here.stage.models.asked[0]
    assert (ask.tools, ask.provider_tools, ask.output_max) == ((), (), 4_000)
    assert (ask.model, ask.effort) == ("oracle", "high")
    assert len(ask.history) == 1
    (said,) = ask.history[0].parts
    assert isinstance(said, Text)
    assert "[user] Find the way." in said.text
    assert "<reply_of_the_agent>\nhm, risky" in said.text
    assert said.text.endswith("<question>\nLeft or right?\n</question>")
    assert GUIDANCE in asked.system
    assert GUIDANCE not in said.text


async def test_advice_is_shown_as_it_comes_and_billed_with_its_result() -> None:
    async with advised(asks_advisor("a"), says("Ok."), answers=[says("Go ", "left.")]) as here:
        chat = await here.stage.turn()
        history = await here.stage.history(chat)
        payloads = b"".join(
            part.payload for log in here.stage.server.log.values() for part in log.values()
        )
    result = next(message.body for message in history if message.body.role == "tool")
    assert (result.model, result.usage, result.cost_micros) == (
        "oracle",
        {"input": 10, "output": 5},
        15,
    )
    assert b'{"type":"tool_output","call_id":"a","text":"Go ' in payloads
    assert (here.advisor.counters.input_tokens, here.advisor.counters.output_tokens) == (10, 5)


async def test_a_failure_before_the_first_word_is_tried_again() -> None:
    answers = [[Failed()], [Failed()], says("At last.")]
    async with advised(asks_advisor("a"), says("Ok."), answers=answers) as here:
        chat = await here.stage.turn()
        assert kinds_of(await here.results(chat)) == ["advice"]


@pytest.mark.parametrize(
    "answers", [[[Failed()]] * 3, [[*says("Half")[:1], Failed()]]], ids=["too often", "shown"]
)
async def test_a_failure_is_not_tried_again_for_ever_nor_behind_words_that_were_shown(
    answers: Any,
) -> None:
    async with advised(asks_advisor("a"), says("Ok."), answers=answers) as here:
        chat = await here.stage.turn()
        (failed,) = await here.results(chat)
        output: Any = failed.output
    assert output["type"] == "error"
    assert "It is overloaded." in output["message"]


async def test_a_slow_advisor_is_left_after_its_time() -> None:
    async with advised(
        asks_advisor("a"), says("Ok."), answers=[[Hold(), End()]], within_s=0.01
    ) as here:
        chat = await here.stage.turn()
        (late,) = await here.results(chat)
        output: Any = late.output
    assert output["message"].startswith("The advisor gave no answer within")
    assert (chat.advised, late.failed) == (0, True)


async def test_an_interrupt_in_mid_advice_keeps_what_was_shown_and_costs_no_use() -> None:
    answers = [[*says("Half an")[:1], Hold()]]
    async with advised(asks_advisor("a"), answers=answers) as here:
        chat = await here.stage.world.running(user())
        async with driving(here.stage, chat) as (task, nudges):
            await until(lambda: b"Half an" in _payloads(here))
            await here.stage.interrupt(chat, nudges, Interrupt())
            ended = await task
        (result,) = await here.results(chat)
    assert (ended.status, ended.advised) == (Status.IDLE, 0)
    assert result.synthetic is Synthetic.INTERRUPTED
    assert str(result.output).endswith("Half an")


def _payloads(here: Advised) -> bytes:
    logs = here.stage.server.log.values()
    return b"".join(part.payload for log in logs for part in log.values())


async def test_without_a_bound_every_call_is_answered() -> None:
    script = [asks_advisor(f"a{n}") for n in range(4)]
    terms = replace(TERMS, uses_max=None)
    answers = [says("Yes.")] * 4
    async with advised(*script, says("Done."), answers=answers, terms=terms) as here:
        chat = await here.stage.turn()
        results = await here.results(chat)
        outputs: list[Any] = [result.output for result in results]
    assert kinds_of(results) == ["advice"] * 4
    assert {each["remaining_uses"] for each in outputs} == {None}


async def test_a_call_without_a_question_asks_no_model() -> None:
    async with advised(asks_advisor("a", question="  "), says("Ok.")) as here:
        chat = await here.stage.turn()
        (result,) = await here.results(chat)
    assert (result.failed, here.advisor.counters.calls, chat.advised) == (True, 0, 0)


async def test_a_plain_turn_pays_no_statement_for_the_advisor() -> None:
    counts: list[dict[str, int]] = []
    for terms in (None, TERMS):
        async with advised(says("Hi."), terms=terms) as here:
            await here.stage.turn()
            counts.append(here.stage.store.calls)
    assert counts[0] == counts[1]
    assert counts[0]["commit"] == 1


@pytest.mark.parametrize("wrong", [{"model": ""}, {"uses_max": -1}, {"output_max": 0}])
def test_terms_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(AssertionError):
        replace(TERMS, **wrong)
