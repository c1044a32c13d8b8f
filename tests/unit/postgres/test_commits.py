"""The forms of the commit statement: few; an outcome takes the smallest that writes all of it."""

from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.adapters.postgres.commits import (
    CommitForm,
    commit_query,
    every_commit,
    form_of,
    written_parameters,
)
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.chat import Past
from holdfast.domain.ids import QueuedId, Seq, Version, WorkerId
from holdfast.domain.outcome import (
    Answer,
    Appended,
    Enqueued,
    Fate,
    Outcome,
    QueueMove,
    QueueRemoval,
)
from tests.support.builders import NOW, ORG, OWNER, a_chat, queued, user

FORMS_MAX = 4
CHAT = a_chat()
TAKEN = replace(CHAT, worker_id=WorkerId(UUID(int=1)))
NOTHING = Outcome(before=CHAT, chat=CHAT, answer=Answer(version=Version(2)), changed=True)
ONE = Appended(Seq(1), user("one"))
TWO = Appended(Seq(2), user("two"))
PROMOTED = Appended(Seq(1), user(), promoted=QueuedId(1))
WAITS = Enqueued(queued(1), user())
PAST = Past(version=Version(1), shared_seq=Seq(1), copied=1, copied_bytes=9, hidden=0, tail=())
ENTRY = AuditEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)
OUTCOMES = [
    (NOTHING, CommitForm.PLAIN),
    (replace(NOTHING, appended=(ONE,)), CommitForm.PLAIN),
    (replace(NOTHING, chat=TAKEN), CommitForm.TAKEN),
    (replace(NOTHING, chat=TAKEN, appended=(ONE,)), CommitForm.TAKEN),
    (replace(NOTHING, appended=(ONE, TWO)), CommitForm.FULL),
    (replace(NOTHING, chat=TAKEN, appended=(ONE, TWO)), CommitForm.FULL),
    (replace(NOTHING, hidden_from=Seq(1)), CommitForm.FULL),
    (replace(NOTHING, restored=PAST), CommitForm.FULL),
    (replace(NOTHING, queued=(WAITS,)), CommitForm.FULL),
    (replace(NOTHING, left=(QueueRemoval(QueuedId(1), Fate.TAKEN),)), CommitForm.FULL),
    (replace(NOTHING, moved=(QueueMove(QueuedId(1), 2, urgent=True),)), CommitForm.FULL),
    (replace(NOTHING, appended=(PROMOTED,)), CommitForm.FULL),
    (replace(NOTHING, appended=(ONE,), riders=(ENTRY,)), CommitForm.RIDERS),
]


def test_forms_of_the_commit_are_few() -> None:
    texts = {query.text for query in every_commit().values()}
    assert len(texts) == len(CommitForm) <= FORMS_MAX


@pytest.mark.parametrize(("outcome", "form"), OUTCOMES)
def test_outcome_takes_the_smallest_form_that_writes_all_of_it(
    outcome: Outcome, form: CommitForm
) -> None:
    assert form_of(outcome) is form
    written = written_parameters(form, outcome)
    assert written.keys() <= set(commit_query(form).names), "what is written has a place"


@pytest.mark.parametrize("form", CommitForm)
def test_every_form_compares_and_can_keep_a_receipt(form: CommitForm) -> None:
    names = set(commit_query(form).names)
    assert {"client_key", "fence_worker", "expected_version", "expected_stamp"} <= names
    assert ("taker" in names) == (form is not CommitForm.PLAIN)


def test_commit_without_a_message_writes_none() -> None:
    written = written_parameters(CommitForm.PLAIN, NOTHING)
    assert (written["m_seq"], written["m_parts"]) == (None, None)


def test_promoted_message_is_written_only_from_the_queue() -> None:
    written = written_parameters(CommitForm.FULL, replace(NOTHING, appended=(PROMOTED,)))
    assert (written["p_seq"], written["p_queued_id"], written["seqs"]) == (1, 1, [])
