"""Each protection is taken away, and the story that needs it is seen to fail."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.chat import Status
from holdfast.ports.bus import Hint
from holdfast.worker import acquirer
from holdfast.worker.acquirer import Acquirer
from holdfast.worker.heartbeat import Lease
from holdfast.worker.reconcile import Reconciler
from tests.support.virtual import run_virtually
from tests.support.workers import NEVER_S
from tests.unit.worker.test_acquiring import (
    lost_hint_story,
    rain_story,
    slow_subscription_story,
)
from tests.unit.worker.test_lease import cut_off_story, slow_answer_story
from tests.unit.worker.test_runners import lost_answer_story

Story = Callable[[], Coroutine[Any, Any, None]]
Mutate = Callable[[pytest.MonkeyPatch], None]


def no_self_fencing(patch: pytest.MonkeyPatch) -> None:
    async def never(_: Lease) -> None:
        await asyncio.Event().wait()

    patch.setattr(Lease, "until_lost", never)


def lease_counted_from_the_answer(patch: pytest.MonkeyPatch) -> None:
    renewed = Lease.renewed

    def late(lease: Lease, _sent_s: float) -> None:
        renewed(lease, asyncio.get_running_loop().time())

    patch.setattr(Lease, "renewed", late)


def no_timer(patch: pytest.MonkeyPatch) -> None:
    def never(_pause_s: float, _chance: object) -> float:
        return NEVER_S

    patch.setattr(acquirer, "jittered", never)


def no_first_acquire(patch: pytest.MonkeyPatch) -> None:
    init = Acquirer.__init__

    def content(self: Acquirer, *args: Any) -> None:
        init(self, *args)
        self._wanted = self._urgent = False  # pyright: ignore[reportPrivateUsage]

    patch.setattr(Acquirer, "__init__", content)


def every_hint_is_urgent(patch: pytest.MonkeyPatch) -> None:
    hear = Acquirer.hear

    def at_once(self: Acquirer, hint: Hint) -> None:
        hear(self, replace(hint, status=Status.INTERRUPTING))

    patch.setattr(Acquirer, "hear", at_once)


def no_doubt_after_a_lost_answer(patch: pytest.MonkeyPatch) -> None:
    async def nothing(_: Reconciler) -> None:
        pass

    patch.setattr(Reconciler, "_release_strangers", nothing)


MUTANTS: list[tuple[Mutate, Story]] = [
    (no_self_fencing, cut_off_story),
    (lease_counted_from_the_answer, slow_answer_story),
    (no_timer, lost_hint_story),
    (no_first_acquire, slow_subscription_story),
    (every_hint_is_urgent, rain_story),
    (no_doubt_after_a_lost_answer, lost_answer_story),
]


@pytest.mark.parametrize(("mutate", "story"), MUTANTS, ids=lambda each: each.__name__)
def test_the_story_fails_without_its_protection(
    mutate: Mutate, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        run_virtually(story())
