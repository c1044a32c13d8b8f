"""A second model when the first is down: which model an attempt asks, and how readers know."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.chat import ATTEMPTS_MAX, Chat, ErrorKind, Status
from holdfast.domain.commands import RecordRetry, Retry, SendMessage
from holdfast.domain.events import state_json
from holdfast.ports.models import Route, TextDelta
from holdfast.turn import fallback, model_steps
from holdfast.turn.breaker import OPEN_S, CircuitBreakers
from holdfast.turn.fallback import FAILURES_MAX, HINT_S_MAX, PASSES_ON
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.retry import RetryPolicy
from holdfast.turn.summary import PIECES_MAX
from holdfast.turn.turn import Turn
from tests.requirements import requirement
from tests.support.builders import backoff, user
from tests.support.scripted import Failed, Hold, Script, says
from tests.support.stage import QUICK, Stage, driving, staged, until

FIRST, SECOND, THIRD = "first", "second", "third"
ASKING = user("hello", model=FIRST)
OUTAGES = sorted(PASSES_ON)
OTHERS = [
    *(ErrorKind.AUTH, ErrorKind.CONFIG, ErrorKind.CONTENT_FILTER, ErrorKind.CONTEXT_OVERFLOW),
    ErrorKind.USAGE_LIMIT,
]
PATIENT = replace(QUICK, retry=RetryPolicy(first_delay_s=0.001, delay_s_max=0.002))


@asynccontextmanager
async def models_in_a_row(
    *scripts: Script, names: tuple[str, ...] = (SECOND,), on_usage_limit: bool = False
) -> AsyncGenerator[Stage]:
    async with staged(*scripts, options=PATIENT) as stage:
        stage.models.routes = {name: Route(host=name) for name in names}
        stage.models.routes[FIRST] = Route(
            host=FIRST, fallback=names, fallback_on_usage_limit=on_usage_limit
        )
        yield stage


def asked(stage: Stage) -> list[Any]:
    return [each.model for each in stage.models.asked]


async def stored_models(stage: Stage, chat: Chat) -> list[str | None]:
    return [message.body.model for message in await stage.history(chat)][1:]


def down(times: int, kind: ErrorKind = ErrorKind.OVERLOADED, **more: Any) -> list[Script]:
    return [[Failed(kind, **more)] for _ in range(times)]


@requirement("F09")
@pytest.mark.parametrize("kind", OUTAGES)
async def test_fallback_answers_after_three_failures_and_is_named(kind: ErrorKind) -> None:
    async with models_in_a_row(*down(FAILURES_MAX, kind), says("Here.")) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST] * FAILURES_MAX + [SECOND]
        assert await stored_models(stage, chat) == [SECOND]
        assert chat.model == FIRST, "the chat keeps its own"
        assert stage.counters.fallback_replies == 1


async def test_next_turn_begins_with_the_first_model_again() -> None:
    async with models_in_a_row(*down(FAILURES_MAX), says("Here."), says("Again.")) as stage:
        chat = await stage.world.running(ASKING)
        await stage.world.do(chat.chat_id, SendMessage(user("more", model=FIRST)))
        chat = await stage.drive(chat)

        assert asked(stage)[-2:] == [SECOND, FIRST]
        assert await stored_models(stage, chat) == [SECOND, FIRST, FIRST]


@requirement("F09")
@pytest.mark.parametrize("hint_s", [HINT_S_MAX + 1, 24 * 3600.0])
async def test_long_hint_leads_to_the_fallback_at_once_and_is_not_waited_for(
    hint_s: float,
) -> None:
    script = down(1, ErrorKind.RATE_LIMIT, retry_after_s=hint_s)
    async with models_in_a_row(*script, says("Here.")) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST, SECOND]
        assert chat.status is Status.IDLE


async def test_failure_that_must_not_be_repeated_leads_to_the_fallback_at_once() -> None:
    async with models_in_a_row(*down(1, retryable=False), says("Here.")) as stage:
        await stage.turn(ASKING)

        assert asked(stage) == [FIRST, SECOND]


@requirement("F09")
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("hint_s", [None, HINT_S_MAX + 1])
async def test_other_kinds_do_not_fall_back(kind: ErrorKind, hint_s: float | None) -> None:
    calls = 1 + PIECES_MAX if kind is ErrorKind.CONTEXT_OVERFLOW else 1  # a summary is tried
    async with models_in_a_row(*down(calls, kind, retryable=False, retry_after_s=hint_s)) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST] * calls
        assert chat.error is not None
        assert chat.error.kind is kind


async def test_unknown_failures_are_repeated_with_the_same_model() -> None:
    async with models_in_a_row(*down(ATTEMPTS_MAX, ErrorKind.UNKNOWN)) as stage:
        await stage.turn(ASKING)

        assert asked(stage) == [FIRST] * ATTEMPTS_MAX


async def test_usage_limit_falls_back_if_the_settings_say_so() -> None:
    script = down(1, ErrorKind.USAGE_LIMIT, retryable=False)
    async with models_in_a_row(*script, says("Here."), on_usage_limit=True) as stage:
        chat = await stage.turn(ASKING)

        assert await stored_models(stage, chat) == [SECOND]


async def test_own_deadline_does_not_fall_back() -> None:
    script = down(1, ErrorKind.TIMEOUT, own_deadline=True)
    async with models_in_a_row(*script) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST]
        assert chat.status is Status.FAILED


@requirement("F09")
async def test_all_models_share_one_budget_of_attempts() -> None:
    async with models_in_a_row(*down(ATTEMPTS_MAX), names=(SECOND, THIRD)) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST] * 3 + [SECOND] * 3 + [THIRD] * 4
        assert chat.status is Status.FAILED
        assert chat.attempt == ATTEMPTS_MAX


async def test_retry_tells_readers_which_model_comes_next() -> None:
    scripts = [*down(FAILURES_MAX), [TextDelta(0, "Here"), Hold()]]
    async with models_in_a_row(*scripts) as stage:
        chat = await stage.world.running(ASKING)
        told: list[Any] = []

        async def note() -> None:
            if (retry := state_json(stage.now(chat))["retry"]) is not None:
                told.append(retry)

        for number in range(1, 8):
            stage.before_commit(number, note)
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: stage.shown(chat, FAILURES_MAX + 1) == "Here")
            await stage.interrupt(chat, nudges)
        assert [(retry["attempt"], retry["model"]) for retry in told] == [
            *((1, None), (2, None), (3, SECOND)),
        ]
        assert (await stored_models(stage, chat))[-1] == SECOND, "also of a reply that was stopped"


# The breaker.


def test_the_rate_limit_of_a_users_own_key_is_no_outage() -> None:
    limited, overloaded = Failed(ErrorKind.RATE_LIMIT), Failed(ErrorKind.OVERLOADED)
    assert fallback.is_outage(limited)
    limited.own_key = overloaded.own_key = True
    assert not fallback.is_outage(limited)
    assert fallback.is_outage(overloaded)


@requirement("F09")
async def test_open_breaker_leads_straight_to_the_fallback_and_a_probe_closes_it() -> None:
    now_s = 0.0
    scripts = [*down(3), says("one"), *down(2), says("two"), says("three"), says("four")]
    async with models_in_a_row(*scripts, says("five")) as stage:
        services = stage.driver._services  # pyright: ignore[reportPrivateUsage]
        breakers = CircuitBreakers(lambda: now_s, stage.counters)
        stage.driver._services = replace(services, breakers=breakers)  # pyright: ignore[reportPrivateUsage]
        await stage.turn(ASKING)
        await stage.turn(ASKING)
        assert asked(stage)[4:] == [FIRST, FIRST, SECOND], "its fifth failure opens it"
        await stage.turn(ASKING)
        assert asked(stage)[7:] == [SECOND]
        now_s = OPEN_S
        await stage.turn(ASKING)
        await stage.turn(ASKING)
        assert asked(stage)[8:] == [FIRST, FIRST]
        assert stage.counters.breaker_changes == {"open": 1, "closed": 1}
        assert stage.counters.fallback_replies == 3


async def test_step_without_a_fallback_does_not_heed_the_breaker() -> None:
    async with models_in_a_row(*down(ATTEMPTS_MAX), names=()) as stage:
        chat = await stage.turn(ASKING)

        assert asked(stage) == [FIRST] * ATTEMPTS_MAX
        assert chat.status is Status.FAILED


# People and workers.


async def test_retry_with_another_model_during_a_backoff_asks_that_model() -> None:
    hint_s = HINT_S_MAX
    async with models_in_a_row(*down(1, retry_after_s=hint_s), says("Here.")) as stage:
        chat = await stage.world.running(ASKING)
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: stage.now(chat).backoff is not None)
            await stage.interrupt(chat, nudges, Retry(model=THIRD))
        assert asked(stage) == [FIRST, THIRD]


@requirement("F09")
@pytest.mark.parametrize("crashes", range(1, ATTEMPTS_MAX + 1))
async def test_successor_goes_on_by_the_number_of_the_attempt(crashes: int) -> None:
    """Each worker dies in the middle of its attempt: only the database has counted them."""
    expected = [FIRST] * 3 + [SECOND] * 7
    async with models_in_a_row(*([[Hold()]] * crashes)) as stage:
        chat = await stage.world.running(ASKING)
        for number in range(1, crashes + 1):
            task = asyncio.create_task(stage.driver.drive(chat, Interrupts(chat)))
            await until(lambda number=number: len(stage.models.asked) == number)
            task.cancel()
            await asyncio.wait({task})
            if number < crashes:
                chat = await stage.again(stage.now(chat))
        assert asked(stage) == expected[:crashes]


async def test_successor_that_finds_a_recorded_retry_asks_the_model_that_it_names() -> None:
    async with models_in_a_row(says("Here.")) as stage:
        chat = await stage.world.running(ASKING)
        recorded = RecordRetry(replace(backoff(), model=SECOND))
        chat = (await stage.world.drive(chat, recorded)).chat
        chat = await stage.drive(await stage.again(chat))

        assert asked(stage) == [SECOND]
        assert await stored_models(stage, chat) == [SECOND]


async def test_successor_that_finds_a_model_no_longer_configured_goes_by_the_number() -> None:
    async with models_in_a_row(says("Here.")) as stage:
        chat = await stage.world.running(ASKING)
        recorded = RecordRetry(replace(backoff(), model="gone"))
        chat = (await stage.world.drive(chat, recorded)).chat
        await stage.drive(await stage.again(chat))

        assert asked(stage) == [FIRST]


async def test_fallback_costs_no_statement_of_its_own() -> None:
    async with models_in_a_row(*down(FAILURES_MAX), says("Here.")) as stage:
        await stage.turn(ASKING)
        with_fallback = dict(stage.store.calls)
    async with models_in_a_row(*down(FAILURES_MAX), says("Here."), names=()) as stage:
        await stage.turn(ASKING)
        assert stage.store.calls == with_fallback


# Mutants.


async def test_the_mutant_that_falls_back_for_every_kind_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fallback, "PASSES_ON", frozenset(ErrorKind))
    with pytest.raises(AssertionError):
        await test_other_kinds_do_not_fall_back(ErrorKind.CONFIG, None)


async def test_the_mutant_whose_fallback_has_a_budget_of_its_own_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    intact = Turn.attempts_made

    def anew(turn: Turn) -> int:
        made = intact.fget(turn) if intact.fget is not None else 0
        return (made - 1) % FAILURES_MAX + 1 if turn.falls_back else made

    monkeypatch.setattr(Turn, "attempts_made", property(anew))
    with pytest.raises(AssertionError):
        await test_all_models_share_one_budget_of_attempts()


async def test_the_mutant_that_forgets_what_was_recorded_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_steps, "_planned", lambda *_: 0)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(AssertionError):
        await test_successor_that_finds_a_recorded_retry_asks_the_model_that_it_names()
