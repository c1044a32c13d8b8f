"""Named mutants of compactions: each takes one protection of their facts away."""

from datetime import datetime
from typing import Any

import pytest

from holdfast.domain import driving
from holdfast.domain.chat import Status
from holdfast.domain.commands import NeedCompaction
from holdfast.domain.draft import Draft
from holdfast.domain.messages import MessageBody, Role


def summaries_not_counted(patch: pytest.MonkeyPatch) -> None:
    """A summary that did not help leaves no trace: nothing ends the loop (L17)."""

    def end(draft: Draft, **_more: Any) -> None:
        draft.set(compaction_requested=False)

    patch.setattr(Draft, "end_compaction", end)


def decision_without_its_reason(patch: pytest.MonkeyPatch) -> None:
    """A successor has to decide again, with the settings that there are by then."""
    need = driving.need_compaction

    def forgetful(draft: Draft, command: NeedCompaction, now: datetime) -> None:
        before = draft.chat.compaction
        need(draft, command, now)
        draft.set(compaction=before)

    patch.setattr(driving, "need_compaction", forgetful)


def request_outlives_its_turn(patch: pytest.MonkeyPatch) -> None:
    """What a person asked for in a turn that was stopped is made in a later one (L24)."""
    release = Draft.release

    def keeps(draft: Draft, status: Status) -> None:
        asked = draft.chat.compaction_requested
        release(draft, status)
        draft.set(compaction_requested=asked)

    patch.setattr(Draft, "release", keeps)


def one_request_two_summaries(patch: pytest.MonkeyPatch) -> None:
    """A summary does not answer what asked for it (L24)."""
    end = Draft.end_compaction

    def ends_nothing(draft: Draft, **more: Any) -> None:
        asked = draft.chat.compaction_requested
        end(draft, **more)
        draft.set(compaction_requested=asked)

    patch.setattr(Draft, "end_compaction", ends_nothing)


def summary_of_a_summary(patch: pytest.MonkeyPatch) -> None:
    """A boundary counts as something to summarise (L24)."""
    _after_a_boundary(patch, compactable=True)


def summary_taken_for_the_reply(patch: pytest.MonkeyPatch) -> None:
    """After a summary the turn is over, although the model was never asked again (L16)."""
    _after_a_boundary(patch, owes_reply=False)


def _after_a_boundary(patch: pytest.MonkeyPatch, **facts: Any) -> None:
    say = Draft.say

    def says(draft: Draft, body: MessageBody) -> None:
        say(draft, body)
        if body.role is Role.BOUNDARY:
            draft.set(**facts)

    patch.setattr(Draft, "say", says)


MUTANTS = (
    summaries_not_counted,
    decision_without_its_reason,
    request_outlives_its_turn,
    one_request_two_summaries,
    summary_of_a_summary,
    summary_taken_for_the_reply,
)
