"""Each protection of lanes, taken away, fails the test that is there for it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.adapters.postgres import group_commit as module
from holdfast.adapters.postgres.group_commit import WEIGHT_MAX
from holdfast.domain.errors import Unavailable
from tests.support.virtual import virtual_runner as virtual_runner
from tests.unit.postgres import test_group_commit as suite
from tests.unit.postgres.test_group_commit import Database, RefusedError, lanes_to

PATIENCE_S = 2.0


def _always(answer: object) -> Callable[[object], object]:
    return lambda _question: answer


def _itself(number: object) -> object:
    return number


def _fail_none(waiting: list[Any], _error: Exception) -> None:
    waiting.clear()


def _manners(lanes: Any, **changed: Any) -> None:
    lanes._manners = replace(lanes._manners, **changed)


def _subjects_ignored(lanes: Any, _patch: pytest.MonkeyPatch) -> None:
    _manners(lanes, subject=_itself)


def _kinds_ignored(lanes: Any, _patch: pytest.MonkeyPatch) -> None:
    _manners(lanes, kind=_always(0))


def _one_refusal_fails_the_batch(lanes: Any, _patch: pytest.MonkeyPatch) -> None:
    _manners(lanes, undone=_always(answer=False))


def _doubt_is_a_no(lanes: Any, _patch: pytest.MonkeyPatch) -> None:
    _manners(lanes, undone=_always(answer=True))


def _any_number_together(_lanes: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "TOGETHER_MAX", 10_000)


def _any_weight_together(_lanes: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "WEIGHT_MAX", 100 * WEIGHT_MAX)


def _no_bound_on_the_lanes(_lanes: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "LANES", 10_000)


def _stuck_lanes_count(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "_open", lambda: None)


def _stuck_lanes_count_again(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    """One more goes, but those that are stuck are still counted: a wait for each."""

    def opened() -> None:
        lanes._opener = None
        lanes._start()
        lanes._opener = asyncio.get_running_loop().call_later(module.STUCK_S, lanes._open)

    patch.setattr(lanes, "_open", opened)


def _connection_kept_while_others_go(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    tell = lanes._tell

    async def all_of_it(way: Any, batch: Any) -> None:
        try:
            await tell(way, batch)
        except RefusedError:
            for each in batch:
                await lanes._alone(each)

    patch.setattr(lanes, "_tell", all_of_it)


def _connection_not_told(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    tell = lanes._tell

    async def quietly(way: Any, batch: Any) -> None:
        try:
            await tell(way, batch)
        except Unavailable as error:
            for each in batch:
                each.answer.set_exception(error)

    patch.setattr(lanes, "_tell", quietly)


def _a_cancelled_commit_is_sent_again(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    async def alone(each: Any) -> None:
        try:
            answer = await lanes._one(None, each.question)
        except Exception as error:  # noqa: BLE001 - as it was
            each.answer.set_exception(error)
        else:
            if not each.answer.done():
                each.answer.set_result(answer)

    patch.setattr(lanes, "_alone", alone)


def _a_cancelled_commit_is_still_sent(lanes: Any, patch: pytest.MonkeyPatch) -> None:
    def all_waiting() -> list[Any]:
        return [*lanes._waiting.pop(next(iter(lanes._waiting), None), ())]

    patch.setattr(lanes, "_next", all_waiting)


def _waiting_commits_are_not_failed(_lanes: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "_fail", _fail_none)


MUTANTS: dict[str, tuple[Callable[[Any, pytest.MonkeyPatch], None], Callable[..., Any]]] = {
    "subjects ignored": (
        _subjects_ignored,
        suite.test_kinds_and_the_same_subject_stay_apart_and_in_order,
    ),
    "kinds ignored": (
        _kinds_ignored,
        suite.test_kinds_and_the_same_subject_stay_apart_and_in_order,
    ),
    "one refusal fails the whole batch": (
        _one_refusal_fails_the_batch,
        suite.test_a_no_to_one_of_them_is_nobody_elses,
    ),
    "doubt is a no": (
        _doubt_is_a_no,
        suite.test_where_nobody_knows_everybody_hears_so_and_nothing_is_tried_again,
    ),
    "any number together": (
        _any_number_together,
        suite.test_no_more_go_together_than_the_first_can_wait_for,
    ),
    "connection not told": (
        _connection_not_told,
        suite.test_a_connection_sees_the_error_of_what_went_together,
    ),
    "any weight together": (_any_weight_together, suite.test_what_is_heavy_goes_alone),
    "no bound on the lanes": (
        _no_bound_on_the_lanes,
        suite.test_who_waits_for_a_lane_goes_together_and_each_gets_its_own,
    ),
    "stuck lanes count": (
        _stuck_lanes_count,
        suite.test_lanes_that_nobody_gives_back_do_not_slow_the_others,
    ),
    "stuck lanes count again": (
        _stuck_lanes_count_again,
        suite.test_lanes_that_nobody_gives_back_do_not_slow_the_others,
    ),
    "a connection kept while others go": (
        _connection_kept_while_others_go,
        suite.test_a_no_is_heard_also_where_there_are_few_connections,
    ),
    "a cancelled commit is sent again": (
        _a_cancelled_commit_is_sent_again,
        suite.test_whoever_left_is_not_tried_again_alone,
    ),
    "a cancelled commit is still sent": (
        _a_cancelled_commit_is_still_sent,
        suite.test_whoever_leaves_takes_nobody_along,
    ),
    "a timed-out commit is still sent": (
        _a_cancelled_commit_is_still_sent,
        suite.test_whoever_waits_too_long_is_told_and_nothing_is_done,
    ),
    "no connection, and the waiting commits are not failed": (
        _waiting_commits_are_not_failed,
        suite.test_where_there_is_no_way_whoever_waits_is_told,
    ),
}


CAUGHT = (AssertionError, TimeoutError, RefusedError, pytest.fail.Exception)


@pytest.mark.parametrize("name", MUTANTS)
async def test_a_mutant_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, test = MUTANTS[name]
    database = Database()
    lanes = lanes_to(database)
    more = {"monkeypatch": monkeypatch} if "monkeypatch" in test.__annotations__ else {}
    mutate(lanes, monkeypatch)
    with pytest.raises(CAUGHT):
        async with asyncio.timeout(PATIENCE_S):
            await test(database, lanes, **more)
