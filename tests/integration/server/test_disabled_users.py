"""A user who was disabled: chats, queues, streams and credentials end, on every replica."""

import pytest

from holdfast.identity.access_watch import AccessWatch
from holdfast.worker.reconcile import Sweeper
from tests.support.letting_go import LetGo, let_go

TOO_LATE_S = 8.0
"""Nothing but the part that a mutant lacks would end everything before that."""
WITHIN_S = 50.0
"""Ten times the bound, which `just bench-safety` measures."""


def wrong_with(found: LetGo) -> list[str]:
    return [
        *([] if found.has_ended else ["not all has ended"]),
        *(["something ended late"] if found.longest_s > WITHIN_S else []),
        *(["a queued message began"] if found.queued_ran else []),
        *(["a queue goes on"] if found.paused < len(found.chats_s) - 1 else []),
        *(["not audited"] if found.audited != len(found.chats_s) else []),
        *(["a stream was cut off"] if set(found.said) != {"revoked"} else []),
    ]


@pytest.mark.timeout(180)
async def test_disabling_stops_chats_queues_and_streams_on_every_replica() -> None:
    found = await let_go(chats=2)
    print(found)
    assert len(found.chats_s) == 5
    assert len(found.streams_s) == 6
    assert len(found.refused_s) == 2
    assert wrong_with(found) == []


async def _nothing(_self: object) -> None:
    pass


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("where", "what"), [(Sweeper, "_stop"), (AccessWatch, "look")], ids=["no sweep", "no watch"]
)
async def test_what_goes_on_after_its_user_was_disabled_is_noticed(
    where: type, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, what, _nothing)
    found = await let_go(chats=1, guard_s=TOO_LATE_S)
    assert not found.has_ended
