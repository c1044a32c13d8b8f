"""The page's performance budget, as far as a busy machine leaves it alone: counts and ratios.

Times are for `just bench-ui`, which writes benchmarks/ui.md.
"""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.support import budget
from tests.support.budget import Stage
from tests.support.built import chat_route_kb, shell_kb
from tests.support.seeded import last_row

OLDER_PAGES = 4
FIRST_PAGE = 200
"""Messages that a chat is opened with."""
A_FEW = 10
"""What a turn's beginning, its status and the list bring with them, in however many frames."""

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(13)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(template: str, browser: Browser) -> AsyncGenerator[Stage]:
    async with budget.a_stage(template, browser) as stage:
        yield stage


@pytest.mark.essential
async def test_the_shell_and_the_chat_are_no_larger_than_agreed() -> None:
    assert shell_kb() <= 200
    assert chat_route_kb() <= 190


@pytest.mark.parametrize("messages", [10, pytest.param(1_000, marks=pytest.mark.essential), 10_000])
async def test_a_long_chat_has_no_more_elements_than_its_screen(
    stage: Stage, messages: int
) -> None:
    chat = await stage.seeding.history(messages, f"counted{messages}")
    await stage.again()
    await stage.probe.open(chat, last_row(messages))
    assert await stage.probe.elements() <= 1_000, "whatever the length"
    rows = await budget.rows_known(stage)
    for _ in range(OLDER_PAGES):
        await budget.load_older(stage)
    if messages > FIRST_PAGE:
        assert await budget.rows_known(stage) > rows, "older pages came"
    assert await stage.probe.elements() <= 3_000
    assert await stage.probe.heap_mb() <= 60
    stage.tab.content()


async def test_home_comes_to_the_first_message_page_by_page(stage: Stage) -> None:
    """Also where the top of what was loaded is in sight: nothing scrolls there any more."""
    chat = await stage.seeding.history(1_000, "home1000")
    await stage.again()
    await stage.probe.open(chat, last_row(1_000))
    await budget.all_loaded(stage)
    assert await stage.tab.page.locator("[data-key='m1']").count() == 1
    stage.tab.content()


async def test_switching_shows_no_other_chat_and_keeps_no_memory(stage: Stage) -> None:
    chats = {
        await stage.seeding.history(1_000, marker): f"{marker}:" for marker in ("alpha", "beta")
    }
    await stage.again()
    switched = await budget.switch(stage, chats, 1_000, times=50)
    assert switched.wrong == []
    assert switched.growth_mb <= 10
    stage.tab.content()


async def test_a_list_of_5000_chats_has_few_rows(stage: Stage) -> None:
    await stage.seeding.listing(5_000)
    await stage.again()
    assert await budget.sidebar_rows(stage, steps=10) <= 100
    stage.tab.content()


async def test_an_answer_draws_its_own_row_once_per_frame_and_keys_draw_no_row(
    stage: Stage,
) -> None:
    answer, keys = await budget.drawn_by_keys(stage, rate=1_000, presses=20)
    own, meter = answer.drawn_in("row m2.0"), answer.drawn_in("row foot")
    assert own > 3 * A_FEW, "fewer frames on a busy machine, but many"
    assert answer.drawn_in("row ") - own - meter <= A_FEW, answer.drawn
    assert answer.drawn_in("transcript") <= A_FEW, answer.drawn
    assert keys.drawn_in("composer") >= 20
    assert keys.drawn_in("row ", "transcript") == 0, keys.drawn
    stage.tab.content()


async def test_a_chunk_costs_the_same_when_much_was_said_before(stage: Stage) -> None:
    streamed = await budget.stream(stage, rate=1_000, key_every_s=None)
    assert streamed.growth_by_size <= 2, streamed.cost
    # A twentieth of the frames is the budget; short answers have too few to divide by.
    frames = len(streamed.seen.commits)
    assert streamed.crowded <= max(A_FEW, frames // 20), streamed.seen.commits
    stage.tab.content()


async def test_nothing_moves_in_a_whole_turn(stage: Stage) -> None:
    seen = await budget.whole_turn(stage)
    assert seen.layout_shift < 0.005, seen.shifts
    stage.tab.content()


@pytest.mark.essential
async def test_a_message_is_one_request_and_the_list_is_not_asked_for_again(stage: Stage) -> None:
    asked = await budget.requests_of_a_message(stage)
    assert asked.count("POST chats/messages") == 1, asked
    # What was on the screen for a second is told to have been read; nothing else is asked for.
    assert set(asked) <= {"POST chats/messages", "PUT chats/read-marker"}, asked
    stage.tab.content()
