"""Which commits share a transaction."""

from uuid import UUID

from holdfast.adapters.postgres.commits import CommitForm, commit_query
from holdfast.adapters.postgres.store import BATCHES, CommitStatement
from holdfast.domain.ids import ChatId


def test_commit_with_a_key_shares_no_batch_with_one_that_has_none() -> None:
    """A key that was used before undoes its batch: a client that repeats it delays no runner."""
    query = commit_query(CommitForm.PLAIN)
    keyed, plain = (
        CommitStatement(ChatId(UUID(int=1)), query, [], is_keyed) for is_keyed in (True, False)
    )
    assert BATCHES.kind(keyed) != BATCHES.kind(plain)
    assert BATCHES.kind(plain) == BATCHES.kind(plain)
