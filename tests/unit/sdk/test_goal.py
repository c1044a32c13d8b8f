"""When a stream that is followed until something has come to its end."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast_client.events import event_of
from holdfast_client.goal import Goal
from holdfast_client.models import ChatInfo

AT = datetime(2026, 1, 1, tzinfo=UTC)


def info(status: str, version: int) -> ChatInfo:
    return ChatInfo(
        chat_id="c",
        owner_id="o",
        status=status,
        version=version,
        last_seq=1,
        read_seq=0,
        unread=True,
        queue_length=0,
        touched_at=AT,
        created_at=AT,
    )


def told(kind: str, cursor: str | None, /, **data: Any) -> Any:
    return event_of({"event": kind, "id": cursor, "data": data})


def test_a_replica_that_is_behind_does_not_end_it() -> None:
    goal = Goal("settled", info("running", 6), None)
    goal.see(told("status", "5.0.0.2", status="idle"))
    goal.see(told("queue", "5.0.0", messages=[]))
    assert not goal.is_reached

    goal.see(told("status", "6.1.0", status="running"))
    assert not goal.is_reached
    goal.see(told("status", "7.0.0", status="idle"))
    assert goal.is_reached


def test_the_rest_of_a_commit_is_waited_for() -> None:
    goal = Goal("settled", info("running", 3), None)
    goal.see(told("status", "4.1.0.1", status="failed"))
    assert not goal.is_reached
    goal.see(told("error", "4.1.0", kind="auth", sentence="No."))
    assert goal.is_reached


def test_who_knows_it_all_needs_no_event() -> None:
    assert Goal("settled", info("idle", 6), "6.0.0").is_reached
    assert not Goal("settled", info("idle", 6), "6.0.0.1").is_reached
    assert not Goal("settled", info("idle", 6), "5.0.0").is_reached
    assert not Goal("settled", info("idle", 6), None).is_reached
    assert not Goal("settled", info("idle", 6), "of another kind").is_reached


@pytest.mark.parametrize(
    ("goal", "statuses"),
    [
        ("settled", {"idle", "failed", "awaiting"}),
        ("idle", {"idle", "failed"}),
        ("needs_action", {"awaiting", "failed"}),
    ],
)
def test_what_each_goal_means(goal: Any, statuses: set[str]) -> None:
    every = ("idle", "running", "interrupting", "awaiting", "failed")
    assert {each for each in every if Goal(goal, info(each, 1), "1.0.0").is_reached} == statuses


def test_a_stream_with_nothing_to_tell_ends_after_two_looks_in_silence() -> None:
    goal = Goal("settled", info("idle", 6), "5.0.0")
    goal.look(info("idle", 6))
    assert not goal.is_reached
    goal.see(told("queue", "5.0.1", messages=[]))
    goal.look(info("idle", 6))
    assert not goal.is_reached, "something was told between the looks"
    goal.look(info("idle", 6))
    assert goal.is_reached
