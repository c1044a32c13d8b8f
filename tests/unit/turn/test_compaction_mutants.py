"""Each protection of compactions between steps is taken away, and the test that needs it fails."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.domain import driving
from holdfast.domain.parts import Context
from holdfast.turn import compaction, summary
from holdfast.turn.attempt import AttemptResult
from holdfast.turn.compaction import CompactionPolicy
from holdfast.turn.live import LiveSummary
from holdfast.turn.steps import compact
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.struck import SCENES, strike
from tests.support.windowed import WorkingModel
from tests.support.world import fake_world
from tests.unit.turn import test_compaction as tests

Mutate = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[], Awaitable[None]]


def always(answer: Any) -> Callable[..., Any]:
    def answers(*_: Any) -> Any:
        return answer

    return answers


def never_between_steps(patch: pytest.MonkeyPatch) -> None:
    """A turn runs into the end of its window."""
    patch.setattr(CompactionPolicy, "over_threshold", always(None))


def decided_in_a_commit_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """A step costs a statement more."""
    patch.setattr(CompactionPolicy, "due", always(None))


def no_loop_guard(patch: pytest.MonkeyPatch) -> None:
    """Summaries that do not help are made again and again."""
    patch.setattr(CompactionPolicy, "is_spent", always(False))
    patch.setattr(driving, "COMPACTIONS_MAX", 1_000_000)


def people_cannot_switch_it_off(patch: pytest.MonkeyPatch) -> None:
    """A threshold of 100 % is one like any other."""
    patch.setattr(compaction, "NEVER_PERCENT", 101)


def never_in_pieces(patch: pytest.MonkeyPatch) -> None:
    """A prompt that is too long for its own summary is lost."""

    async def refused(*_: Any) -> AttemptResult:
        return AttemptResult(failed=compact.EndedEarly(compact.NO_SUMMARY))

    patch.setattr(compact, "_in_pieces", refused)


def words_of_people_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What a person said is left to the summary."""
    patch.setattr(summary, "user_words", always(Context(summary.USER_WORDS, "")))


def constraints_not_asked_for(patch: pytest.MonkeyPatch) -> None:
    """No instruction tells the model to carry them over word for word."""
    patch.setattr(summary, "INSTRUCTION", summary.INSTRUCTION.replace("word for word", "in short"))


def system_messages_left_behind(patch: pytest.MonkeyPatch) -> None:
    """They lie before the boundary, where no prompt looks."""
    patch.setattr(compact, "system_of", always(()))


def empty_summary_kept(patch: pytest.MonkeyPatch) -> None:
    """A boundary that stands for the history and says nothing."""
    patch.setattr(compact, "boundary_text", always(" "))


def end_not_told(patch: pytest.MonkeyPatch) -> None:
    """Readers see a summary that is being made for ever."""

    async def silent(*_: Any) -> None:
        pass

    patch.setattr(LiveSummary, "end", silent)


async def ten_times_the_window() -> None:
    await tests.test_a_prompt_of_ten_times_the_window_is_rescued(window_known=True)


async def rules_are_said_again() -> None:
    whole = await strike(SCENES[0], fake_world(), ends_at=0)
    assert not whole.wrong


async def constraints_survive() -> None:
    model = WorkingModel(60)
    async with tests.working(model) as stage:
        chat = await stage.turn(user("Constraint 1: keep it"))
        assert tests.boundaries(await stage.history(chat)), "no compaction"
        for boundary in tests.boundaries(await stage.history(chat)):
            assert "Constraint 1: keep it" in str(boundary.body.parts[0])


MUTANTS: list[tuple[Mutate, Check]] = [
    (never_between_steps, tests.test_a_message_to_a_full_chat_is_answered_after_a_summary),
    (decided_in_a_commit_of_its_own, tests.test_the_decision_rides_in_the_commit_of_the_results),
    (no_loop_guard, tests.test_an_irreducible_prompt_ends_in_one_clear_error),
    (
        people_cannot_switch_it_off,
        tests.test_where_only_people_compact_a_refused_prompt_fails_as_the_provider_said,
    ),
    (never_in_pieces, ten_times_the_window),
    (
        words_of_people_forgotten,
        tests.test_what_the_user_said_is_carried_verbatim_whatever_the_summary_says,
    ),
    (constraints_not_asked_for, constraints_survive),
    (system_messages_left_behind, rules_are_said_again),
    (empty_summary_kept, tests.test_an_empty_summary_is_told_as_failed_and_stores_nothing),
    (end_not_told, tests.test_an_interrupt_in_the_middle_of_a_summary_stores_nothing),
]


@requirement("T26")
@pytest.mark.parametrize(("mutate", "check"), MUTANTS, ids=[m.__name__ for m, _ in MUTANTS])
async def test_the_check_fails_without_its_protection(
    mutate: Mutate, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        await check()
