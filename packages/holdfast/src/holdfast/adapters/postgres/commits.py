"""The forms of the commit statement, which of them an outcome needs, and its parameters.

PostgreSQL starts every common table expression of a statement, used or not. So the two forms of a
plain turn's commits have no more than such a turn needs, and rare changes share larger forms.
Within a form, parameters that are null or empty leave a part out. The forms are few and do not
multiply: a new kind of row is a rider (`adapters.postgres.riders`).

Measured on a busy machine, as CPU of the server against statements made for each outcome: a plain
turn's commits 0 to 3 % more; if one form served both, 5 % (it opens the table of workers for each);
if messages came from arrays, too, 14 %. Changes of the queue and edits 11 % more, and several
messages in one commit 40 %: these are rare.
"""

from enum import StrEnum
from functools import cache
from typing import Any, LiteralString, assert_never, cast

from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.riders import RIDERS, rider_parameters
from holdfast.adapters.postgres.rows import (
    NO_MESSAGE,
    message_parameters,
    messages_parameters,
    rest_parameters,
)
from holdfast.domain.outcome import Outcome


class CommitForm(StrEnum):
    """What a commit can write besides the chat's row and a receipt."""

    PLAIN = "plain"
    """A message or none."""
    TAKEN = "taken"
    """The same, and a worker acquires the chat."""
    FULL = "full"
    """Any number of messages; hides and copies messages, changes the queue, promotes a message. A
    worker may acquire the chat."""
    RIDERS = "riders"
    """The same, and riders."""


@cache
def commit_query(form: CommitForm) -> Query:
    match form:
        case CommitForm.PLAIN:
            return load_query(
                *("commit_begin", "commit_titled", "commit_kept"),
                *("commit_receipt", "commit_message", "commit_end"),
            )
        case CommitForm.TAKEN:
            return load_query(
                *("commit_begin", "commit_titled", "commit_taken"),
                *("commit_receipt", "commit_message", "commit_end"),
            )
        case CommitForm.FULL:
            return _full()
        case CommitForm.RIDERS:
            return _full(*(each.block for each in RIDERS.values()))
        case _:
            assert_never(form)


def _full(*riders: str) -> Query:
    core = load_query(
        *("commit_begin", "commit_retitled", "commit_taken", "commit_receipt"),
        *("commit_messages", "commit_rest", "commit_promoted"),
    )
    end = load_query("commit_full_end")
    source = "\n".join((core.source, *riders, end.source))
    return Query.compile(cast(LiteralString, source))


def every_commit() -> dict[CommitForm, Query]:
    """Each form that a commit can take, for tests and benchmarks that check them all."""
    return {form: commit_query(form) for form in CommitForm}


def form_of(outcome: Outcome) -> CommitForm:
    """The smallest form that writes all of an outcome."""
    if outcome.riders:
        return CommitForm.RIDERS
    if _is_full(outcome):
        return CommitForm.FULL
    return CommitForm.PLAIN if outcome.taker is None else CommitForm.TAKEN


def _is_full(outcome: Outcome) -> bool:
    moves_queue = outcome.queued or outcome.left or outcome.moved or outcome.promoted
    hides = outcome.hidden_from is not None or outcome.restored
    return bool(moves_queue or hides or len(outcome.appended) > 1)


def written_parameters(form: CommitForm, outcome: Outcome) -> dict[str, Any]:
    """The values of what a form writes besides the chat's row and a receipt."""
    said = [appended for appended in outcome.appended if appended.promoted is None]
    if form in {CommitForm.PLAIN, CommitForm.TAKEN}:
        return message_parameters(said[0]) if said else NO_MESSAGE
    promoted = outcome.promoted
    parameters = messages_parameters(said) | rest_parameters(outcome)
    parameters["p_seq"] = None if promoted is None else promoted.seq
    parameters["p_queued_id"] = None if promoted is None else promoted.promoted
    if form is CommitForm.RIDERS:
        parameters |= rider_parameters(outcome.riders)
    return parameters
