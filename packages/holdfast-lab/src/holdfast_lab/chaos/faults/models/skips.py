"""Which retries a reader cannot have been told of, by the versions in its cursors.

A reader that is late by more than the wait before a retry is told the newest state at once: a
status that takes the retry back. How late a reader is depends on the machine. The versions in its
cursors show what it skipped.

Up to the end of the first reply each version of the chat is one commit, and each commit has its
place: the message of the person, the first attempt, its retry, the second attempt, and so on. A
retry was skipped if its place is between the places of two versions that were told one after the
other, and if there are exactly as many versions between them as places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.domain.chat import Status
from holdfast.domain.events import EventType
from holdfast.domain.ids import Version
from holdfast.domain.messages import Role
from holdfast_lab.chaos.faults.models.turns import Told


@dataclass
class _Known:
    """What a reader was told at one version."""

    version: Version
    attempt: int
    waits: bool = False
    over: bool = False
    """The first reply, or the turn."""

    def place(self, retries: int) -> int:
        if self.over:
            return 2 * retries + 2
        return max(0, 2 * self.attempt - 1) + self.waits


def skipped_retries(told: Sequence[Told], retries: int) -> set[int]:
    """The numbers of those, of so many retries of the first reply, that the reader skipped."""
    skipped: set[int] = set()
    for before, after in pairwise(_first_reply(told)):
        first, last = before.place(retries), after.place(retries)
        if after.version - before.version == last - first:
            skipped |= {number for number in range(1, retries + 1) if first < 2 * number < last}
    return skipped


def _first_reply(told: Sequence[Told]) -> list[_Known]:
    """By version, from the message of the person to the end of the first reply."""
    known: dict[Version, _Known] = {}
    attempt = 0
    for each in told:
        role = each.data["role"] if each.kind == EventType.MESSAGE_CREATED else None
        if each.cursor is None or not (known or role == Role.USER):
            continue
        version = each.cursor.version
        now = known.setdefault(version, _Known(version, attempt))
        if each.kind == EventType.CHAT_STATE:
            now.attempt = attempt = each.data["attempt"]
            now.over = each.data["status"] != Status.RUNNING
            now.waits = now.waits or each.data["retry"] is not None
        if now.over or role == Role.ASSISTANT:
            now.over = True
            break
    return list(known.values())
