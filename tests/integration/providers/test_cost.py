"""What the simulator billed is what we say it billed, to the micro-dollar, or we say nothing."""

import asyncio
from dataclasses import fields, replace

import aiohttp
import pytest
import pytest_asyncio

from holdfast.adapters.providers.prices import cost_micros
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import open_transport
from holdfast.ports.models import TextDelta, Usage
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.support import provider_cost
from tests.support.model import call_for, user
from tests.support.provider_cost import AT, Bill
from tests.support.simulated import endpoint_at

TURNS = 1_000
UNPRICED = ("reasoning", "billed_micros", "service_tier", "code_runs")
APIECE = ("searches", "fetches")
PRICED = [name.name for name in fields(Usage) if name.name not in UNPRICED]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bill() -> Bill:
    return await provider_cost.run(TURNS)


def test_every_request_costs_what_was_billed_to_the_micro_dollar(bill: Bill) -> None:
    known = [attempt for attempt in bill.attempts if attempt.usage is not None]

    for attempt in known:
        assert attempt.usage is not None
        assert replace(attempt.usage, reasoning=0) == attempt.billed
        ours = cost_micros(attempt.usage, attempt.price_id, AT)
        assert ours == cost_micros(attempt.billed, attempt.price_id, AT)
        assert ours
    print(bill.figures)
    assert bill.figures == (TURNS, len(known), TURNS - len(known), 0)


def test_a_single_token_too_many_would_be_a_mismatch(bill: Bill) -> None:
    right = next(attempt for attempt in bill.attempts if attempt.usage is not None)
    assert right.usage is not None
    wrong = replace(right, usage=replace(right.usage, output=right.usage.output + 1))

    assert Bill(attempts=[right, wrong], billing={}).figures.mismatch_micros > 0


def test_the_sum_is_the_sum_of_the_simulator(bill: Bill) -> None:
    sums = bill.billing["usage"]

    assert bill.billing["streams"] == TURNS
    for name in PRICED:
        theirs = sums[name if name in APIECE else f"{name}_tokens"]
        assert sum(getattr(attempt.billed, name) for attempt in bill.attempts) == theirs
        known = [attempt for attempt in bill.attempts if attempt.usage is not None]
        assert sum(getattr(attempt.usage, name) for attempt in known) == sum(
            getattr(attempt.billed, name) for attempt in known
        )


def test_unknown_are_the_interrupted_streams_of_wires_that_count_at_the_end(bill: Bill) -> None:
    for attempt in bill.attempts:
        told_late = attempt.interrupted and not attempt.counts_along
        assert (attempt.usage is None) == told_late
        assert cost_micros(attempt.usage, attempt.price_id, AT) is not None or told_late
        for name in PRICED:
            assert getattr(attempt.usage_min, name) <= getattr(attempt.billed, name)

    unknown = {attempt.wire for attempt in bill.attempts if attempt.usage is None}
    assert unknown == {"anthropic", "responses", "chat"}


def test_the_turns_were_of_every_kind(bill: Bill) -> None:
    def count(**at_least: int) -> int:
        """How many requests were billed for more than this."""
        return sum(
            all(getattr(attempt.billed, name) > value for name, value in at_least.items())
            for attempt in bill.attempts
        )

    interrupted = [attempt for attempt in bill.attempts if attempt.interrupted]
    assert len(interrupted) >= 100
    assert {attempt.wire for attempt in interrupted} == set(provider_cost.MODELS)
    assert {attempt.model for attempt in bill.attempts if attempt.billed.input > 200_000} == set(
        provider_cost.LONG_TOKENS
    )
    assert count(input=200_000) >= 8
    assert count(input=200_000, cache_read=100_000) >= 2
    assert count(cache_read=0) >= 300
    assert count(cache_write_5m=0) >= 30
    assert count(cache_write_1h=0) >= 30
    assert count(searches=0) >= 50


@pytest.mark.parametrize("after", [1, 5])
async def test_what_is_said_while_we_hang_up_is_billed_and_not_known(after: int) -> None:
    """Gemini counts with every event; what was already on its way when we left is not in it."""
    async with (
        simulator_process() as url,
        open_transport(lambda: AT) as transport,
        aiohttp.ClientSession(url) as record,
    ):
        call = call_for("gemini", [user("Go on. [[sim: words=400]]")])
        seen = 0
        async with (
            asyncio.timeout(30),
            ProviderStream(transport, endpoint_at(url, "gemini"), call) as s,
        ):
            async for event in s:
                seen += isinstance(event, TextDelta)
                if seen == after:
                    break
        async with asyncio.timeout(30), record.get("/sim/requests/1?wait=10") as answer:
            billed = (await answer.json())["usage"]
    assert s.usage is not None
    assert s.usage.input == billed["input_tokens"]
    assert after <= s.usage.output <= billed["output_tokens"]
