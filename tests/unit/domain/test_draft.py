"""A draft is mutable until its outcome is taken, and frozen from then on."""

from dataclasses import FrozenInstanceError, fields
from inspect import signature

import pytest

from holdfast.domain.chat import Chat, ChatState, Facts, Status
from holdfast.domain.draft import Draft
from tests.support.builders import a_chat


def test_moves_change_a_copy_of_the_chat() -> None:
    before = a_chat(Status.RUNNING)
    draft = Draft(Facts(chat=before))
    draft.set(attempt=7)
    draft.set(effort="high")
    assert (draft.chat.attempt, draft.chat.effort) == (7, "high")
    assert (before.attempt, before.effort) == (1, None)


def test_outcome_freezes_the_chat() -> None:
    draft = Draft(Facts(chat=a_chat(Status.RUNNING)))
    draft.set(attempt=7)
    outcome = draft.outcome()
    assert type(outcome.chat) is Chat
    with pytest.raises(FrozenInstanceError):
        outcome.chat.attempt = 8  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        draft.set(attempt=8)
    assert outcome.chat.attempt == 7


def test_outcome_without_a_move_is_the_chat_before() -> None:
    before = a_chat(Status.IDLE)
    outcome = Draft(Facts(chat=before)).outcome()
    assert outcome.chat is before
    assert not outcome.changed


def test_a_draft_takes_every_fact_that_commits_change() -> None:
    """`ChatState()` needs no argument, so that `Draft.set` may be given any of its facts alone."""
    assert ChatState() == ChatState()
    fixed = {field.name for field in fields(Chat)} - set(signature(ChatState).parameters)
    assert fixed == {"chat_id", "org_id", "owner_id"}
