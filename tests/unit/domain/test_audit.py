"""The chain of the audit log."""

from dataclasses import replace

from holdfast.domain.audit import EMPTY, AuditHead, AuditRow, Tampering, chain, check_row
from tests.support.builders import NOW, OWNER


def row(previous: AuditHead, entry: str) -> AuditRow:
    seq = previous.seq + 1
    return AuditRow(
        seq=seq,
        at=NOW,
        action="chat.shared",
        actor_id=OWNER,
        entry=entry,
        hash=chain(previous.hash, seq, entry),
    )


def test_an_untouched_row_leads_to_the_next() -> None:
    first = row(EMPTY, "one")
    head = AuditHead(1, first.hash)
    assert check_row(EMPTY, first) == head
    assert isinstance(check_row(head, row(head, "two")), AuditHead)


def test_an_altered_and_a_removed_row_show_at_their_number() -> None:
    first = row(EMPTY, "one")
    second = row(AuditHead(1, first.hash), "two")
    assert check_row(EMPTY, replace(first, entry="another")) == Tampering(1, "altered")
    assert check_row(EMPTY, second) == Tampering(1, "removed")
    assert check_row(AuditHead(1, bytes(32)), second) == Tampering(2, "altered")
