"""When a stream that is followed until something has come to its end."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast_client.events import event_of
from holdfast_client.goal import Goal
from holdfast_client.models import ChatInfo
from holdfast_client.view import EMPTY, WireView

AT = datetime(2026, 1, 1, tzinfo=UTC)


def info(status: str, version: int) -> ChatInfo:
    return ChatInfo(
        id="c",
        owner_id="o",
        status=status,
        version=version,
        last_seq=1,
        read_seq=0,
        unread=True,
        queue_length=0,
        updated_at=AT,
        created_at=AT,
    )


def told(kind: str, version: int | None, /, *, final: bool = True, **data: Any) -> Any:
    head = {"cursor": f"cursor of {version}", "version": version, "final": final}
    return event_of({"type": kind, **head, "data": data})


def test_a_replica_that_is_behind_does_not_end_it() -> None:
    goal = Goal("settled", info("running", 6), EMPTY)
    goal.see(told("chat.state", 5, status="idle", final=False))
    goal.see(told("queue.updated", 5, messages=[]))
    assert not goal.is_reached

    goal.see(told("chat.state", 6, status="running"))
    assert not goal.is_reached
    goal.see(told("chat.state", 7, status="idle"))
    assert goal.is_reached


def test_the_rest_of_a_commit_is_waited_for() -> None:
    goal = Goal("settled", info("running", 3), EMPTY)
    goal.see(told("chat.state", 4, status="failed", final=False))
    assert not goal.is_reached
    goal.see(told("queue.updated", 4, messages=[]))
    assert goal.is_reached


def test_a_view_of_that_version_needs_no_event() -> None:
    assert Goal("settled", info("idle", 6), WireView(version=6)).is_reached
    assert not Goal("settled", info("idle", 6), WireView(version=5)).is_reached
    assert not Goal("settled", info("idle", 6), EMPTY).is_reached


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
    seen = WireView(version=1)
    assert {each for each in every if Goal(goal, info(each, 1), seen).is_reached} == statuses


def test_a_commit_with_nothing_to_tell_is_known_by_a_ping() -> None:
    goal = Goal("settled", info("idle", 6), WireView(version=5))
    goal.see(told("ping", None))
    assert not goal.is_reached, "a ping without a version says nothing"
    goal.see(told("ping", 5))
    assert not goal.is_reached
    goal.see(told("ping", 6))
    assert goal.is_reached
